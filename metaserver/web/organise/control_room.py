"""The control room of a phase: live, with what can be done beside each finding."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from aiohttp import web
from multidict import MultiMapping

from metaserver.base.errors import RefusedError
from metaserver.base.findings import FindingKind
from metaserver.base.plans import YEAR
from metaserver.base.states import OPEN_STATES
from metaserver.boards.forecast import Verdict
from metaserver.operations import control_room, phases
from metaserver.operations.control_room import ControlRoom, WatchQuery
from metaserver.operations.fields import OnePhase
from metaserver.operations.phases import PhaseChange, PhaseDetail
from metaserver.web.organise.overview import phase_path
from metaserver.web.organise.phase_form import date_wording, other_zone, written
from metaserver.web.public.boards import or_400
from metaserver.web.ui.console import ConsolePages, phase_named, posted
from metaserver.web.ui.form_pages import OperationForm, tried
from metaserver.web.ui.formatting import element_id
from metaserver.web.ui.live import LiveParts
from metaserver.web.ui.paging import ROWS, Chosen, Page, first_row

PARTS = "organise_watch_parts.html"
ROUND = 15 * 60
"""Seconds to which a suggested deadline is rounded up."""

FOUND: Mapping[FindingKind, tuple[str, str]] = {
    FindingKind.LATE: ("down", "late"),
    FindingKind.DOWN: ("down", "down"),
    FindingKind.NO_GOLD: ("down", "no gold"),
    FindingKind.GOLD_OUTSIDE: ("slow", "gold"),
    FindingKind.CLOSE: ("slow", "close"),
    FindingKind.SUSPENDED: ("suspended", "suspended"),
    FindingKind.GIVEN_UP: ("slow", "given up"),
    FindingKind.BURST: ("slow", "burst"),
    FindingKind.NEAR: ("slow", "few changes"),
    FindingKind.JUMP: ("slow", "jump"),
}
"""The shape and the word of a finding's pill."""

VERDICTS: Mapping[Verdict, tuple[str, str]] = {
    Verdict.LATE: ("down", "late"),
    Verdict.CLOSE: ("slow", "close"),
    Verdict.UNKNOWN: ("waiting", "unknown"),
    Verdict.STOPPED: ("paused", "stopped"),
    Verdict.IN_TIME: ("up", "in time"),
    Verdict.NO_DEADLINE: ("waiting", "no deadline"),
    Verdict.FINISHED: ("finished", "finished"),
}
"""The shape and the word of a verdict's pill."""


class FindingAct(NamedTuple):
    """What can be done about a finding: a link to its page."""

    word: str
    path: str


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchChoice(Chosen):
    """The part of the servers and teams that is shown, as in the address."""

    verdict: Verdict | None = None
    rows: int = 1
    teams: int = 1

    @classmethod
    def parse(cls, query: Mapping[str, str]) -> WatchChoice:
        """Read the page's address; raises ValueError for what cannot be chosen."""
        teams = first_row({"rows": query.get("teams", "")})
        verdict = Verdict(query["verdict"]) if query.get("verdict") else None
        return cls(verdict=verdict, rows=first_row(query), teams=teams)


@dataclass(frozen=True, kw_only=True, slots=True)
class ControlRoomView:
    """The control room as its page draws it."""

    room: ControlRoom
    chosen: WatchChoice
    phase: PhaseDetail

    @property
    def path(self) -> str:
        """The page's path."""
        return watch_path(self.room.phase)

    @property
    def open(self) -> bool:
        """True while articles are sent."""
        return self.room.state in OPEN_STATES

    @property
    def part(self) -> Page:
        """The page of the servers."""
        return Page(first=self.chosen.rows, total=self.room.matching)

    @property
    def team_part(self) -> Page:
        """The page of the teams."""
        return Page(first=self.chosen.teams, total=self.room.teams)

    def acts(self, kind: FindingKind, name: str) -> Sequence[FindingAct]:
        """Return what can be done about one subject of a finding."""
        phase = self.room.phase
        match kind:
            case FindingKind.LATE | FindingKind.CLOSE:
                return [
                    FindingAct("Extend…", extend_path(phase)),
                    _lane_act("Suspend…", name, phase),
                ]
            case FindingKind.DOWN:
                return [_lane_act("Suspend…", name, phase)]
            case FindingKind.GIVEN_UP:
                return [_lane_act("Re-queue…", name, phase)]
            case FindingKind.SUSPENDED:
                query = urlencode({"phase": phase, "find": name})
                return [FindingAct("Resume…", f"/organise/servers?{query}")]
            case FindingKind.NO_GOLD | FindingKind.GOLD_OUTSIDE:
                return [FindingAct("Set gold", f"{phase_path(phase)}/gold/{quote(name, safe='')}")]
            case FindingKind.BURST | FindingKind.NEAR | FindingKind.JUMP:
                query = urlencode({"phase": phase})
                return [FindingAct("Uploads", f"/organise/uploads?{query}")]


def watch_path(phase: str) -> str:
    """Return the path of a phase's control room."""
    return f"{phase_path(phase)}/watch"


def extend_path(phase: str) -> str:
    """Return the path for extending a phase's deadline."""
    return f"{phase_path(phase)}/extend"


def _lane_act(word: str, server: str, phase: str) -> FindingAct:
    act = word.removesuffix("…").replace("-", "").lower()
    query = urlencode({"phase": phase, "back": "watch"})
    return FindingAct(word, f"/organise/servers/{quote(server, safe='')}/{act}?{query}")


class ControlRoomPages(ConsolePages):
    """The handlers for control rooms."""

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        path = "/organise/phases/{phase}"
        return [
            web.get(f"{path}/watch", self.show),
            web.get(f"{path}/extend", self.ask_extension),
            web.post(f"{path}/extend", self.extend),
        ]

    async def _shown(self, request: web.Request, phase: str) -> ControlRoomView:
        chosen = or_400(lambda: WatchChoice.parse(request.query))
        query = WatchQuery(
            phase=phase,
            verdict=chosen.verdict,
            start=(chosen.rows - 1) // ROWS * ROWS,
            team_start=(chosen.teams - 1) // ROWS * ROWS,
            limit=ROWS,
        )
        room = await self.console.ask(request, control_room.watch_phase, query)
        detail = await self.console.ask(request, phases.get, OnePhase(phase=phase))
        return ControlRoomView(room=room, chosen=chosen, phase=detail)

    async def show(self, request: web.Request) -> web.Response:
        """Answer with the control room."""
        shown_room = await self._shown(request, request.match_info["phase"])
        return self.console.answer("organise_watch.html", shown=shown_room, words=WORDS)

    def key(self, request: web.Request) -> str:
        """Return the stream's name, shared by all who watch the same part of a phase."""
        chosen = or_400(lambda: WatchChoice.parse(request.query))
        return f"organise watch {phase_named(self.console, request)} {chosen.query()}"

    async def parts(self, request: web.Request) -> LiveParts:
        """Return the live parts of the page."""
        shown_room = await self._shown(request, phase_named(self.console, request) or "")
        part = self.console.templates.part
        blocks = (
            "facts", "acts", "totals", "findings", "verdicts", "methods", "errors", "uploads",
        )  # fmt: skip
        rows = {
            server_id(server.server): part(PARTS, "server_row", shown_room, server, WORDS)
            for server in shown_room.room.servers
        }
        teams = {
            team_id(team.team): part(PARTS, "team_row", shown_room, team)
            for team in shown_room.room.coverage
        }
        html = {f"watch-{name}": part(PARTS, name, shown_room, WORDS) for name in blocks}
        return LiveParts(
            html=html | rows | teams,
            lists={"watch-servers": list(rows), "watch-teams": list(teams)},
        )

    # -- another deadline ------------------------------------------------------------------------

    async def ask_extension(self, request: web.Request) -> web.Response:
        """Ask for another deadline; a deadline by which all servers are done is suggested."""
        shown_room = await self._shown(request, request.match_info["phase"])
        return self._extension(shown_room, None)

    def _extension(
        self,
        shown_room: ControlRoomView,
        refused: RefusedError | None,
        submitted: MultiMapping[Any] | None = None,
    ) -> web.Response:
        suggested, closes = suggestion(shown_room.room), shown_room.phase.closes
        names = ("freezes", "closes") if closes else ("freezes",)
        blank = OperationForm(request=PhaseChange, names=names)
        if suggested and closes and shown_room.phase.freezes and suggested >= closes:
            closes += suggested - shown_room.phase.freezes
        freezes = suggested or shown_room.phase.freezes
        values = {"freezes": written(freezes), "closes": written(closes)}
        form = blank.form(submitted or values, refused, **date_wording(shown_room.phase.timezone))
        return self.console.answer(
            "organise_extend.html",
            status=refused.refusal if refused else 200,
            shown=shown_room,
            suggested=suggested,
            form=form,
        )

    async def extend(self, request: web.Request) -> web.Response:
        """Put a phase's deadline off, and lead back to its control room."""
        shown_room = await self._shown(request, request.match_info["phase"])
        submitted = await posted(request)
        blank = OperationForm(request=PhaseChange, names=("freezes", "closes"))
        before = {
            "freezes": written(shown_room.phase.freezes),
            "closes": written(shown_room.phase.closes),
        }
        values = {name: at for name, at in blank.values(submitted).items() if at != before[name]}
        result: PhaseDetail | RefusedError | None = other_zone(shown_room.phase, submitted, values)
        if result is None:
            update = {**values, "phase": shown_room.room.phase}
            result = await tried(self.console.submit(request, phases.update, update))
        if isinstance(result, RefusedError):
            return self._extension(shown_room, result, submitted)
        raise web.HTTPSeeOther(shown_room.path)


def suggestion(room: ControlRoom) -> datetime | None:
    """Return a deadline by which all servers are done, by the longest forecast.

    None without a forecast later than the deadline and within a year.
    """
    if room.needs is None or room.needs.forecast is None or room.deadline is None:
        return None
    needed = room.now + room.needs.forecast.high
    if not room.deadline.at.timestamp() < needed < room.now + YEAR:
        return None
    return datetime.fromtimestamp(math.ceil(needed / ROUND) * ROUND, room.deadline.at.tzinfo)


def server_id(name: str) -> str:
    """Return the id of a server's row."""
    return element_id("watch", name)


def team_id(name: str) -> str:
    """Return the id of a team's row."""
    return element_id("team", name)


WORDS = {"found": FOUND, "verdicts": VERDICTS}
"""The words of findings and verdicts, which its templates are given."""
