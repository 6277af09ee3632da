"""Pages for a single role, and those for strangers: the gate asks who they are for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

from aiohttp import web

from metaserver.base.states import Role
from metaserver.operations.caller import Caller

H = TypeVar("H")
_MARK = "for_role"
_SCOPED_MARK = "for_challenge"
_OPEN_MARK = "for_strangers"


def reserved(
    role: Role,
    routes: Iterable[web.RouteDef],
    *,
    require_own: Callable[[web.Request], None] | None = None,
) -> list[web.RouteDef]:
    """Return routes that only callers of at least this role reach; other marks stay.

    With `require_own` organisers of one challenge reach them too; it raises `RefusedError` for the
    address of another. What the pages show and do is asked of operations, which ask that again.
    """
    return [_reserved(role, route, require_own) for route in routes]


def require_admitted(caller: Caller, handler: object) -> None:
    """Raise `RefusedError` unless a handler is for everybody, or for the caller's role."""
    if caller.challenge is None or not getattr(handler, _SCOPED_MARK, False):
        caller.require_role(getattr(handler, _MARK, None))


def for_strangers(handler: H) -> H:
    """Let a handler answer everybody as a stranger, also who is signed in."""
    vars(handler)[_OPEN_MARK] = True
    return handler


def is_for_strangers(handler: object) -> bool:
    """Return whether a handler was marked as `for_strangers`."""
    return bool(getattr(handler, _OPEN_MARK, False))


def _reserved(
    role: Role, route: web.RouteDef, require_own: Callable[[web.Request], None] | None
) -> web.RouteDef:
    handle: Any = route.handler

    @wraps(handle)  # and its marks
    async def handler(request: web.Request) -> web.StreamResponse:
        if require_own is not None:
            require_own(request)
        answered: web.StreamResponse = await handle(request)
        return answered

    vars(handler)[_MARK] = role
    vars(handler)[_SCOPED_MARK] = require_own is not None
    return web.RouteDef(route.method, route.path, handler, route.kwargs)
