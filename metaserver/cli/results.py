"""What a run leaves in its folder, each whole and private: result files, boards, attempts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from metaserver.cli.app import Hub
from metaserver.files import private
from metaserver.leaderboards.boards import Board
from metaserver.leaderboards.result_files import (
    ATTEMPT_HEAD,
    attempt_line,
    boards_json,
    result_file,
)
from metaserver.leaderboards.scoreboard import Scoreboard
from metaserver.model.errors import HubError
from metaserver.model.records import ArticleId, TaskName
from metaserver.tasks.plugin import Payload, installed_tasks

LEADERBOARD_FILE = "leaderboard.json"
ATTEMPTS_FILE = "attempts.tsv"


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
    _write(folder / LEADERBOARD_FILE, [_leaderboard_json(hub)])
    await _write_attempts(hub, folder / ATTEMPTS_FILE)
    return boards


def _leaderboard_json(hub: Hub) -> str:
    """Return the leaderboards, and what the servers did, as one JSON text."""
    return msgspec.json.format(msgspec.json.encode(_leaderboard(hub)).decode()) + "\n"


def _leaderboard(hub: Hub) -> Mapping[str, Any]:
    monitor = hub.boards.monitor()
    return {
        "phase": monitor.phase,
        "uniprot_release": hub.plan.release.name,
        "articles": len(hub.corpus),
        "boards": boards_json(hub.boards.scoreboard),
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


async def _write_attempts(hub: Hub, path: Path) -> None:
    lines = [ATTEMPT_HEAD]
    for name, key in hub.keys.items():
        attempts = hub.store.attempts(key, name, hub.corpus)
        lines += [attempt_line(name, stored) async for stored in attempts]
    _write(path, lines)


def _write(path: Path, lines: Iterable[str]) -> None:
    """Write a file whole, or leave the one there is."""
    draft = path.with_name(f".{path.name}.new")
    try:
        with private.create(draft) as out:
            out.writelines(line.encode() for line in lines)
        draft.replace(path)
    except OSError as error:
        raise HubError(f"{path}: {error.strerror}; the same command writes it again") from error
    finally:
        draft.unlink(missing_ok=True)
