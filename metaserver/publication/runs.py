"""A package's runs as result files, its gold, and the files for the gold's views."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

from metaserver.base.boards import PUBLIC, RAW
from metaserver.base.lanes import Asides, HitAside, LaneKey
from metaserver.base.records import ArticleId, ServerName, TaskName
from metaserver.phases.jobs import RowCounter
from metaserver.phases.restore import stored_answers
from metaserver.publication.folder import PackageFolder
from metaserver.publication.source import PhaseSource
from metaserver.store import runs
from metaserver.store.reader import ReadStore
from metaserver.store.runs import OfflineRun
from metaserver.tasks.plugin import Payload, answered_tasks, offline_tasks
from metaserver.uniprot import Release
from metaserver.uniprot.views import gold_species, ortholog_lines
from scoring import ItemGold
from scoring.files import gold_lines
from scoring.views import members

SUFFIXES = {b"PK": ".zip", b"\x1f\x8b": ".gz", b"<": ".xml"}
"""The suffixes of uploaded files, by what the files begin with."""

FEW = 4
"""Answers with evidence that are in memory at a time: each may have megabytes."""
_CONTROLS = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")

Answers = Sequence[tuple[ArticleId, Payload]]


async def write_runs(
    folder: PackageFolder, store: ReadStore, source: PhaseSource, counted: RowCounter
) -> Mapping[TaskName, set[str]]:
    """Write the boards' runs as result files; return the accessions in each task's runs."""
    articles: dict[TaskName, set[str]] = {task: set() for task in source.frozen}
    for server, key in source.lanes.items():
        answers = await _answers(store, source, server, key, counted)
        for task, answered in answers.items():
            articles[task] |= _write_run(folder, source, task, server, answered)
        await _write_evidence(folder, store, source, server, key, answers)
    for run in source.offline:
        if run.task in offline_tasks():
            await _write_upload(folder, store, source, run)
        elif run.task in articles:
            async with store.reading() as connection:
                packed = await runs.packed_payloads(connection, run)
                packed_asides = await runs.packed_asides(connection, run)
            unpacked = await asyncio.to_thread(runs.unpack_payloads, packed)
            articles[run.task] |= _write_run(
                folder, source, run.task, run.name, [*unpacked.items()]
            )
            if packed_asides is not None:
                asides = await asyncio.to_thread(runs.unpack_asides, packed_asides)
                lines = (_evidence_lines(one, unpacked[one], hits) for one, hits in asides.items())
                name, about = _evidence_file(run.task, run.name)
                folder.write(name, lines, about)
    return articles


async def _answers(
    store: ReadStore, source: PhaseSource, server: ServerName, key: LaneKey, counted: RowCounter
) -> Mapping[TaskName, Answers]:
    """Return a server's answers to the tasks that have boards."""
    by_task: dict[TaskName, list[tuple[ArticleId, Payload]]] = {}
    async for batch in stored_answers(store, source.corpus, server, key):
        for answer in batch:
            for task, payload in answer.payloads.items():
                if task in source.frozen:
                    by_task.setdefault(task, []).append((answer.article, payload))
        counted.count(len(batch))
    return by_task


def _write_run(
    folder: PackageFolder, source: PhaseSource, task: TaskName, name: ServerName, answers: Answers
) -> set[str]:
    """Write a run; return the accessions in it, if it has ranked accessions."""
    ranked = isinstance(source.ranked_gold(task), ItemGold)
    accessions: set[str] = set()

    def lines() -> Iterator[str]:
        for line in answered_tasks()[task].result_lines(answers):
            if ranked:
                accessions.update(line.split("\t")[1:-2])
            yield line

    folder.write(f"runs/{task}/{name}.tsv", lines(), f"{task}: the run {name} as a result file")
    return accessions


async def _write_evidence(
    folder: PackageFolder,
    store: ReadStore,
    source: PhaseSource,
    server: ServerName,
    key: LaneKey,
    answers: Mapping[TaskName, Answers],
) -> None:
    """Write what a server gave as evidence of its hits; a file for each task that has any."""
    payloads = {task: dict(answered) for task, answered in answers.items()}
    after = -1
    while packed := await store.packed_asides(key, after=after, limit=FEW):
        for after, asides in packed:
            article = source.corpus.ids[after]
            texts = await asyncio.to_thread(_evidence, article, payloads, asides)
            for task, lines in texts.items():
                name, about = _evidence_file(task, server)
                folder.append(name, lines, about)


def _evidence_file(task: TaskName, run: ServerName) -> tuple[str, str]:
    """Return the name of a run's file of evidence, and what it has."""
    about = f"{task}: article, accessions, rank and evidence of the hits of {run}"
    return f"evidence/{task}/{run}.tsv", about


def _evidence(
    article: ArticleId, payloads: Mapping[TaskName, Mapping[ArticleId, Payload]], packed: bytes
) -> Mapping[TaskName, str]:
    """Return the lines of an answer by task, where it has any."""
    texts = {
        task: _evidence_lines(article, payloads[task][article], hits)
        for task, hits in Asides.unpacked(packed).hits.items()
        if task in payloads  # others have no board
    }
    return {task: text for task, text in texts.items() if text}


def _evidence_lines(article: ArticleId, payload: Payload, hits: Sequence[HitAside]) -> str:
    """Return the lines of an article's hits; the ranks are those of the result file."""
    rows = enumerate(zip(payload, hits, strict=False), start=1)
    return "".join(
        "\t".join([article, *hit[:-2], str(rank), _CONTROLS.sub(" ", evidence)]) + "\n"
        for rank, (hit, (evidence, _)) in rows
        if evidence
    )


async def _write_upload(
    folder: PackageFolder, store: ReadStore, source: PhaseSource, run: OfflineRun
) -> None:
    """Write a run of an offline task as it was uploaded: it was scored as a whole."""
    async with store.reading() as connection:
        content = await runs.content(connection, source.phase.id, run.name) or b""
    suffix = next((end for begin, end in SUFFIXES.items() if content.startswith(begin)), ".tsv")
    name = f"runs/{run.task}/{run.name}{suffix}"
    folder.new(name, f"{run.task}: the run {run.name} as it was uploaded").write_bytes(content)
    folder.written(name)


def write_gold(
    folder: PackageFolder,
    source: PhaseSource,
    release: Release,
    accessions: Mapping[TaskName, set[str]],
) -> None:
    """Write the gold that was scored on, and what `scoring` needs for its views."""
    for task, version in source.gold.items():
        ranked = source.ranked_gold(task)
        about = f"{task}: gold, version {version.version}"
        if ranked is None:
            name = f"gold/{task}{PurePath(version.source).suffix[:9] or '.tsv'}"
            path = folder.new(name, about)
            path.write_bytes(version.content)
            folder.written(name)
            continue
        folder.write(f"gold/{task}.tsv", gold_lines(ranked), about)
        if isinstance(ranked, ItemGold) and source.frozen[task].views.keys() - {RAW, PUBLIC}:
            _write_views(folder, ranked, release, accessions[task])


def _write_views(
    folder: PackageFolder, gold: ItemGold, release: Release, accessions: set[str]
) -> None:
    """Write the homologs and the species that the views of this gold and these runs need."""
    accessions_of_gold = sorted(
        {
            accession
            for items in gold.items.values()
            for item in items
            for accession in members(item)
        }
    )
    species = gold_species(release, accessions_of_gold)
    rest = sorted(accessions - species.keys())
    taxa = species | dict(zip(rest, release.entries.taxa(rest), strict=True))
    folder.write(
        f"gold/{gold.task}.map.tsv",
        ortholog_lines(release, accessions_of_gold),
        f"{gold.task}: homologs of the gold's accessions (scoring evaluate --map)",
    )
    folder.write(
        f"gold/{gold.task}.taxa.tsv",
        (
            f"{accession}\t{taxon}\n"
            for accession, taxon in taxa.items()
            if taxon or accession in species
        ),
        f"{gold.task}: species of the accessions (scoring evaluate --taxa)",
    )
