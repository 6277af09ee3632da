"""Pages for a single role: their routes say so, and the gate asks it before it reads a body."""

from __future__ import annotations

from collections.abc import Iterable
from functools import wraps
from typing import Any

from aiohttp import web

from metaserver.base.states import Role

_MARK = "for_role"


def reserved(role: Role, routes: Iterable[web.RouteDef]) -> list[web.RouteDef]:
    """Return routes that only callers of at least this role reach; other marks stay."""
    return [_reserved(role, route) for route in routes]


def role_for(handler: object) -> Role | None:
    """Return the role that a handler is reserved for; None if it is for everybody."""
    return getattr(handler, _MARK, None)


def _reserved(role: Role, route: web.RouteDef) -> web.RouteDef:
    handle: Any = route.handler

    @wraps(handle)  # and its marks
    async def handler(request: web.Request) -> web.StreamResponse:
        answered: web.StreamResponse = await handle(request)
        return answered

    vars(handler)[_MARK] = role
    return web.RouteDef(route.method, route.path, handler, route.kwargs)
