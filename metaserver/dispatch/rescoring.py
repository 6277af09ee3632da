"""Runs scored afresh from what is stored, in a thread: a long phase is not stopped by it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from metaserver.records import ArticleId, ServerName, TaskName
from metaserver.services.scoreboard import Scoreboard
from metaserver.store import runs
from metaserver.store.reader import Corpus, Reader
from metaserver.store.runs import OfflineRun
from metaserver.store.writer import LaneKey

CHUNK = 256

T = TypeVar("T")


async def score_afresh(
    store: Reader,
    boards: Sequence[Scoreboard],
    corpus: Corpus,
    lanes: Mapping[ServerName, LaneKey],
    offline: Iterable[OfflineRun],
) -> None:
    """Put all answers of a phase onto empty boards, the same onto each, and make their means."""
    for name, key in lanes.items():
        async for answers in _chunks(store.answers(key)):
            given = [(corpus.ids[position], payloads) for position, payloads in answers]
            await asyncio.to_thread(_put, boards, name, given)
    for run in offline:
        async with store.reading() as connection:
            payloads = await runs.payloads(connection, run)
        given = [(article, {run.task: payload}) for article, payload in payloads.items()]
        await asyncio.to_thread(_put, boards, run.name, given)
    await asyncio.to_thread(_make_means, boards)


def _put(
    boards: Sequence[Scoreboard],
    name: ServerName,
    answers: Iterable[tuple[ArticleId, Mapping[TaskName, Any]]],
) -> None:
    for article, payloads in answers:
        for board in boards:
            board.put(name, article, payloads)


def _make_means(boards: Sequence[Scoreboard]) -> None:
    for board in boards:
        for task in board.tasks():
            for view in board.views(task.name):
                board.scores(task.name, view)


async def _chunks(items: AsyncIterator[T]) -> AsyncIterator[list[T]]:
    chunk: list[T] = []
    async for item in items:
        chunk.append(item)
        if len(chunk) == CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
