"""The style sheet, scripts and icon, held in memory under an address that changes with them."""

from __future__ import annotations

import functools
import gzip
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files

import zstandard
from aiohttp import hdrs, web

from metaserver.web.access.encodings import Encoding, preferred

TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
FOLDERS = ("static", "templates")
FOR_EVER = "public, max-age=31536000, immutable"
BEST: Mapping[Encoding, Callable[[bytes], bytes]] = {
    Encoding.ZSTD: lambda body: zstandard.ZstdCompressor(level=19).compress(body),
    Encoding.GZIP: functools.partial(gzip.compress, mtime=0),
}
"""Functions that compress as well as they can: a file is compressed once in a process."""
_COMMENTS = {
    "js": re.compile(rb"^ *//.*$", re.MULTILINE),  # on lines of their own: sent as empty lines
    "css": re.compile(rb"/\*.*?\*/", re.DOTALL),
}
"""Comments, by the type of a file: they are not sent."""


@functools.cache
def release() -> str:
    """Return a hash of templates, scripts and styles: the same in pages and frames that fit."""
    folders = [folder / name for folder in files("metaserver").iterdir() for name in FOLDERS]
    made = [item for folder in folders if folder.is_dir() for item in folder.iterdir()]
    digest = hashlib.sha256(version("biocreative-metaserver").encode())
    for item in sorted(made, key=lambda item: item.name):
        if item.is_file():
            body = item.read_bytes()
            digest.update(f"{item.name} {len(body)} ".encode() + body)
    return digest.hexdigest()[:16]


class Assets:
    """The files of `static/` of packages; `prefix` holds a hash of all, so that they may be kept.

    One hash for all: a module's relative imports then find the release they belong to.
    """

    def __init__(self, packages: Sequence[str]) -> None:
        self.packages = packages
        folders = [folder for name in packages if (folder := files(name) / "static").is_dir()]
        items = [item for folder in folders for item in folder.iterdir()]
        self._bodies = {
            item.name: _without_comments(item.name, item.read_bytes())
            for item in sorted(items, key=lambda item: item.name)
            if item.name.rpartition(".")[2] in TYPES
        }
        self._packed: dict[tuple[str, Encoding], bytes] = {}
        digest = hashlib.sha256()
        for name, body in self._bodies.items():
            digest.update(f"{name} {len(body)} ".encode() + body)
        self.prefix = f"/static/{digest.hexdigest()[:16]}"

    @classmethod
    @functools.cache
    def of(cls, *slices: str) -> Assets:
        """Return the files of `web` and other packages with pages, read once per process."""
        return cls(("metaserver.web", *slices))

    def url(self, name: str) -> str:
        """Return the address of one file; a name that does not exist is a mistake of ours."""
        assert name in self._bodies, name
        return f"{self.prefix}/{name}"

    async def serve(self, request: web.Request) -> web.Response:
        """Answer with the file `name`."""
        name = request.match_info["name"]
        if name not in self._bodies:
            raise web.HTTPNotFound
        encoding = preferred(request)
        headers = {hdrs.CACHE_CONTROL: FOR_EVER, hdrs.VARY: hdrs.ACCEPT_ENCODING}
        if encoding is not Encoding.IDENTITY:
            headers[hdrs.CONTENT_ENCODING] = encoding
        return web.Response(
            body=self._encoded(name, encoding),
            content_type=TYPES[name.rpartition(".")[2]],
            charset="utf-8",
            headers=headers,
        )

    def _encoded(self, name: str, encoding: Encoding) -> bytes:
        """Return a file in an encoding; it is compressed once, and small."""
        if encoding is Encoding.IDENTITY:
            return self._bodies[name]
        if (name, encoding) not in self._packed:
            self._packed[name, encoding] = BEST[encoding](self._bodies[name])
        return self._packed[name, encoding]


def _without_comments(name: str, body: bytes) -> bytes:
    comment = _COMMENTS.get(name.rpartition(".")[2])
    return comment.sub(b"", body) if comment else body
