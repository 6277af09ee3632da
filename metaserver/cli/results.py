"""Files that a run leaves, each whole and private: runs, boards, attempts, a results package."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from metaserver.base import files
from metaserver.base.boards import Board, FrozenBoard
from metaserver.base.errors import HubError, InputError
from metaserver.base.records import ArticleId, ServerName, TaskName
from metaserver.boards.frozen import ATTEMPT_HEAD, attempt_line, boards_json, result_file
from metaserver.boards.scoreboard import Scoreboard
from metaserver.operations.context import HubContext
from metaserver.phases.restore import stored_answers
from metaserver.phases.runtime import RunningPhase
from metaserver.publication.folder import METADATA
from metaserver.publication.making import PackageOrder, make_package
from metaserver.store.store import Store
from metaserver.tasks.plugin import Payload, answered_tasks
from metaserver.uniprot import Release

LEADERBOARD_FILE = "leaderboard.json"
ATTEMPTS_FILE = "attempts.tsv"


async def write_results(hub: HubContext, running: RunningPhase) -> Mapping[TaskName, Board]:
    """Write what the store has on a phase at rest, and return the boards scored from it again.

    They must equal the live boards to the last digit; if they do not, the hub has a fault and says
    so (`HubError`).
    """
    folder = Path(hub.settings.folder)
    boards = await _boards_again(running)
    for server in running.servers:
        await _write_runs(hub.store, running, server, folder)
    document = msgspec.json.encode(_leaderboard(running))
    await asyncio.to_thread(_write, folder / LEADERBOARD_FILE, _formatted(document))
    await _write_attempts(hub.store, running, folder / ATTEMPTS_FILE)
    return boards


async def _boards_again(running: RunningPhase) -> Mapping[TaskName, Board]:
    live = running.boards.scoreboard
    again = await asyncio.to_thread(Scoreboard, live.scored(), live.ranking, live.coverage)
    await running.score_answers(again)
    for task in again.tasks():
        for view in again.views(task.name):
            expected = live.board_of(task.name, view, await live.averaged(task.name, view))
            if again.board(task.name, view) != expected:
                message = f"the live {task.name} board ({view}) differs from the stored answers'"
                raise HubError(message)
    return {task.name: again.board(task.name) for task in again.tasks()}


async def _write_runs(
    store: Store, running: RunningPhase, server: ServerName, folder: Path
) -> None:
    """Write a server's answers as result files, one per task."""
    runs: dict[TaskName, list[tuple[ArticleId, Payload]]] = {}
    key = running.key(running.servers[server])
    async for answers in stored_answers(store, running.corpus, server, key):
        for answer in answers:
            for task, payload in answer.payloads.items():
                runs.setdefault(task, []).append((answer.article, payload))
    for task, answered in runs.items():
        lines = answered_tasks()[task].result_lines(answered)
        await asyncio.to_thread(_write, folder / result_file(server, task), lines)


def _leaderboard(running: RunningPhase) -> Mapping[str, Any]:
    """Return the leaderboards, and what the servers did, JSON-ready."""
    monitor = running.boards.monitor()
    return {
        "phase": monitor.phase,
        "uniprot_release": running.vocabulary.release.name,
        "articles": len(running.corpus),
        "boards": boards_json(running.boards.scoreboard),
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


def _formatted(document: bytes) -> Iterable[str]:
    yield msgspec.json.format(document.decode()) + "\n"


async def _write_attempts(store: Store, running: RunningPhase, path: Path) -> None:
    lines = [ATTEMPT_HEAD]
    for name, registered in running.servers.items():
        attempts = store.attempts(running.key(registered), name, running.corpus)
        lines += [attempt_line(name, stored) async for stored in attempts]
    await asyncio.to_thread(_write, path, lines)


def _write(path: Path, lines: Iterable[str]) -> None:
    """Write a file whole, or leave the existing file."""
    draft = path.with_name(f".{path.name}.new")
    try:
        with files.create(draft) as out:
            out.writelines(line.encode() for line in lines)
        draft.replace(path)
    except OSError as error:
        raise HubError(f"{path}: {error.strerror}; the same command writes it again") from error
    finally:
        draft.unlink(missing_ok=True)


def check_package(out: Path) -> None:
    """Refuse a place with anything but a results package, which is replaced."""
    if out.exists() and not (out / METADATA).is_file():
        raise InputError("--package", f"{out} is there, and is no package; expected a new folder")


async def leave_package(hub: HubContext, running: RunningPhase, out: Path) -> None:
    """Write a resting phase's results package, replacing any earlier package.

    Its boards are the present ones; figures are drawn without matplotlib, in a tenth of the time.
    """
    frozen = {
        task.name: await running.boards.freeze(
            task, phase=running.name, reason="finished", at=hub.clock()
        )
        for task in running.boards.tasks()
    }
    release = running.vocabulary.release
    order = PackageOrder(phase=running.name, gold=True, plots=False)
    await asyncio.to_thread(_make_package, hub, order, out, frozen, {release.name: release})


def _make_package(
    hub: HubContext,
    order: PackageOrder,
    out: Path,
    frozen: Mapping[TaskName, FrozenBoard],
    opened: Mapping[str, Release],
) -> None:
    shutil.rmtree(out, ignore_errors=True)
    making = make_package(hub.store.place, hub.settings, order, out, frozen=frozen, opened=opened)
    asyncio.run(making)
