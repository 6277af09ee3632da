"""A phase for benchmarks: one text repeated, gold for all three tasks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from metaserver.base.records import Article, ArticleId, PhaseName, Server, ServerName, TaskName
from metaserver.cli.process import prepare_process
from metaserver.cli.single_phase import SinglePhase, open_phase, read_gold
from metaserver.config import Settings
from metaserver.operations.context import HubContext
from metaserver.phases.runtime import RunningPhase
from metaserver.uniprot import build_release

NAME = PhaseName("benchmark")
BASE = f"c/{NAME}/{NAME}/"
"""The beginning of the addresses of the phase's pages."""
NAMES = Path(str(files("annotators") / "data" / "uniprot_names.tsv"))
ACCESSIONS = [line.split("\t")[0] for line in NAMES.read_text("utf-8").splitlines()[1:]]


def _id(number: int) -> ArticleId:
    return ArticleId(f"a{number:06d}")


def make_articles(count: int, text: str) -> Iterator[Article]:
    """Yield articles of one text, each under a title of its own."""
    for number in range(count):
        yield Article(id=_id(number), text=f"{_id(number)}\n{text}")


@asynccontextmanager
async def begun(
    folder: Path,
    urls: Sequence[str],
    *,
    articles: int,
    concurrency: int,
    text: str,
    **settings: Any,
) -> AsyncIterator[tuple[HubContext, RunningPhase]]:
    """Open a hub with a phase of `make_articles(articles, text)` for servers at `urls`."""
    prepare_process()
    phase = _phase(folder, urls, articles, concurrency)
    given = msgspec.convert({"folder": str(folder)} | settings, Settings)
    async with open_phase(phase, make_articles(articles, text), given) as opened:
        yield opened


def _phase(folder: Path, urls: Sequence[str], articles: int, concurrency: int) -> SinglePhase:
    folder.mkdir(parents=True)
    ids = [_id(number) for number in range(articles)]
    gold = {
        "ACT": [f"{name}\t{number % 2}\n" for number, name in enumerate(ids)],
        "INT": [f"{name}\t{ACCESSIONS[number % 20]}\n" for number, name in enumerate(ids)],
        "IPT": [f"{name}\t{ACCESSIONS[0]}\t{ACCESSIONS[1]}\n" for name in ids],
    }
    for task, lines in gold.items():
        (folder / f"{task}.tsv").write_text("".join(lines), "utf-8")
    release = build_release([NAMES], name="benchmark", out=folder / "benchmark")
    return SinglePhase(
        name=NAME,
        servers=[
            Server(name=ServerName(f"s{number}"), url=url, concurrency=concurrency)
            for number, url in enumerate(urls)
        ],
        gold=read_gold({TaskName(task): folder / f"{task}.tsv" for task in gold}, release),
        release=release,
    )
