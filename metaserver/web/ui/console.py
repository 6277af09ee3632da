"""The consoles' way to data: operations, done as the signed-in caller.

A refusal that the viewer can mend (a state, a value) is shown next to the button or the field that
was used; any other (no token, nothing of that name) is a page of its own, made by `access.headers`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar, cast

import msgspec
from aiohttp import hdrs, web
from multidict import MultiMapping

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.states import Role
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.jobs import JobDetail
from metaserver.operations.table import ask, declared, perform
from metaserver.web.access.auth import AGAIN
from metaserver.web.access.event_streams import while_held
from metaserver.web.access.posted import fields
from metaserver.web.access.visitor import caller_of
from metaserver.web.ui.live import Broadcaster, LiveParts
from metaserver.web.ui.templates import Templates

R = TypeVar("R", bound=msgspec.Struct)
T = TypeVar("T")
AskedOperation: TypeAlias = Callable[[HubContext, Caller, R], Awaitable[T]]
"""A function that is declared as an operation, by its request and its result."""

CORRECTABLE = frozenset({Refusal.STATE, Refusal.INVALID, Refusal.NOT_YOURS})
"""Refusals shown where they occurred."""


@dataclass(frozen=True, kw_only=True)
class ConsoleContext:
    """The running service, and what its pages are drawn with.

    `results` has the address of a finished job's result, by the job's kind.
    """

    hub: HubContext
    templates: Templates
    broadcaster: Broadcaster
    results: dict[str, Callable[[JobDetail], str]] = field(default_factory=dict)

    def require_own(self, request: web.Request) -> None:
        """Raise `RefusedError` for an address of another challenge than the caller's alone."""
        caller, match = caller_of(request), request.match_info
        if caller.challenge is None:
            return
        challenge: str | None = match.get("challenge", caller.challenge)
        if (phase := match.get("phase")) is not None:
            challenge = self.hub.challenge_of(phase)
        if challenge != caller.challenge:
            caller.require_role(Role.ORGANISER)

    async def ask(self, request: web.Request, operation: AskedOperation[R, T], query: R) -> T:
        """Do an operation as the caller of a web request; raises `RefusedError`.

        The operation's role and the bounds of its fields are checked as for any other interface.
        """
        _require_sent(request, operation)
        return await ask(self.hub, caller_of(request), operation, query)

    async def submit(
        self, request: web.Request, operation: AskedOperation[R, T], values: Mapping[str, Any]
    ) -> T:
        """Do an operation with the fields of a form or an address, whose values may be texts."""
        _require_sent(request, operation)
        caller = caller_of(request)
        result = await perform(declared(operation), self.hub, caller, values, strict=False)
        return cast(T, result)

    def answer(self, template: str, *, status: int = 200, **context: Any) -> web.Response:
        """Answer with a page; it is for its viewer alone.

        A template names a phase that it has only the name of by `phase_label`.
        """
        return web.Response(
            text=self.templates.page(template, phase_label=self.hub.phase_label, **context),
            status=status,
            content_type="text/html",
            headers={"Cache-Control": "private, no-store"},
        )

    async def follow(
        self, request: web.Request, key: str, ask: Callable[[], Awaitable[LiveParts]]
    ) -> web.StreamResponse:
        """Answer with a page's event stream, for as long as its viewer's token is valid.

        Who has the same key sees the same: organisers of one challenge share none with others.
        """
        key = f"{key} of {caller_of(request).challenge}"
        return await while_held(request, self.broadcaster.follow(request, key, ask))


@dataclass(frozen=True, kw_only=True)
class ConsolePages:
    """Handlers of pages of a console; `routes()` of each returns their addresses."""

    console: ConsoleContext


def _require_sent(request: web.Request, operation: AskedOperation[R, T]) -> None:
    """Raise `RefusedError` before anything is done with a form that is only to be shown again.

    The refusal is shown where every other is: in the form, with all that was written in it.
    """
    if request.get(AGAIN) and declared(operation).method != hdrs.METH_GET:
        message = "you were not signed in, so nothing was done yet: look it over, and send it again"
        raise RefusedError(Refusal.STATE, message)


def _no_pages(_hub: HubContext, _templates: Templates) -> Sequence[web.RouteDef]:
    return ()


@dataclass(frozen=True, kw_only=True)
class Slice:
    """The pages of a package that `web` does not know, such as the curators'.

    `package` has their folders `templates` and `static`. `mount` puts them onto an application;
    `in_phase` returns routes without sign-in that begin with a phase's address.
    """

    package: str
    mount: Callable[[web.Application, ConsoleContext], None]
    in_phase: Callable[[HubContext, Templates], Sequence[web.RouteDef]] = _no_pages


def open_console(app: web.Application, hub: HubContext, templates: Templates) -> ConsoleContext:
    """Return what an application's consoles share; live pages are renewed each second."""
    broadcaster = Broadcaster(None, interval=1.0)

    async def end_streams(_: web.Application) -> None:
        await broadcaster.close()

    app.on_shutdown.append(end_streams)
    return ConsoleContext(hub=hub, templates=templates, broadcaster=broadcaster)


async def posted(request: web.Request) -> MultiMapping[Any]:
    """Return the form that a request carries; a file in it is a `SentFile`."""
    return await fields(request, request.client_max_size)


def phase_named(console: ConsoleContext, request: web.Request) -> str | None:
    """Return the phase that an address names (`?phase=`), or None.

    Raises `RefusedError` for an unknown or empty name, and `HTTPNotFound` if several are named.
    """
    names = set(request.query.getall("phase", ()))
    if len(names) > 1:
        raise web.HTTPNotFound(text="The address names several phases.")
    if not names:
        return None
    running = console.hub.phase(names.pop())
    console.hub.require_announced(caller_of(request), running.name)
    return running.name


def redisplayed(refused: RefusedError) -> RefusedError:
    """Return a refusal to show where it occurred; raise any other."""
    if refused.refusal not in CORRECTABLE:
        raise refused
    return refused
