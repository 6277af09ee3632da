"""Boards as files: frozen ones as a JSON document, the result files of a phase.

The document holds all that its page shows, columns included, so that neither a later version of
the hub nor another gold changes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from metaserver.base.boards import RAW, Board, FrozenBoard, FrozenView, View, marked
from metaserver.base.lanes import StoredAttempt
from metaserver.base.plans import ArticlePolicy
from metaserver.base.records import ServerName, TaskName
from metaserver.base.structs import convert
from metaserver.base.usage import DeclaredUsage
from metaserver.boards.scoreboard import Scoreboard
from metaserver.tasks.plugin import TaskPlugin
from scoring.cells import inert


def freeze(
    task: TaskPlugin, boards: Iterable[Board], *, phase: str, reason: str, at: float
) -> FrozenBoard:
    """Freeze a task's present boards: per view, and per choice of articles."""
    frozen_boards = list(boards)
    ranking = next((board.ranking for board in frozen_boards), None)
    usual = ranking.articles if ranking else ArticlePolicy.ANSWERED
    return FrozenBoard(
        name=task.name,
        title=task.title,
        phase=phase,
        reason=reason,
        at=at,
        columns=task.columns,
        order=next((board.order for board in frozen_boards if board.order), task.order),
        views={board.view: _view(board) for board in frozen_boards if board.articles is usual},
        ranking=ranking,
        others={board.view: _view(board) for board in frozen_boards if board.articles is not usual},
        provisional=any(board.provisional for board in frozen_boards),
    )


def _view(board: Board) -> FrozenView:
    return convert(board, FrozenView, rows=tuple(board.rows))


# -- result files of a phase: its boards as JSON, its attempts as a table --------------------------

ATTEMPT_COLUMNS = (
    "server", "article", "attempt", "started_at", "outcome", "message", "queue", "dns", "connect",
    "send", "wait", "transfer", "parse", "total", "bytes_out", "bytes_in", "problems", "final",
    *("declared_tokens_in", "declared_tokens_out", "declared_cost", "declared_currency"),
)  # fmt: skip
ATTEMPT_HEAD = "\t".join(ATTEMPT_COLUMNS) + "\n"


def result_file(run: ServerName, task: TaskName) -> str:
    """Return the name of a run's result file."""
    return f"{run}.{task}.tsv"


def boards_json(scoreboard: Scoreboard) -> Mapping[TaskName, Mapping[str, Any]]:
    """Return all present boards, JSON-ready, by task: the raw view, and the others."""
    return {
        task.name: _board(scoreboard, task.name, RAW)
        | {
            "views": {
                view: _board(scoreboard, task.name, view)
                for view in scoreboard.views(task.name)
                if view != RAW
            }
        }
        for task in scoreboard.tasks()
    }


def _board(scoreboard: Scoreboard, task: TaskName, view: View) -> dict[str, Any]:
    scores = scoreboard.scores(task, view)
    board = scoreboard.board_of(task, view, scores)
    return {
        "signature": marked(board.signature, board.gold),
        "runs": [
            {
                "server": row.run,
                "place": row.place,
                "score": dict(scores[ServerName(row.run)].detail),
            }
            for row in board.rows
        ],
    }


def attempt_line(server: ServerName, stored: StoredAttempt) -> str:
    """Return a line for `attempts.tsv`, with its line end; its cells are never formulas."""
    attempt, timings = stored.attempt, stored.attempt.timings
    times = [timings.queue, timings.dns, timings.connect, timings.send, timings.wait]
    times += [timings.transfer, timings.parse, timings.total]
    fields = (
        inert(server),
        inert(attempt.article),
        str(attempt.number),
        datetime.fromtimestamp(attempt.started_at, UTC).isoformat("T", "milliseconds"),
        inert(attempt.outcome),
        inert(re.sub(r"\s+", " ", attempt.message)),
        *("" if seconds is None else f"{seconds:.6f}" for seconds in times),
        str(attempt.bytes_out),
        str(attempt.bytes_in),
        str(attempt.problem_count),
        str(int(stored.final)),
        *_declared(attempt.usage or DeclaredUsage()),
    )
    return "\t".join(fields) + "\n"


def _declared(usage: DeclaredUsage) -> Sequence[str]:
    values = (usage.tokens_in, usage.tokens_out, usage.cost)
    return [*("" if value is None else str(value) for value in values), usage.currency]
