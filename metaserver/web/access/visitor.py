"""Who a page is made for."""

from __future__ import annotations

from collections.abc import Hashable
from contextvars import ContextVar
from dataclasses import dataclass

from aiohttp import web

from metaserver.model.viewer import Viewer
from metaserver.operations.caller import Caller
from metaserver.store.tokens import Session
from metaserver.web.access.addresses import Origin
from metaserver.web.public.source import READER


@dataclass(frozen=True, kw_only=True, slots=True)
class Visitor:
    """Who asks, and from where; `session` None: nobody who is signed in.

    `payer` is whose requests are counted together: a team, a token of no team; None: the address.
    """

    caller: Caller
    origin: Origin
    session: Session | None = None
    path: str = "/"  # to come back to after signing in
    payer: Hashable | None = None


VISITOR = web.RequestKey("VISITOR", Visitor)
_current: ContextVar[Visitor | None] = ContextVar("visitor", default=None)


def caller_of(request: web.Request) -> Caller:
    """Return who asks; nobody known where the application has no gate."""
    known = request.get(VISITOR)
    return Caller() if known is None else known.caller


def visitor() -> Visitor | None:
    """Return who the page under way is made for; None where one cannot sign in.

    Every page's head shows it, so that it comes by the request's context, not by arguments.
    """
    return _current.get()


def remember(request: web.Request, known: Visitor) -> None:
    """Keep who asks, for the handlers of a request and for its pages."""
    caller = known.caller
    request[VISITOR] = known
    request[READER] = Viewer(team=caller.team or "", organiser=caller.organiser)
    _current.set(known)
