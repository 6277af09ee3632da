"""Servers that call the hub back: recognised only by their callback keys.

Their requests are counted per server, apart from its team's.
"""

from __future__ import annotations

import base64
import binascii

from aiohttp import hdrs, web

from metaserver.base.communications import CallingServer

CALLBACKS = ("/becalm/", "/api/saveAnnotations/")
"""Path prefixes that servers call; the second is BeCalm's own."""
CALLBACKS_A_MINUTE = 6_000
"""Callbacks per server and minute, refused ones included."""
CALLING = web.RequestKey("CALLING", CallingServer)
_MOST = 200  # characters of a key


def calls_back(request: web.Request) -> bool:
    """Return whether a request is for those paths."""
    return request.path.startswith(CALLBACKS)


def key_of(request: web.Request) -> str:
    """Return the key that a callback brings: `apikey`, Bearer, or either half of Basic."""
    if "apikey" in request.query:
        return request.query["apikey"][:_MOST]
    kind, _, credentials = request.headers.get(hdrs.AUTHORIZATION, "").partition(" ")
    match kind.lower():
        case "bearer":
            return credentials.strip()[:_MOST]
        case "basic":
            user, _, password = _decoded(credentials).partition(":")
            return (password or user)[:_MOST]
    return ""


def _decoded(credentials: str) -> str:
    try:
        return base64.b64decode(credentials.strip()[: 2 * _MOST], validate=True).decode()
    except (binascii.Error, ValueError):
        return ""
