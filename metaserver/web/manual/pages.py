"""The documentation's pages, and the search in them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path

from aiohttp import hdrs, web

from metaserver.web.access.visitor import caller_of
from metaserver.web.manual.library import PREFIX, TYPES, address, library
from metaserver.web.manual.rendering import Door, doors, render
from metaserver.web.manual.searching import LENGTH, Search
from metaserver.web.ui.templates import Templates

KEPT = 200
"""Pages that are kept rendered."""


class ManualPages:
    """The handlers; a page is rendered when it is first asked for, in a thread, and kept."""

    def __init__(self, templates: Templates) -> None:
        self._templates = templates
        self._library = library()
        self._render = lru_cache(KEPT)(lambda url: render(self._library, url))

    def routes(self) -> list[web.RouteDef]:
        """Return the routes of the front page and of each file."""
        return [web.get(PREFIX, self.page), web.get(f"{PREFIX}/{{name:.+}}", self.page)]

    async def page(self, request: web.Request) -> web.StreamResponse:
        """Answer with a page, a file, or, for `?q=`, with the search results."""
        url = request.path.rstrip("/")
        if url in self._library.files:
            return self._file(url)
        if url.endswith(".md") and (page := address(url.removeprefix("/"))) in self._library.pages:
            raise web.HTTPMovedPermanently(page)
        if url not in self._library.pages:
            raise web.HTTPNotFound(text="The documentation has no such page.")
        words = request.query.get("q", "").strip()[:LENGTH] if url == PREFIX else ""
        await asyncio.to_thread(self._render, url)  # once for all readers: charged to none
        text = await caller_of(request).aside(self._draw, url, words)
        return web.Response(
            text=text, content_type="text/html", headers={hdrs.CACHE_CONTROL: "no-cache"}
        )

    def _file(self, url: str) -> web.FileResponse:
        name = self._library.files[url]
        headers = {
            hdrs.CONTENT_TYPE: TYPES[Path(name).suffix],
            hdrs.CACHE_CONTROL: "public, max-age=3600",
        }
        return web.FileResponse(self._library.folder / name, headers=headers)

    def _draw(self, url: str, words: str) -> str:
        matches = self._search.find(words) if words else []
        return self._templates.page(
            "manual.html",
            page=self._render(url),
            url=url,
            below=self._library.below(url),
            doors=self._doors,
            words=words,
            found=matches,
        )

    @cached_property
    def _doors(self) -> Sequence[Door]:
        return doors(self._library)

    @cached_property
    def _search(self) -> Search:
        return Search(self._library.sections())
