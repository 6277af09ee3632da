"""The style sheet, scripts and icon, held in memory under an address that changes with them."""

from __future__ import annotations

import hashlib
from importlib.resources import files

from aiohttp import web

TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
FOR_EVER = "public, max-age=31536000, immutable"


class Assets:
    """The files of `static/`; `prefix` holds a hash of all of them, so they may be kept for ever.

    One hash for all: a module's relative imports then find the release they belong to.
    """

    def __init__(self) -> None:
        folder = files("metaserver.web") / "static"
        self._bodies = {
            item.name: item.read_bytes()
            for item in sorted(folder.iterdir(), key=lambda item: item.name)
            if item.name.rpartition(".")[2] in TYPES
        }
        digest = hashlib.sha256()
        for name, body in self._bodies.items():
            digest.update(f"{name} {len(body)} ".encode() + body)
        self.prefix = f"/static/{digest.hexdigest()[:16]}"

    def url(self, name: str) -> str:
        """Return the address of one file; a name that does not exist is a mistake of ours."""
        assert name in self._bodies, name
        return f"{self.prefix}/{name}"

    async def serve(self, request: web.Request) -> web.Response:
        """Answer with the file `name`."""
        name = request.match_info["name"]
        if name not in self._bodies:
            raise web.HTTPNotFound
        response = web.Response(
            body=self._bodies[name],
            content_type=TYPES[name.rpartition(".")[2]],
            charset="utf-8",
            headers={"Cache-Control": FOR_EVER},
        )
        response.enable_compression()
        return response
