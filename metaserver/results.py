"""What a run leaves in its folder: result files, the leaderboards, the attempts; each whole."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from metaserver.app import Hub
from metaserver.errors import HubError
from metaserver.records import ArticleId, ServerName, TaskName
from metaserver.services.scoreboard import RAW, Scoreboard
from metaserver.services.snapshots import Board
from metaserver.store.writer import LaneKey
from metaserver.tasks.plugin import Payload, installed_tasks

LEADERBOARD_FILE = "leaderboard.json"
ATTEMPTS_FILE = "attempts.tsv"
ATTEMPT_COLUMNS = (
    "server", "article", "attempt", "started_at", "outcome", "message", "queue", "dns", "connect",
    "send", "wait", "transfer", "parse", "total", "bytes_out", "bytes_in", "problems", "final",
)  # fmt: skip


async def write_results(hub: Hub) -> Mapping[TaskName, Board]:
    """Write everything from the store, and return the boards scored from it afresh.

    The boards are recomputed from the stored answers and must equal the live ones to the last
    digit; where they do not, the hub has a fault and says so (`HubError`).
    """
    folder = hub.plan.folder
    afresh = Scoreboard(hub.boards.scoreboard.scored())
    for name, key in hub.keys.items():
        runs: dict[TaskName, list[tuple[ArticleId, Payload]]] = {}
        async for position, payloads in hub.store.answers(key):
            article = hub.corpus.ids[position]
            afresh.put(name, article, payloads)
            for task, payload in payloads.items():
                runs.setdefault(task, []).append((article, payload))
        for task, answers in runs.items():
            lines = installed_tasks()[task].result_lines(answers)
            _write(folder / result_file(name, task), lines)
    boards = {task.name: afresh.board(task.name) for task in afresh.tasks()}
    for task_name in boards:
        for view in afresh.views(task_name):
            if afresh.board(task_name, view) != hub.boards.scoreboard.board(task_name, view):
                message = f"the live {task_name} board ({view}) differs from the one scored afresh"
                raise HubError(message)
    _write(folder / LEADERBOARD_FILE, [_leaderboard_json(hub, boards)])
    await _write_attempts(hub, folder / ATTEMPTS_FILE)
    return boards


def result_file(server: ServerName, task: TaskName) -> str:
    """Return the name of a run's result file."""
    return f"{server}.{task}.tsv"


def _leaderboard_json(hub: Hub, boards: Mapping[TaskName, Board]) -> str:
    """Return the leaderboards, and what the servers did, as one JSON text."""
    return msgspec.json.format(msgspec.json.encode(_leaderboard(hub, boards)).decode()) + "\n"


def _leaderboard(hub: Hub, boards: Mapping[TaskName, Board]) -> Mapping[str, Any]:
    monitor = hub.boards.monitor()
    return {
        "phase": monitor.phase,
        "uniprot_release": hub.plan.release.name,
        "articles": len(hub.corpus),
        "boards": {
            task: _board(board) | _views(hub.boards.scoreboard, task)
            for task, board in boards.items()
        },
        "servers": [
            {
                "server": status.name,
                "answered": status.done,
                "given_up": status.given_up,
                "unanswered": status.total - status.done,
                "state": status.state,
                "outcomes": status.outcomes,
                "seconds": {"p50": status.p50, "p95": status.p95, "p99": status.p99},
            }
            for status in monitor.servers
        ],
    }


def _board(board: Board) -> dict[str, Any]:
    return {
        "signature": board.signature,
        "runs": [
            {"server": row.run, "place": row.place, "score": row.score.detail} for row in board.rows
        ],
    }


def _views(scoreboard: Scoreboard, task: TaskName) -> dict[str, Any]:
    """Return a task's boards in the views beside the raw one."""
    views = [view for view in scoreboard.views(task) if view != RAW]
    return {"views": {view: _board(scoreboard.board(task, view)) for view in views}}


async def _write_attempts(hub: Hub, path: Path) -> None:
    lines = ["\t".join(ATTEMPT_COLUMNS) + "\n"]
    for name, key in hub.keys.items():
        lines += [line async for line in _attempt_lines(hub, name, key)]
    _write(path, lines)


async def _attempt_lines(hub: Hub, server: ServerName, key: LaneKey) -> AsyncIterator[str]:
    async for stored in hub.store.attempts(key, server, hub.corpus):
        attempt, phases = stored.attempt, stored.attempt.phases
        times = [phases.queue, phases.dns, phases.connect, phases.send, phases.wait]
        times += [phases.transfer, phases.parse, phases.total]
        yield (
            "\t".join(
                (
                    server,
                    attempt.article,
                    str(attempt.number),
                    datetime.fromtimestamp(attempt.started_at, UTC).isoformat("T", "milliseconds"),
                    attempt.outcome,
                    _one_line(attempt.message),
                    *("" if seconds is None else f"{seconds:.6f}" for seconds in times),
                    str(attempt.bytes_out),
                    str(attempt.bytes_in),
                    str(attempt.problem_count),
                    str(int(stored.final)),
                )
            )
            + "\n"
        )


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def _write(path: Path, lines: Iterable[str]) -> None:
    """Write a file whole, or leave the one there is."""
    draft = path.with_name(f".{path.name}.new")
    try:
        with draft.open("w", encoding="utf-8", newline="") as out:
            out.writelines(lines)
        draft.replace(path)
    except OSError as error:
        raise HubError(f"{path}: {error.strerror}; the same command writes it again") from error
    finally:
        draft.unlink(missing_ok=True)
