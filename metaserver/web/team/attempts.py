"""A server's attempts, each with its answer and where its problems are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from aiohttp import web
from markupsafe import Markup

from metaserver.base.records import Timings
from metaserver.base.states import OPEN_STATES, Outcome
from metaserver.operations import attempts
from metaserver.operations.attempts import AttemptDetail, RawAnswer
from metaserver.web.access.downloads import attachment, in_turn
from metaserver.web.access.visitor import caller_of
from metaserver.web.public.groups import grouped
from metaserver.web.team.view import Card, one_card, scope_of
from metaserver.web.ui import svg
from metaserver.web.ui.answers import Lines, Tree, read_answer, read_lines
from metaserver.web.ui.console import ConsolePages, phase_named
from metaserver.web.ui.formatting import figure
from metaserver.web.ui.paging import Chosen

PAGE = 50
PARTS = {
    "dns": "name looked up",
    "connect": "connected (with TLS)",
    "send": "request sent",
    "wait": "waited for the answer",
    "transfer": "answer received",
    "parse": "answer checked",
}
"""The phases of an attempt's time, in their order."""

MARKS: Mapping[Outcome, str] = {
    Outcome.OK: "up",
    Outcome.PARTIAL: "slow",
    Outcome.CANCELLED: "paused",
}
"""An outcome's pill; any other's is "down"."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptFilter(Chosen):
    """The attempts that are shown, as in the address."""

    phase: str
    outcome: str = ""
    article: str = ""
    before: str = ""


class AttemptPages(ConsolePages):
    """The handlers for attempts."""

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        path = r"/team/servers/{server}/attempts/{article:.+}/{number:\d+}"
        return [
            web.get("/team/servers/{server}/attempts", self.list),
            web.get(f"{path}/raw", self.raw),
            web.get(path, self.one),
        ]

    async def list(self, request: web.Request) -> web.Response:
        """Answer with the attempts that the address filters; newest first, in pages."""
        card = await one_card(self.console, request, request.match_info["server"])
        query = request.query
        chosen = AttemptFilter(
            phase=phase_named(self.console, request) or newest_phase(card),
            outcome=query.get("outcome", ""),
            article=query.get("article", "").strip(),
            before=query.get("before", ""),
        )
        attempts_found = await self._found(request, card, chosen) if chosen.phase else []
        return self.console.answer(
            "team_attempts.html",
            scope=await scope_of(self.console, request, card.server.team),
            card=card,
            chosen=chosen,
            attempts=attempts_found[:PAGE],
            older=repr(attempts_found[PAGE - 1].started_at) if len(attempts_found) > PAGE else "",
            groups=grouped(attempts_found),
            outcomes=list(Outcome),
            marks=MARKS,
            length=length,
            path=attempt_path,
        )

    async def _found(
        self, request: web.Request, card: Card, chosen: AttemptFilter
    ) -> Sequence[AttemptDetail]:
        criteria = {"outcome": chosen.outcome, "article": chosen.article, "before": chosen.before}
        values = {name: value for name, value in criteria.items() if value}
        return await self.console.submit(
            request,
            attempts.attempts,
            {"server": card.server.server, "phase": chosen.phase, "limit": PAGE + 1} | values,
        )

    async def one(self, request: web.Request) -> web.Response:
        """Answer with an attempt: its times, its problems, its answer."""
        return await in_turn(request, lambda: self._one(request))

    async def _one(self, request: web.Request) -> web.Response:
        card = await one_card(self.console, request, request.match_info["server"])
        phase = phase_named(self.console, request) or newest_phase(card)
        answer = await self._answer(request, phase)
        tree, lines = await caller_of(request).aside(_read, answer)
        return self.console.answer(
            "team_attempt.html",
            scope=await scope_of(self.console, request, card.server.team),
            card=card,
            phase=phase,
            attempt=answer.attempt,
            size=None if answer.raw is None else len(answer.raw),
            tree=tree,
            lines=lines,
            parts_of_time=time_parts(answer.attempt.timings),
            bar=time_bar(answer.attempt.timings),
            marks=MARKS,
            length=length,
            path=attempt_path,
        )

    async def raw(self, request: web.Request) -> web.Response:
        """Answer with the bytes that came, as a file."""
        return await in_turn(request, lambda: self._raw(request))

    async def _raw(self, request: web.Request) -> web.Response:
        card = await one_card(self.console, request, request.match_info["server"])
        phase = phase_named(self.console, request) or newest_phase(card)
        answer = await self._answer(request, phase)
        if answer.raw is None:
            raise web.HTTPNotFound(text="No answer was received in this attempt.")
        parts = (phase, card.server.server, answer.attempt.article, str(answer.attempt.number))
        name = re.sub(r"[^A-Za-z0-9._-]", "_", "-".join(parts))
        return attachment(answer.raw, f"{name}.xml")

    async def _answer(self, request: web.Request, phase: str) -> RawAnswer:
        return await self.console.submit(
            request, attempts.answer, {**request.match_info, "phase": phase}
        )


def newest_phase(card: Card) -> str:
    """Return the phase to show first: the open phase, or the last, or empty."""
    rows = [row for row in card.rows if row.progress is not None]
    opened = [row for row in rows if row.phase.state in OPEN_STATES]
    return next((row.phase.phase for row in (*opened, *rows)), "")


def attempt_path(card: Card, phase: str, attempt: AttemptDetail) -> str:
    """Return the path of an attempt's page."""
    article = quote(attempt.article, safe="")
    return f"{card.path}/attempts/{article}/{attempt.number}?{urlencode({'phase': phase})}"


def _read(answer: RawAnswer) -> tuple[Tree | None, Lines | None]:
    """Return an answer with its places, or its lines if it cannot be read."""
    if not answer.raw:
        return None, None
    tree = read_answer(answer.raw, answer.attempt.problems)
    return tree, None if tree else read_lines(answer.raw, answer.attempt.message)


def length(seconds: float | None) -> str:
    """Write a length of time that may be short: 0.42 ms, 53 ms, 1.25 s."""
    if seconds is not None and seconds < 1:
        return f"{figure(seconds * 1_000)} ms"
    return f"{figure(seconds)} s"


def time_parts(timings: Timings) -> Sequence[tuple[int, str, float]]:
    """Return where an attempt's time went: a series' number, words, seconds."""
    return [
        (number, words, seconds)
        for number, (name, words) in enumerate(PARTS.items())
        if (seconds := getattr(timings, name)) is not None
    ]


def time_bar(timings: Timings) -> Markup:
    """Return an attempt's time as a bar of its parts; the table beside it has the figures."""
    width, height, x = 600.0, 16.0, 0.0
    parts = time_parts(timings)
    total = sum(seconds for _, _, seconds in parts)
    boxes = []
    for number, _, seconds in parts:
        if total > 0:
            wide = width * seconds / total
            boxes.append(svg.box(f"part s{number}", x, 0, max(wide, 0.5), height))
            x += wide
    return svg.drawing(boxes, width, height, "bar times")
