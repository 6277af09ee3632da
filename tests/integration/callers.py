"""The hub's own caller, with the real tasks and a small vocabulary, for tests against peers."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp.abc import AbstractResolver

from metaserver.base.conformance import Conformance
from metaserver.base.lanes import CheckedAnswer
from metaserver.base.records import ArticleId, Attempt, Server, ServerName
from metaserver.exchange.conformance.procedure import conformance
from metaserver.exchange.http.articles import ArticleTexts
from metaserver.exchange.http.caller import ArticleCaller, PhaseArticles
from metaserver.exchange.http.client import HttpClient, HttpLimits, open_client
from metaserver.exchange.http.guard import AddressGuard
from metaserver.exchange.protocols.options import Places, Unit
from metaserver.exchange.wire.contract import Completion
from metaserver.exchange.wire.validation import Vocabulary
from metaserver.exchange.wire.xmlrpc import escape_text
from metaserver.tasks.plugin import answered_tasks
from tests.fakes.vocabulary import FakeVocabulary

TEXT = "TP53 interacts with BRCA1."
SECONDS = 60.0  # a time limit that no test reaches


VOCABULARY = FakeVocabulary.of("P04637", "P38398", "P00533", "Q00987")


@asynccontextmanager
async def article_caller(
    *texts: str,
    time_limit: float = SECONDS,
    limits: HttpLimits | None = None,
    guard: AddressGuard | None = None,
    resolver: AbstractResolver | None = None,
    calls: int | None = None,
    vocabulary: Vocabulary = VOCABULARY,
    ca_file: Path | None = None,
    completion: Completion | None = None,
    stalls: bool = False,
    clock: Callable[[], float] = time.time,
) -> AsyncIterator[ArticleCaller]:
    """Open a caller for a phase of `texts`, named "a0", "a1", ...

    With `stalls`, attempts are void that fail while the machine stands still, as in a hub.
    """
    texts = texts or (TEXT,)

    async def load(positions: range) -> Sequence[str]:
        return texts[positions.start : positions.stop]

    articles = PhaseArticles(
        ids=[ArticleId(f"a{position}") for position in range(len(texts))],
        wire_bytes=[len(escape_text(text)) for text in texts],
        texts=ArticleTexts(load),
    )
    async with open_client(
        limits, guard, resolver=resolver, calls=calls, ca_file=ca_file
    ) as client:
        if not stalls:
            client.watchdog.clock = lambda: 0.0
        tasks = list(answered_tasks().values())
        yield ArticleCaller(
            client, articles, tasks, vocabulary, time_limit=time_limit, completion=completion,
            clock=clock,
        )  # fmt: skip


def server(url: str, **options: Any) -> Server:
    """Return a server registered at `url`."""
    return Server(name=ServerName("peer"), url=url, **options)


async def call(
    url: str, *, time_limit: float = SECONDS, limits: HttpLimits | None = None
) -> tuple[Attempt, CheckedAnswer | None]:
    """Send one article to the server at `url`, from a client of its own."""
    async with article_caller(time_limit=time_limit, limits=limits) as caller:
        return await caller.call(server(url), 0, 1)


async def conformance_of(
    known: Server,
    client: HttpClient | None = None,
    *,
    vocabulary: Vocabulary = VOCABULARY,
    time_limit: float = SECONDS,
) -> Conformance:
    """Return a server's conformance run in all tasks, by a client of its own if none is given."""
    async with AsyncExitStack() as stack:
        asking = client or await stack.enter_async_context(open_client())
        tasks = list(answered_tasks().values())
        return await conformance(asking, known, tasks, vocabulary, time_limit=time_limit)


SCRIPT = """
import asyncio, sys
from tests.integration.callers import call
ended, _ = asyncio.run(call(sys.argv[1]))
print(ended.outcome, ended.message)
"""


async def call_in_another_process(url: str, **environment: str) -> str:
    """Return how a call ends in a process with these environment variables."""
    run = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", SCRIPT, url],
        env=os.environ | environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return str(run.stdout.strip())


def threads_that_measure(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the threads in which the places of texts are measured from now on."""
    threads: list[int] = []
    real = Places.__init__

    def measure(self: Places, text: str, unit: Unit) -> None:
        threads.append(threading.get_ident())
        real(self, text, unit)

    monkeypatch.setattr(Places, "__init__", measure)
    return threads
