"""All servers: how each stands in each phase, and what an organiser can do about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from aiohttp import web
from multidict import MultiDict, MultiMapping

from metaserver.model.errors import RefusedError
from metaserver.model.states import PhaseState, ServerState
from metaserver.operations.conformance import TrialState
from metaserver.operations.lanes import Requeue, Requeued, Suspension
from metaserver.operations.phases import PhaseDetail
from metaserver.operations.servers import LaneStanding, ServerDetail
from metaserver.web.access.refusals import in_words
from metaserver.web.organise.form_helpers import OperationForm, tried
from metaserver.web.ui.console import ConsoleContext, phase_named, posted
from metaserver.web.ui.formatting import element_id
from metaserver.web.ui.forms import Form, Wording
from metaserver.web.ui.live import LiveParts

PARTS = "organise_parts.html"
TESTS = {
    "test failed": TrialState.FAILED,
    "not tested": TrialState.NEVER,
    "test outdated": TrialState.OUTDATED,
}
GIVEN_UP = "given up"
STATES = (*ServerState, GIVEN_UP, *TESTS)
"""What can be filtered for."""


class OrganiserLaneAction(StrEnum):
    """What an organiser does with a lane; the names are those of the operations."""

    SUSPEND = "suspend"
    RESUME = "resume"
    REQUEUE = "requeue"
    CANCEL = "cancel"


WORDS = {
    OrganiserLaneAction.SUSPEND: "Suspend…",
    OrganiserLaneAction.RESUME: "Resume",
    OrganiserLaneAction.REQUEUE: "Re-queue…",
    OrganiserLaneAction.CANCEL: "Cancel in flight",
}
AT_ONCE = (OrganiserLaneAction.RESUME, OrganiserLaneAction.CANCEL)
"""Acts that need nothing to be said; the others have a page that asks."""

SUSPENDED = OperationForm(
    given=Suspension,
    names=("reason",),
    wording={"reason": Wording(kind="long", help="Its team is told this; at most 500 characters.")},
)
REQUEUED = OperationForm(
    given=Requeue,
    names=("articles",),
    wording={
        "articles": Wording(
            kind="long", help="The ids of given-up articles, one a line; empty: all given up."
        )
    },
)


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneFilter:
    """Which lanes are shown, as in the address."""

    phase: str = ""
    state: str = ""
    find: str = ""

    def query(self, **changes: str) -> str:
        """Return the filter as an address has it, with some of it otherwise."""
        chosen = {name: getattr(self, name) for name in self.__slots__} | changes
        return urlencode({name: value for name, value in chosen.items() if value})

    def shows(self, lane: OrganiserLaneRow) -> bool:
        """Whether a lane passes."""
        found = self.find.lower() in f"{lane.server.team or ''} {lane.server.server}".lower()
        there = self.phase in ("", lane.phase)
        return found and there and (not self.state or lane.is_in(self.state))


class OrganiserLaneRow(NamedTuple):
    """A server in one phase; in none where it has not been started yet."""

    server: ServerDetail
    standing: LaneStanding | None
    closed: bool

    @property
    def phase(self) -> str:
        """The phase's name."""
        return self.standing.phase if self.standing else ""

    @property
    def id(self) -> str:
        """The id of its row."""
        return element_id(element_id("lane", self.server.server), self.phase)

    @property
    def acts(self) -> Sequence[OrganiserLaneAction]:
        """What can be done now."""
        if self.standing is None or self.closed or self.server.retired:
            return ()
        acts = []
        if self.standing.state != ServerState.FINISHED:
            suspended = self.standing.state == ServerState.SUSPENDED
            acts.append(OrganiserLaneAction.RESUME if suspended else OrganiserLaneAction.SUSPEND)
        if self.standing.given_up:
            acts.append(OrganiserLaneAction.REQUEUE)
        return [*acts, OrganiserLaneAction.CANCEL] if self.standing.in_flight else acts

    @property
    def tested(self) -> TrialState:
        """How its test for this phase stands; for none how the newest one does."""
        tests = {tested.phase: tested.state for tested in self.server.tests}
        return tests.get(self.phase, self.server.tested)

    @property
    def untested(self) -> str:
        """What is wrong with its test, in words; empty where it has passed."""
        return next((words for words, state in TESTS.items() if state is self.tested), "")

    def is_in(self, state: str) -> bool:
        """Whether the lane is in a state that can be filtered for."""
        if state in TESTS:
            return not self.server.retired and self.tested is TESTS[state]
        if self.standing is None:
            return False
        return bool(self.standing.given_up) if state == GIVEN_UP else self.standing.state == state

    @property
    def words(self) -> str:
        """How it stands, in a sentence."""
        if self.standing is None:
            return f"{self.server.server} takes part in no phase yet"
        note = f" ({self.standing.note})" if self.standing.note else ""
        return f"{self.server.server} is {self.standing.state} in phase {self.phase}{note}"

    def path(self, act: OrganiserLaneAction) -> str:
        """Return where an act is asked about, or done."""
        return f"/organise/servers/{quote(self.server.server, safe='')}/{act}"


@dataclass(frozen=True, kw_only=True)
class OrganiserServerPages:
    """The handlers of servers."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        one, asking = (
            "/organise/servers/{server}",
            f"{OrganiserLaneAction.SUSPEND}|{OrganiserLaneAction.REQUEUE}",
        )
        return [
            web.get("/organise/servers", self.list),
            web.get(f"{one}/{{act:{asking}}}", self.confirm),
            web.post(f"{one}/{{act:{'|'.join(OrganiserLaneAction)}}}", self.act),
        ]

    def wanted(self, request: web.Request) -> LaneFilter:
        """Return what the address filters for."""
        query = request.query
        state = query.get("state", "")
        everywhere = query.getall("phase", [""]) == [""]  # the form's choice of all phases
        return LaneFilter(
            phase="" if everywhere else phase_named(self.console, request) or "",
            state=state if state in STATES else "",
            find=query.get("find", "").strip(),
        )

    async def list(self, request: web.Request) -> web.Response:
        """Answer with the lanes that the address filters."""
        return await self._list(request, self.wanted(request))

    async def _list(
        self, request: web.Request, wanted: LaneFilter, refused: str = "", status: int = 200
    ) -> web.Response:
        lanes = await self._lanes(request)
        return self.console.answer(
            "organise_servers.html",
            status=status,
            known_phases=list(reversed(await self.console.ask(request, "phases.list"))),
            states=STATES,
            wanted=wanted,
            total=len(lanes),
            lanes=[lane for lane in lanes if wanted.shows(lane)],
            words=WORDS,
            at_once=AT_ONCE,
            notice=_notice(request, lanes),
            refused=refused,
        )

    async def _lanes(self, request: web.Request) -> Sequence[OrganiserLaneRow]:
        servers: Sequence[ServerDetail] = await self.console.ask(request, "servers.list")
        phases: Sequence[PhaseDetail] = await self.console.ask(request, "phases.list")
        closed = {phase.phase for phase in phases if phase.state is PhaseState.CLOSED}
        return [*_lanes(servers, closed)]

    async def parts(self, request: web.Request, wanted: LaneFilter) -> LiveParts:
        """Return the live parts of the page: a row a lane."""
        lanes = [lane for lane in await self._lanes(request) if wanted.shows(lane)]
        part = self.console.templates.part
        rows = {lane.id: part(PARTS, "lane", lane, WORDS, AT_ONCE) for lane in lanes}
        return LiveParts(html=rows, lists={"lanes": list(rows)})

    # -- what is done ----------------------------------------------------------------------------

    async def confirm(self, request: web.Request) -> web.Response:
        """Ask for what an act needs: a reason, articles."""
        act = OrganiserLaneAction(request.match_info["act"])
        lane = await self._lane(request, request.query.get("phase", ""))
        return self._confirm(lane, act, _sheet(act).form())

    def _confirm(
        self, lane: OrganiserLaneRow, act: OrganiserLaneAction, form: Form, status: int = 200
    ) -> web.Response:
        return self.console.answer(
            "organise_server_act.html", status=status, lane=lane, act=act, form=form
        )

    async def _lane(self, request: web.Request, phase: str) -> OrganiserLaneRow:
        for lane in await self._lanes(request):
            if (lane.server.server, lane.phase) == (request.match_info["server"], phase):
                return lane
        raise web.HTTPNotFound(text="There is no server of that name in that phase.")

    async def act(self, request: web.Request) -> web.Response:
        """Suspend, resume, ...: then show how the server stands, or why it was refused."""
        act, sent = OrganiserLaneAction(request.match_info["act"]), await posted(request)
        lane = await self._lane(request, str(sent.get("phase", "")))
        values = {} if act in AT_ONCE else _sheet(act).values(_by_line(sent, act))
        done = await tried(
            self.console,
            request,
            f"servers.{act}",
            ("article",),
            server=lane.server.server,
            phase=lane.phase,
            **values,
        )
        if not isinstance(done, RefusedError):
            told = {"server": lane.server.server, "phase": lane.phase, "act": act.value}
            if isinstance(done, Requeued):
                told["articles"] = str(done.articles)
            raise web.HTTPSeeOther(f"/organise/servers?{urlencode(told)}")
        if act in AT_ONCE:
            return await self._list(request, LaneFilter(), in_words(done), done.refusal)
        at = "articles" if done.field == "article" else done.field
        refused = RefusedError(done.refusal, done.message, field=at)
        return self._confirm(lane, act, _sheet(act).form(sent, refused), done.refusal)


def _lanes(servers: Sequence[ServerDetail], closed: set[str]) -> Iterator[OrganiserLaneRow]:
    for server in sorted(servers, key=lambda one: (one.retired, one.team or "", one.server)):
        for standing in reversed(server.phases):
            yield OrganiserLaneRow(server, standing, standing.phase in closed)
        if not server.phases:
            yield OrganiserLaneRow(server, None, closed=False)


def _by_line(sent: MultiMapping[Any], act: OrganiserLaneAction) -> MultiMapping[Any]:
    """Return a form in which a text of article ids is one value a line."""
    if act is not OrganiserLaneAction.REQUEUE:
        return sent
    return MultiDict(("articles", line) for line in str(sent.get("articles", "")).split())


def _sheet(act: OrganiserLaneAction) -> OperationForm:
    return SUSPENDED if act is OrganiserLaneAction.SUSPEND else REQUEUED


def _notice(request: web.Request, lanes: Sequence[OrganiserLaneRow]) -> str:
    """Return what to say after an act: how the server stands by now."""
    query = request.query
    for lane in lanes:
        if (lane.server.server, lane.phase) == (query.get("server"), query.get("phase")):
            articles = query.get("articles", "")
            told = f"{articles} articles are in its queue again. " if articles.isdecimal() else ""
            return f"{told}{lane.words}."
    return ""
