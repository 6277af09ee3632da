"""The composition root: a phase's store, client, lanes, boards and engine put together."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

from metaserver.client import descriptors
from metaserver.client.caller import ArticleCaller
from metaserver.client.descriptors import Descriptors
from metaserver.client.guard import AddressGuard
from metaserver.client.http import open_client
from metaserver.client.urls import address
from metaserver.config import Settings, WebSettings
from metaserver.files.private import FOLDER_MODE
from metaserver.lanes.lane import Lane
from metaserver.leaderboards.gold import scored_tasks
from metaserver.leaderboards.scoreboard import Scoreboard
from metaserver.model.errors import InputError
from metaserver.model.lanes import Corpus, LaneKey
from metaserver.model.records import Article, Server, ServerName, TaskName
from metaserver.monitoring.monitor import ServerMonitor
from metaserver.phases.live import LiveBoards
from metaserver.phases.restore import articles_of, asked_tasks, gold_marks, restore
from metaserver.store.phases import newest_gold
from metaserver.store.store import Store, open_store
from metaserver.uniprot import Release, ReleaseVocabulary
from metaserver.web.app import make_app

STORE_FILE = "metaserver.sqlite"
STOP_SECONDS = 3.0
LAST_SECONDS = 0.5  # in which requests under way may come to their end when a site closes
STOPPED = 130  # the status of a command that was told to stop


@dataclass(frozen=True, kw_only=True, slots=True)
class GoldFile:
    """A task's gold: the file as it came, and as its task read it."""

    path: Path
    content: bytes
    gold: Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """All that one phase is made of but its articles, which are kept in the store alone."""

    phase: str
    servers: Sequence[Server]
    gold: Mapping[TaskName, GoldFile]
    release: Release
    folder: Path  # holds the store
    settings: Settings
    guard: AddressGuard | None = None  # none: whoever runs this names the servers

    @property
    def gold_read(self) -> Mapping[TaskName, Any]:
        """Each task's gold as its task read it."""
        return {task: file.gold for task, file in self.gold.items()}

    @property
    def vocabulary(self) -> ReleaseVocabulary:
        """The accessions that answers are checked by."""
        return ReleaseVocabulary(release=self.release, secondary=self.settings.uniprot.secondary)


@dataclass(frozen=True, kw_only=True, slots=True)
class Hub:
    """A phase that is ready to run."""

    plan: Plan
    store: Store
    corpus: Corpus
    keys: Mapping[ServerName, LaneKey]
    boards: LiveBoards
    lanes: Sequence[Lane]


def prepare_process() -> Descriptors:
    """Take as many open files as the system allows, and collect garbage less often.

    An answer is thousands of small objects that live for a millisecond: with Python's own
    thresholds a tenth of the time went into looking at them.
    """
    gc.set_threshold(10_000, 10, 10)
    return descriptors.raise_limit()


def run_to_end(phase: Coroutine[Any, Any, int]) -> int:
    """Run a command's phase; SIGTERM stops it as Ctrl-C does: by `KeyboardInterrupt`.

    What has not come to an end `STOP_SECONDS` later is dropped, and so it is by a second signal:
    that is no more than a kill, which loses nothing.
    """

    async def stoppable() -> int:
        task = asyncio.current_task()
        assert task is not None
        stop = _Stop(asyncio.get_running_loop(), task)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)  # not the loop's own: it may be busy
        return await phase

    try:
        return asyncio.run(stoppable())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


class _Stop:
    """What signals do: the first cancels the task, the second ends the process at once."""

    def __init__(self, loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> None:
        self._loop = loop
        self._task = task
        self._told = False

    def __call__(self, _number: int, _frame: object) -> None:
        if self._told:
            self._leave()
        self._told = True
        timer = threading.Timer(STOP_SECONDS, self._leave)
        timer.daemon = True
        timer.start()
        with suppress(RuntimeError):  # the loop is closed already
            self._loop.call_soon_threadsafe(self._task.cancel)

    def _leave(self) -> None:
        os.write(2, b"metaserver: stopped\n")  # not by `print`, which the signal may have cut off
        os._exit(STOPPED)


def make_folder(folder: Path) -> None:
    """Make a folder for its owner alone, or say in one line why it cannot be made."""
    try:
        folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(folder, f"cannot be made: {error.strerror}") from error


@asynccontextmanager
async def open_hub(plan: Plan, articles: Iterable[Article]) -> AsyncIterator[Hub]:
    """Open the phase's store (going on where an earlier process stopped) and build the rest."""
    settings, vocabulary = plan.settings, plan.vocabulary
    allowed = prepare_process()
    make_folder(plan.folder)
    async with (
        open_store(plan.folder / STORE_FILE) as store,
        open_client(settings.http_limits(), plan.guard, calls=allowed.calls) as client,
    ):
        corpus = await store.add_corpus(articles)
        phase_id = await store.open_phase(plan.phase, corpus, vocabulary.name)
        for task, gold in plan.gold.items():
            await store.set_gold(phase_id, task, gold.path.name, gold.content)
        async with store.reading() as connection:
            marks = gold_marks(await newest_gold(connection, phase_id))
        boards = LiveBoards(
            ServerMonitor(plan.phase, len(corpus), settings.limits.timeout),
            Scoreboard(scored_tasks(plan.gold_read, vocabulary, marks)),
            blocked=lambda: store.blocked,
        )
        caller = ArticleCaller(
            client,
            articles_of(store, corpus),
            asked_tasks(plan.gold_read),
            vocabulary,
            time_limit=settings.limits.timeout,
        )
        keys: dict[ServerName, LaneKey] = {}
        lanes: list[Lane] = []
        for server in plan.servers:
            key = LaneKey(phase_id, await store.set_server(server))
            state = await store.take_lane(key)
            keys[server.name] = key
            boards.watch.add(server, address(server.url))
            await restore(store, boards, corpus, server.name, key)
            lanes.append(
                Lane(
                    server,
                    corpus,
                    state,
                    settings.lane_limits(),
                    caller=caller,
                    recorder=store,
                    publish=boards.publish,
                    prepare=boards.prepare,
                )
            )
        yield Hub(
            plan=plan,
            store=store,
            corpus=corpus,
            keys=keys,
            boards=boards,
            lanes=lanes,
        )


@asynccontextmanager
async def serve_pages(boards: LiveBoards, host: str, port: int) -> AsyncIterator[str]:
    """Serve the boards' pages while the context lasts; gives their address."""
    async with serve_app(make_app(boards), host, port) as address:
        yield address


@asynccontextmanager
async def serve_app(
    app: web.Application, host: str, port: int, *, idle: float = WebSettings().idle_seconds
) -> AsyncIterator[str]:
    """Serve an application while the context lasts; gives its address.

    A connection has `idle` seconds to bring a request's head, and the same between two requests.
    Where there are as many connections as the system's limit leaves for them, others are closed.
    """
    runner = web.AppRunner(
        app,
        access_log=None,
        handle_signals=False,
        auto_decompress=False,  # what is compressed is refused
        keepalive_timeout=idle,
        shutdown_timeout=LAST_SECONDS,
    )
    await runner.setup()
    assert runner.server is not None
    listener = None
    try:
        listener = await _listen(runner.server, host, port)
        bound = listener.sockets[0].getsockname()
        yield f"http://{bound[0]}:{bound[1]}/"
    finally:
        if listener is not None:
            listener.close()
        await runner.cleanup()


async def _listen(server: web.Server, host: str, port: int) -> asyncio.Server:
    most = descriptors.current().clients

    def answer() -> asyncio.Protocol:
        full = most is not None and len(server.connections) >= most
        return _Refusing() if full else server()

    try:
        return await asyncio.get_running_loop().create_server(answer, host, port, backlog=128)
    except OSError as error:
        raise InputError(
            f"{host}:{port}",
            f"the pages cannot be served there: {error.strerror}; give another port",
        ) from error


class _Refusing(asyncio.Protocol):
    """A connection that is closed at once."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Close it, with nothing left to wait for."""
        assert isinstance(transport, asyncio.Transport)
        transport.abort()
