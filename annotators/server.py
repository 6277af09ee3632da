"""The kit: a function that annotates a text becomes an annotation server.

from annotators import serve

def annotate(text, context):
return {"interaction": [True, 0.9]}

if __name__ == "__main__":
serve(annotate, port=8100)
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import multiprocessing
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeAlias, cast

from aiohttp import web

from annotators.contract import Answer, Context
from annotators.errors import BadInputError, RequestError
from annotators.protocol import (
    INTERNAL_ERROR,
    INVALID_PARAMETERS,
    UNKNOWN_METHOD,
    Call,
    decode_call,
    encode_answer,
    encode_fault,
)

Annotate: TypeAlias = Callable[[str, Context], Answer | Awaitable[Answer]]
"""The function that a team writes: article text and context in, answer out; may be `async`."""

MAX_REQUEST_BYTES = 64 * 2**20
GRACE = 3.0  # seconds that requests in progress get after SIGTERM

GET_ANNOTATION = "Annotator.getAnnotation"
HELP: Mapping[str, tuple[str, list[list[str]]]] = {
    GET_ANNOTATION: (
        "Annotate an article: its text, then optionally {article_id, tasks, timeout, attempt}.",
        [["struct", "string"], ["struct", "string", "struct"]],
    ),
    "Annotator.getState": (
        "Say how the server is: a struct {state, version, max_concurrent}.",
        [["struct"]],
    ),
    "system.listMethods": ("List the names of all methods.", [["array"]]),
    "system.methodHelp": ("Say in a sentence what a method does.", [["string", "string"]]),
    "system.methodSignature": (
        "List a method's signatures: the type of its result, then of its parameters.",
        [["array", "string"]],
    ),
}
"""Help and signatures of every method."""

log = logging.getLogger("annotators")


class Kit:
    """An application that answers XML-RPC requests with one annotating function.

    A plain function runs in `workers` threads, or processes if `processes` (it must then be
    importable); an `async` one runs in the event loop. `workers` is also the `max_concurrent` that
    is reported to the hub.
    """

    def __init__(
        self,
        annotate: Annotate,
        *,
        workers: int | None = None,
        processes: bool = False,
        version: str = "1",
    ) -> None:
        self.workers = workers or os.cpu_count() or 1
        self.version = version
        self._annotate = annotate
        self._asynchronous = inspect.iscoroutinefunction(annotate)
        self._processes = processes
        self._pool: Executor | None = None
        self._in_hand = 0
        self._closing = False

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one HTTP request."""
        body = await self.respond(await request.read())
        return web.Response(body=body, content_type="text/xml", charset="utf-8")

    async def respond(self, body: bytes) -> bytes:
        """Return the methodResponse, or the fault, for one methodCall."""
        try:
            call = decode_call(body)
            if call.method == GET_ANNOTATION:
                return await self._annotation(*article_of(call))
            return encode_answer(self._reply(call))
        except RequestError as error:
            return encode_fault(error.code, error.message)

    async def _annotation(self, text: str, context: Context) -> bytes:
        self._in_hand += 1
        try:
            if self._asynchronous:
                answer = await cast("Awaitable[Answer]", self._annotate(text, context))
                return encode_answer(answer)
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._pool, _work, self._annotate, text, context)
        except Exception as error:
            log.exception(
                "%s failed on %s", GET_ANNOTATION, context.get("article_id", "an article")
            )
            raise RequestError(INTERNAL_ERROR, f"{type(error).__name__}: {error}") from error
        finally:
            self._in_hand -= 1

    def _reply(self, call: Call) -> object:
        match call.method, call.params:
            case "Annotator.getState", ():
                return self.state()
            case "system.listMethods", ():
                return list(HELP)
            case "system.methodHelp", (str(name),) if name in HELP:
                return HELP[name][0]
            case "system.methodSignature", (str(name),) if name in HELP:
                return HELP[name][1]
        if call.method in HELP:
            raise RequestError(INVALID_PARAMETERS, f"{call.method}: not its parameters")
        raise RequestError(UNKNOWN_METHOD, f"no method {call.method!r}; see system.listMethods")

    def state(self) -> dict[str, str | int]:
        """Return the answer of `Annotator.getState`; overloaded: articles wait for a worker."""
        busy = "Overloaded" if self._in_hand > self.workers else "Running"
        return {
            "state": "Shutdown" if self._closing else busy,
            "version": self.version,
            "max_concurrent": self.workers,
        }

    async def lifetime(self, _: web.Application) -> AsyncIterator[None]:
        """Hold the worker pool open while the application runs."""
        if self._processes:
            # Forking a process that has threads can deadlock; a spawned one imports its modules.
            spawn = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.workers, mp_context=spawn)
        elif not self._asynchronous:
            self._pool = ThreadPoolExecutor(self.workers, thread_name_prefix="annotate")
        yield
        if self._pool:
            self._pool.shutdown(wait=False, cancel_futures=True)

    async def announce_shutdown(self, _: web.Application) -> None:
        """Announce to callers that are still served that the server is closing."""
        self._closing = True


def _work(annotate: Annotate, text: str, context: Context) -> bytes:
    """Annotate and encode, in a worker: both take the CPU."""
    return encode_answer(annotate(text, context))


def article_of(call: Call) -> tuple[str, Context]:
    """Return the text and context of a getAnnotation call, in either of its parameter styles."""
    match call.params:
        case (str(text),):
            return text, {}
        case (str(text), dict(context)):
            return text, cast("Context", context)
    raise RequestError(INVALID_PARAMETERS, f"{call.method}: expected (string) or (string, struct)")


def application(kit: Kit) -> web.Application:
    """Return an application that serves `kit` at every path (teams register any URL)."""
    app = web.Application(client_max_size=MAX_REQUEST_BYTES)
    app.router.add_post("/{path:.*}", kit.handle)
    app.router.add_get("/{path:.*}", _help)
    app.cleanup_ctx.append(kit.lifetime)
    app.on_shutdown.append(kit.announce_shutdown)
    return app


async def _help(_: web.Request) -> web.Response:
    lines = (f"{name}: {help_}" for name, (help_, _) in HELP.items())
    return web.Response(text="XML-RPC by POST.\n\n" + "\n".join(lines) + "\n")


def serve(
    annotate: Annotate,
    *,
    host: str = "127.0.0.1",
    port: int = 8100,
    workers: int | None = None,
    processes: bool = False,
    version: str = "1",
) -> None:
    """Serve `annotate` until SIGTERM or Ctrl-C; port 0 takes any free one.

    `workers` is the number of articles annotated at once (default: the number of CPUs), in threads
    or, with `processes`, in processes. Prints `listening on http://HOST:PORT/` when ready; raises
    `BadInputError` if the address cannot be listened on.
    """
    kit = Kit(annotate, workers=workers, processes=processes, version=version)
    serve_application(application(kit), host=host, port=port)


def serve_application(app: web.Application, *, host: str, port: int) -> None:
    """Serve an application until SIGTERM or Ctrl-C."""
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(app, host, port))


async def _serve(app: web.Application, host: str, port: int) -> None:
    stop = asyncio.Event()
    with suppress(NotImplementedError):  # Windows: Ctrl-C cancels instead
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
    # A hub that hangs up needs no answer any more: its request is cancelled.
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=GRACE)
    await runner.setup()
    try:
        await _listen(runner, host, port)
        await stop.wait()
    finally:
        await runner.cleanup()


async def _listen(runner: web.AppRunner, host: str, port: int) -> None:
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError as error:
        reason = error.strerror or error
        raise BadInputError(f"{host}:{port}", f"cannot be listened on: {reason}") from error
    address: tuple[Any, ...] = runner.addresses[0]
    shown = f"[{host}]" if ":" in host else host
    print(f"listening on http://{shown}:{address[1]}/", flush=True)
