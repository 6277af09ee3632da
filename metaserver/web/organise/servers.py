"""All servers: their state in each phase, and an organiser's actions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from aiohttp import web
from multidict import MultiDict, MultiMapping

from metaserver.base.errors import RefusedError
from metaserver.base.phases import label_of
from metaserver.base.states import PhaseState, ServerState
from metaserver.operations import lanes, servers
from metaserver.operations.conformance import TestState
from metaserver.operations.lanes import InLane, Requeue, Requeued, Suspension
from metaserver.operations.phases import PhaseDetail
from metaserver.operations.servers import LaneProgress, ServerDetail
from metaserver.operations.table import Nothing
from metaserver.web.access.refusals import in_words
from metaserver.web.organise.overview import organised_phases, phase_path
from metaserver.web.public.boards import or_400
from metaserver.web.ui.console import ConsolePages, phase_named, posted
from metaserver.web.ui.form_pages import OperationForm, tried
from metaserver.web.ui.formatting import element_id
from metaserver.web.ui.forms import Form, Wording
from metaserver.web.ui.live import LiveParts
from metaserver.web.ui.paging import Chosen, Page, first_row

PARTS = "organise_parts.html"
TESTS = {
    "test failed": TestState.FAILED,
    "not tested": TestState.NEVER,
    "test outdated": TestState.OUTDATED,
}
GIVEN_UP = "given up"
STATES = (*ServerState, GIVEN_UP, *TESTS)
"""The states that can be filtered for."""


class OrganiserLaneAction(StrEnum):
    """An organiser's action on a lane, named like the operation."""

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
"""Actions without a request; the others have a page with a form."""

SUSPENDED = OperationForm(
    request=Suspension,
    names=("reason",),
    wording={"reason": Wording(kind="long", help="Its team sees this; at most 500 characters.")},
)
REQUEUED = OperationForm(
    request=Requeue,
    names=("articles",),
    wording={
        "articles": Wording(
            kind="long", help="The ids of given-up articles, one per line; empty: all given up."
        )
    },
)


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneFilter(Chosen):
    """The lanes that are shown, as in the address."""

    phase: str = ""
    state: str = ""
    find: str = ""
    rows: int = 1  # the number of the first row of the page of the table

    def page(self, lanes: Sequence[OrganiserLaneRow]) -> tuple[Page, Sequence[OrganiserLaneRow]]:
        """Return the table's page, and its lanes."""
        matching = [lane for lane in lanes if self.shows(lane)]
        page = Page(first=self.rows, total=len(matching))
        return page, page.of(matching)

    def shows(self, lane: OrganiserLaneRow) -> bool:
        """Return whether a lane passes."""
        is_found = self.find.lower() in f"{lane.server.team or ''} {lane.server.server}".lower()
        there = self.phase in ("", lane.phase)
        return is_found and there and (not self.state or lane.is_in(self.state))


class OrganiserLaneRow(NamedTuple):
    """A server in a phase; in none until it is started."""

    server: ServerDetail
    progress: LaneProgress | None
    closed: bool
    title: str = ""  # the phase's

    @property
    def phase(self) -> str:
        """The phase's name."""
        return self.progress.phase if self.progress else ""

    @property
    def label(self) -> str:
        """How people know the phase: its title, or `phase NAME`."""
        return label_of(self.phase, self.title)

    @property
    def id(self) -> str:
        """Its row's id."""
        return element_id(element_id("lane", self.server.server), self.phase)

    @property
    def acts(self) -> Sequence[OrganiserLaneAction]:
        """The actions that are possible now."""
        if self.progress is None or self.closed or self.server.retired:
            return ()
        acts = []
        if self.progress.state != ServerState.FINISHED:
            suspended = self.progress.state == ServerState.SUSPENDED
            acts.append(OrganiserLaneAction.RESUME if suspended else OrganiserLaneAction.SUSPEND)
        if self.progress.given_up:
            acts.append(OrganiserLaneAction.REQUEUE)
        return [*acts, OrganiserLaneAction.CANCEL] if self.progress.in_flight else acts

    @property
    def tested(self) -> TestState:
        """The state of its test for this phase; without a phase its newest test."""
        tests = {tested.phase: tested.state for tested in self.server.tests}
        return tests.get(self.phase, self.server.tested)

    @property
    def untested(self) -> str:
        """The problem with its test, in words; empty if it has passed."""
        return next((words for words, state in TESTS.items() if state is self.tested), "")

    def is_in(self, state: str) -> bool:
        """Return whether the lane is in a state that can be filtered for."""
        if state in TESTS:
            return not self.server.retired and self.tested is TESTS[state]
        if self.progress is None:
            return False
        return bool(self.progress.given_up) if state == GIVEN_UP else self.progress.state == state

    @property
    def words(self) -> str:
        """Its state, in a sentence."""
        if self.progress is None:
            return f"{self.server.server} takes part in no phase yet"
        note = f" ({self.progress.note})" if self.progress.note else ""
        return f"{self.server.server} is {self.progress.state} in {self.label}{note}"

    def path(self, act: OrganiserLaneAction) -> str:
        """Return the path where an action is confirmed, or done."""
        return f"/organise/servers/{quote(self.server.server, safe='')}/{act}"


class OrganiserServerPages(ConsolePages):
    """The server handlers."""

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        path, asking = (
            "/organise/servers/{server}",
            f"{OrganiserLaneAction.SUSPEND}|{OrganiserLaneAction.REQUEUE}",
        )
        return [
            web.get("/organise/servers", self.list),
            web.get(f"{path}/{{act:{asking}}}", self.confirm),
            web.post(f"{path}/{{act:{'|'.join(OrganiserLaneAction)}}}", self.act),
        ]

    def chosen(self, request: web.Request) -> LaneFilter:
        """Return the filter of the address."""
        query = request.query
        state = query.get("state", "")
        everywhere = query.getall("phase", [""]) == [""]  # the form's choice of all phases
        return LaneFilter(
            phase="" if everywhere else phase_named(self.console, request) or "",
            state=state if state in STATES else "",
            find=query.get("find", "").strip(),
            rows=or_400(lambda: first_row(query)),
        )

    async def list(self, request: web.Request, refused: RefusedError | None = None) -> web.Response:
        """Answer with the lanes that the address filters, and why an action was refused."""
        rows, chosen = await self._lanes(request), self.chosen(request)
        listed = await organised_phases(self.console, request)
        page, lanes = chosen.page(rows)
        return self.console.answer(
            "organise_servers.html",
            status=refused.refusal if refused else 200,
            known_phases=list(reversed(listed)),
            states=STATES,
            chosen=chosen,
            total=len(rows),
            part=page,
            lanes=lanes,
            words=WORDS,
            at_once=AT_ONCE,
            notice=_notice(request, rows),
            refused=in_words(refused) if refused else "",
        )

    async def _lanes(self, request: web.Request) -> Sequence[OrganiserLaneRow]:
        registered = await self.console.ask(request, servers.list_, Nothing())
        listed = await organised_phases(self.console, request)
        return [*_lane_rows(registered, {phase.phase: phase for phase in listed})]

    async def parts(self, request: web.Request, chosen: LaneFilter) -> LiveParts:
        """Return the live parts of the page: a row a lane."""
        part = self.console.templates.part
        _, lanes = chosen.page(await self._lanes(request))
        rows = {lane.id: part(PARTS, "lane", lane, WORDS, AT_ONCE) for lane in lanes}
        return LiveParts(html=rows, lists={"lanes": list(rows)})

    # -- actions ---------------------------------------------------------------------------------

    async def confirm(self, request: web.Request) -> web.Response:
        """Ask for an action's request: a reason, articles."""
        act = OrganiserLaneAction(request.match_info["act"])
        lane = await self._lane(request, request.query.get("phase", ""))
        return self._confirm(lane, act, _form_of(act).form(), request.query.get("back", ""))

    def _confirm(
        self,
        lane: OrganiserLaneRow,
        act: OrganiserLaneAction,
        form: Form,
        back: str,
    ) -> web.Response:
        """Answer with an action's form; `back` is "watch" if the control room led here."""
        return self.console.answer(
            "organise_server_act.html",
            status=form.status,
            lane=lane,
            act=act,
            form=form,
            back="watch" if back == "watch" else "",
        )

    async def _lane(self, request: web.Request, phase: str) -> OrganiserLaneRow:
        for lane in await self._lanes(request):
            if (lane.server.server, lane.phase) == (request.match_info["server"], phase):
                return lane
        raise web.HTTPNotFound(text="No server of that name takes part in this phase.")

    async def act(self, request: web.Request) -> web.Response:
        """Suspend, resume, ...: then show how the server stands, or why it was refused."""
        act, submitted = OrganiserLaneAction(request.match_info["act"]), await posted(request)
        lane = await self._lane(request, str(submitted.get("phase", "")))
        outcome = await tried(self._do(request, lane, act, submitted), ("article",))
        if not isinstance(outcome, RefusedError):
            query = {"server": lane.server.server, "phase": lane.phase, "act": act.value}
            if isinstance(outcome, Requeued):
                query["articles"] = str(outcome.articles)
            if submitted.get("back") == "watch":
                raise web.HTTPSeeOther(f"{phase_path(lane.phase)}/watch")
            raise web.HTTPSeeOther(f"/organise/servers?{urlencode(query)}")
        if act in AT_ONCE:
            return await self.list(request, outcome)
        at = "articles" if outcome.field == "article" else outcome.field
        refused = RefusedError(outcome.refusal, outcome.message, field=at)
        form, back = _form_of(act).form(submitted, refused), str(submitted.get("back", ""))
        return self._confirm(lane, act, form, back)

    async def _do(
        self,
        request: web.Request,
        lane: OrganiserLaneRow,
        act: OrganiserLaneAction,
        submitted: MultiMapping[Any],
    ) -> ServerDetail | Requeued:
        server, phase = lane.server.server, lane.phase
        values = {} if act in AT_ONCE else _form_of(act).values(_by_line(submitted, act))
        values |= {"server": server, "phase": phase}
        match act:
            case OrganiserLaneAction.SUSPEND:
                return await self.console.submit(request, lanes.suspend, values)
            case OrganiserLaneAction.REQUEUE:
                return await self.console.submit(request, lanes.requeue, values)
            case OrganiserLaneAction.RESUME:
                query = InLane(server=server, phase=phase)
                return await self.console.ask(request, lanes.resume, query)
            case OrganiserLaneAction.CANCEL:
                query = InLane(server=server, phase=phase)
                return await self.console.ask(request, lanes.cancel, query)


def _lane_rows(
    registered: Sequence[ServerDetail], phases: Mapping[str, PhaseDetail]
) -> Iterator[OrganiserLaneRow]:
    for server in sorted(
        registered, key=lambda server: (server.retired, server.team or "", server.server)
    ):
        for progress in reversed(server.phases):
            phase = phases.get(progress.phase)
            closed = phase is not None and phase.state is PhaseState.CLOSED
            yield OrganiserLaneRow(server, progress, closed, phase.title if phase else "")
        if not server.phases:
            yield OrganiserLaneRow(server, None, closed=False)


def _by_line(submitted: MultiMapping[Any], act: OrganiserLaneAction) -> MultiMapping[Any]:
    """Return a form in which article ids are one per line."""
    if act is not OrganiserLaneAction.REQUEUE:
        return submitted
    return MultiDict(("articles", line) for line in str(submitted.get("articles", "")).split())


def _form_of(act: OrganiserLaneAction) -> OperationForm:
    return SUSPENDED if act is OrganiserLaneAction.SUSPEND else REQUEUED


def _notice(request: web.Request, rows: Sequence[OrganiserLaneRow]) -> str:
    """Return the notice after an action: the server's state by now."""
    query = request.query
    for lane in rows:
        if (lane.server.server, lane.phase) == (query.get("server"), query.get("phase")):
            articles = query.get("articles", "")
            queued = f"{articles} articles are in its queue again. " if articles.isdecimal() else ""
            return f"{queued}{lane.words}."
    return ""
