"""The documentation's pages, and the search in them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from aiohttp import hdrs, web

from metaserver.web.access.visitor import caller_of
from metaserver.web.manual.library import PREFIX, TYPES, ManualSection, address, library
from metaserver.web.manual.rendering import Door, doors, render
from metaserver.web.ui.templates import Templates

MOST_MATCHES = 40
"""The most sections that a search finds."""
LENGTH = 100
"""The most characters of what is searched."""
RECORDS = (
    f"{PREFIX}/adr",
    f"{PREFIX}/CHANGELOG",
    f"{PREFIX}/CONTRIBUTING",
    f"{PREFIX}/architecture",
    f"{PREFIX}/benchmarks",
    f"{PREFIX}/releasing",
    f"{PREFIX}/testing",
)
"""Pages for contributors, and records of the past: they come after what a user reads."""
AROUND = 90
"""Characters of a text that are shown on each side of the first word."""


@dataclass(frozen=True, kw_only=True)
class FoundSection:
    """A section that has all words; `parts` is a passage of it, every second part a word."""

    section: ManualSection
    parts: Sequence[str]


class Search:
    """The documentation's sections, folded once; best first are those with words on top."""

    def __init__(self, sections: Sequence[ManualSection]) -> None:
        self._folded = [
            (section, section.title.casefold(), section.heading.casefold(), section.text.casefold())
            for section in sections
        ]

    def find(self, query: str) -> list[FoundSection]:
        """Return the sections that have all words of a query, at most `MOST_MATCHES`."""
        words = list(dict.fromkeys(query.casefold()[:LENGTH].split()))
        scored = [
            (score, section)
            for section, *texts in self._folded
            if words and (score := _score(words, texts))
        ]
        scored.sort(key=lambda pair: (pair[1].page.startswith(RECORDS), -pair[0]))
        return [
            FoundSection(section=section, parts=_passage(section.text, words))
            for _, section in scored[:MOST_MATCHES]
        ]


def _score(words: Sequence[str], texts: Sequence[str]) -> int:
    title, heading, text = texts
    total = 0
    for word in words:
        count = 20 * (word in heading) + 15 * (word in title) + min(4, text.count(word))
        if not count:
            return 0
        total += count
    return total


def _passage(text: str, words: Sequence[str]) -> list[str]:
    folded = text.casefold()
    if len(folded) != len(text):  # a letter that becomes two: places would not fit
        return [text[: 2 * AROUND]]
    first = min((at for word in words if (at := folded.find(word)) >= 0), default=0)
    start, end = max(0, first - AROUND), min(len(text), first + AROUND)
    while 0 < start < first and not text[start - 1].isspace():
        start += 1
    while first + AROUND // 2 < end < len(text) and not text[end].isspace():
        end -= 1
    parts, at = [""], start
    while at < min(end, len(text)):
        word = next((word for word in words if folded.startswith(word, at)), None)
        if word:
            parts += [text[at : at + len(word)], ""]
            at += len(word)
        else:
            parts[-1] += text[at]
            at += 1
    return parts


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
