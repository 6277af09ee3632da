"""Who asks: the caller of a request, and the visitor that its page is made for."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field

from aiohttp import web

from metaserver.base.viewer import Session, Viewer
from metaserver.operations.caller import Caller
from metaserver.web.access import csrf
from metaserver.web.access.addresses import Origin

CALLER = web.RequestKey("CALLER", Caller)
"""Whose rights a request has: set before its handler is called; absent for anybody."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ways:
    """The ways in which people sign in, beside tokens.

    `providers` are pairs of a path and a label; `mail`: by a one-time link.
    """

    mail: bool = False
    providers: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Visitor:
    """The caller of a web request and its origin; `session` None: not signed in.

    `payer` is whose requests are counted together: a team, a token without a team; None: the
    address. `calls_back`: it is a server, which is counted apart.
    """

    caller: Caller
    origin: Origin
    session: Session | None = None
    path: str = "/"  # to come back to after signing in
    payer: Hashable | None = None
    calls_back: bool = False
    ways: Ways = field(default_factory=Ways)

    @property
    def csrf(self) -> str:
        """The session's CSRF value for a page; only for signed-in callers."""
        assert self.session is not None
        return csrf.masked(self.session.csrf)


CHALLENGE = web.RequestKey("CHALLENGE", str)
"""The challenge of what a page shows, if its address does not name it."""
VISITOR = web.RequestKey("VISITOR", Visitor)
"""The visitor that the gate let in; absent on the pages of a run, which have no sign-in."""
_current: ContextVar[Visitor | None] = ContextVar("visitor", default=None)


def caller_of(request: web.Request) -> Caller:
    """Return the caller; an unknown caller if nobody was recognised."""
    caller: Caller | None = request.get(CALLER)
    return Caller() if caller is None else caller


def viewer_of(request: web.Request) -> Viewer:
    """Return the caller as visibility judges it, on a page that may be of one challenge."""
    caller = caller_of(request)
    challenge = request.get(CHALLENGE) or request.match_info.get("challenge")
    return caller.viewer if challenge is None else caller.viewer_in(challenge)


def visitor() -> Visitor | None:
    """Return who the page under way is made for; None if there is no sign-in.

    Every page's header shows it, so that it comes by the request's context, not by arguments.
    """
    return _current.get()


def only_challenge() -> str | None:
    """Return the only challenge that the page's viewer organises; None for all other viewers."""
    current = _current.get()
    return None if current is None else current.caller.challenge


def remember(request: web.Request, current: Visitor) -> None:
    """Keep the caller, for a request's handlers and pages."""
    request[VISITOR] = current
    request[CALLER] = current.caller
    _current.set(current)
