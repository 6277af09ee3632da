"""Rescoring of runs from stored answers, in a thread, so that the event loop stays free."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence, Set
from typing import Any, TypeAlias

import msgspec

from metaserver.base.compression import unpack
from metaserver.base.lanes import Corpus, LaneKey
from metaserver.base.records import ArticleId, ServerName, TaskName
from metaserver.boards.scoreboard import Scoreboard
from metaserver.store import runs
from metaserver.store.reader import PackedAnswer, ReadStore
from metaserver.store.runs import OfflineRun

CHUNK = 512
"""Answers that are read and scored at a time."""

_members: msgspec.json.Decoder[dict[TaskName, msgspec.Raw]] = msgspec.json.Decoder(
    dict[TaskName, msgspec.Raw]
)

Scored: TypeAlias = Callable[[int], Awaitable[None]]
"""Called between two chunks with how many answers were scored."""


async def ignored(_: int) -> None:
    """Do nothing between chunks."""


async def score_answers(
    store: ReadStore,
    board: Scoreboard,
    corpus: Corpus,
    lanes: Mapping[ServerName, LaneKey],
    offline: Iterable[OfflineRun],
    scored: Scored = ignored,
) -> None:
    """Put all answers of a phase onto an empty board, each once, and compute its means.

    Only the answer parts for the board's tasks are read.
    """
    for name, key in lanes.items():
        after = -1
        while answers := await store.packed_answers(key, after=after, limit=CHUNK):
            await asyncio.to_thread(_put_packed, board, name, corpus, answers)
            after = answers[-1].position
            await scored(len(answers))
    tasks = {task.name for task in board.tasks()}
    for run in offline:
        if run.task in tasks:
            await _score_offline(store, board, run, scored)
    await asyncio.to_thread(_make_means, board)


async def _score_offline(
    store: ReadStore, board: Scoreboard, run: OfflineRun, scored: Scored
) -> None:
    async with store.reading() as connection:
        packed = await runs.packed_payloads(connection, run)
    payloads = list((await asyncio.to_thread(runs.unpack_payloads, packed)).items())
    for start in range(0, len(payloads), CHUNK):
        chunk = payloads[start : start + CHUNK]
        await asyncio.to_thread(_put_run, board, run, chunk)
        await scored(len(chunk))


def _put_packed(
    board: Scoreboard, name: ServerName, corpus: Corpus, answers: Iterable[PackedAnswer]
) -> None:
    tasks = {task.name for task in board.tasks()}
    board.put_all(
        name,
        ((corpus.ids[position], _payloads(unpack(packed), tasks)) for position, packed in answers),
    )


def _payloads(content: bytes, tasks: Set[TaskName]) -> Mapping[TaskName, Any]:
    """Return the parts of a stored answer for these tasks."""
    members = _members.decode(content)
    return {task: msgspec.json.decode(members[task]) for task in tasks & members.keys()}


def _put_run(board: Scoreboard, run: OfflineRun, answers: Sequence[tuple[ArticleId, Any]]) -> None:
    board.put_all(run.name, ((article, {run.task: payload}) for article, payload in answers))


def _make_means(board: Scoreboard) -> None:
    for task in board.tasks():
        for view in board.views(task.name):
            board.scores(task.name, view)
