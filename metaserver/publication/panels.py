"""The panel that a consensus model is trained on: gold and servers' answers of closed phases.

An article that is in a phase that is not closed, by its id or its text, has no part in it: the
model would have learned from gold that nobody may know yet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from metaserver.base.compression import unpack
from metaserver.base.curations import ModelGold
from metaserver.base.errors import HubError
from metaserver.base.lanes import Corpus
from metaserver.base.phases import Phase
from metaserver.base.records import PhaseName, ServerName, TaskName
from metaserver.config import Settings
from metaserver.corpus.fingerprints import BLOCK, fingerprints
from metaserver.phases.jobs import RowCounter
from metaserver.phases.restore import scored_of, vocabulary_of
from metaserver.store import phases, servers
from metaserver.store.reader import PackedAnswer, ReadStore
from metaserver.tasks.ranked import hits_of
from scoring import Hit, ItemGold, Run, Task
from scoring.consensus.votes import CUTOFF
from scoring.tasks import Item

CHUNK = 512
"""Answers that are read at a time."""


class TrainingOrder(msgspec.Struct, frozen=True, kw_only=True):
    """A model to train: its task and method, closed phases (newest first).

    `guarded` are the corpora of phases that are not closed.
    """

    task: str
    method: str
    phases: tuple[PhaseName, ...]
    guarded: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingPanel:
    """Gold, and each server's run, with their teams and reported versions.

    An article in several phases is as in the newest. `left_out` counts gold articles that are also
    in a phase that is not closed.
    """

    gold: ItemGold
    golds: tuple[ModelGold, ...]
    runs: Sequence[Run]
    teams: Mapping[str, str]
    versions: Mapping[str, str]
    left_out: int


async def read_panel(
    store: ReadStore, settings: Settings, order: TrainingOrder, counted: RowCounter
) -> TrainingPanel:
    """Read a panel; `HubError` if nothing is left to learn from."""
    counted.begin("reading the articles of open phases")
    ids, digests = await _guarded(store, order.guarded)
    gold: dict[str, frozenset[Item]] = {}
    golds: list[ModelGold] = []
    answers: dict[ServerName, dict[str, Sequence[Hit]]] = {}
    left_out = 0
    lanes = await store.lanes()
    for name in order.phases:
        phase, corpus, version, items = await _gold(store, settings, name, order.task)
        counted.begin(f"reading phase {name}", await store.answer_count(phase.id))
        ungolded = {article for article in items if article not in gold}
        hidden = {article for article in ungolded if article in ids}
        hidden |= await _recognised(store, corpus, ungolded - hidden, digests)
        left_out += len(hidden)
        usable = ungolded - hidden
        gold |= {article: items[article] for article in items if article in usable}
        golds.append(ModelGold(phase=name, version=version))
        for lane in lanes:
            if lane.key.phase_id != phase.id:
                continue
            after, of_server = -1, answers.setdefault(lane.server, {})
            while answers_read := await store.packed_answers(lane.key, after=after, limit=CHUNK):
                hits = await asyncio.to_thread(_hits, answers_read, corpus, usable, order.task)
                of_server.update(hits)
                after = answers_read[-1].position
                counted.count(len(answers_read))
    async with store.reading() as connection:
        registered = await servers.list_all(connection)
    if not gold or not any(answers.values()):
        raise HubError(f"no answer of a closed phase to an article with gold of {order.task}")
    return TrainingPanel(
        gold=ItemGold(task=Task(order.task), items=gold),
        golds=tuple(golds),
        runs=[
            Run(task=Task(order.task), name=str(name), answers=hits)
            for name, hits in sorted(answers.items())
            if hits
        ],
        teams={server.server.name: server.team or server.server.name for server in registered},
        versions={server.server.name: server.version for server in registered},
        left_out=left_out,
    )


async def _gold(
    store: ReadStore, settings: Settings, name: PhaseName, task: str
) -> tuple[Phase, Corpus, int, Mapping[str, frozenset[Item]]]:
    """Return a phase with its corpus, and the newest gold of the task as it is scored."""
    async with store.reading() as connection:
        phase = await phases.get(connection, name)
        assert phase is not None
        newest = await phases.newest_gold(connection, phase.id)
    corpus = await store.corpus(phase.corpus_id)
    version = newest[TaskName(task)]
    vocabulary = await asyncio.to_thread(vocabulary_of, settings, phase.release)
    [scored] = await asyncio.to_thread(
        scored_of, {TaskName(task): version}, vocabulary, corpus, None
    )
    assert isinstance(scored.gold, ItemGold)
    return phase, corpus, version.version, scored.gold.items


async def _guarded(
    store: ReadStore, corpora: Sequence[int]
) -> tuple[frozenset[str], frozenset[bytes]]:
    """Return the ids and text digests in corpora."""
    ids: set[str] = set()
    digests: set[bytes] = set()
    for corpus_id in corpora:
        corpus = await store.corpus(corpus_id)
        ids.update(corpus.ids)
        for start in range(0, len(corpus), BLOCK):
            texts = await store.article_texts(
                corpus_id, range(start, min(start + BLOCK, len(corpus)))
            )
            digests.update(mark for text in texts for mark in fingerprints(text))
    return frozenset(ids), frozenset(digests)


async def _recognised(
    store: ReadStore, corpus: Corpus, articles: set[str], digests: frozenset[bytes]
) -> set[str]:
    """Return the articles whose text has any of these digests."""
    if not digests:
        return set()
    recognised: set[str] = set()
    for position, article in enumerate(corpus.ids):
        if article in articles:
            [text] = await store.article_texts(corpus.id, range(position, position + 1))
            if fingerprints(text) & digests:
                recognised.add(article)
    return recognised


def _hits(
    answers: Sequence[PackedAnswer], corpus: Corpus, usable: set[str], task: str
) -> Mapping[str, Sequence[Hit]]:
    """Return the best hits for the task, for the articles that are taken."""
    by_article: dict[str, Sequence[Hit]] = {}
    for position, packed in answers:
        article = corpus.ids[position]
        if article not in usable:
            continue
        members = msgspec.json.decode(unpack(packed), type=dict[str, msgspec.Raw])
        if task in members:
            by_article[article] = hits_of(msgspec.json.decode(members[task])[:CUTOFF])
    return by_article
