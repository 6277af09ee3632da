"""Pages for a single role, and those for strangers: the gate asks who they are for."""

from __future__ import annotations

from collections.abc import Iterable
from functools import wraps
from typing import Any, TypeVar

from aiohttp import web

from metaserver.base.states import Role

H = TypeVar("H")
_MARK = "for_role"
_OPEN_MARK = "for_strangers"


def reserved(role: Role, routes: Iterable[web.RouteDef]) -> list[web.RouteDef]:
    """Return routes that only callers of at least this role reach; other marks stay."""
    return [_reserved(role, route) for route in routes]


def role_for(handler: object) -> Role | None:
    """Return the role that a handler is reserved for; None if it is for everybody."""
    return getattr(handler, _MARK, None)


def for_strangers(handler: H) -> H:
    """Let a handler answer everybody as a stranger, also who is signed in."""
    vars(handler)[_OPEN_MARK] = True
    return handler


def is_for_strangers(handler: object) -> bool:
    """Return whether a handler was marked as `for_strangers`."""
    return bool(getattr(handler, _OPEN_MARK, False))


def _reserved(role: Role, route: web.RouteDef) -> web.RouteDef:
    handle: Any = route.handler

    @wraps(handle)  # and its marks
    async def handler(request: web.Request) -> web.StreamResponse:
        answered: web.StreamResponse = await handle(request)
        return answered

    vars(handler)[_MARK] = role
    return web.RouteDef(route.method, route.path, handler, route.kwargs)
