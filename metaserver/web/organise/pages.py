"""The addresses of the organiser console; the overview and its event stream."""

from __future__ import annotations

from aiohttp import web

from metaserver.base.states import Role
from metaserver.operations.lanes import BASELINES
from metaserver.web.access.roles import reserved
from metaserver.web.organise.alerts import AlertPages
from metaserver.web.organise.bundles import BundlePages
from metaserver.web.organise.challenges import ChallengePages
from metaserver.web.organise.control_room import ControlRoomPages
from metaserver.web.organise.corpora import CorpusPages
from metaserver.web.organise.gold import GoldPages, preview_path, set_path
from metaserver.web.organise.health import HubPages, health
from metaserver.web.organise.jobs import JobPages
from metaserver.web.organise.new_phase import NewPhasePages
from metaserver.web.organise.overview import needs, overview_of, steps
from metaserver.web.organise.phases import PhasePages, started_path
from metaserver.web.organise.servers import OrganiserServerPages
from metaserver.web.organise.sign_ups import SignUpDesk
from metaserver.web.organise.teams import OrganiserTeamPages
from metaserver.web.organise.texts import TextPages
from metaserver.web.organise.uploads import UploadPages
from metaserver.web.team.members import MemberPages
from metaserver.web.team.settings import TokenPages
from metaserver.web.ui.console import ConsolePages
from metaserver.web.ui.live import LiveParts

PARTS = "organise_parts.html"
TABS = (
    ("/organise", "Overview", False),
    ("/organise/corpora", "Corpora", True),
    ("/organise/teams", "Teams", True),
    ("/organise/servers", "Servers", False),
    ("/organise/uploads", "Uploads", False),
    ("/organise/people", "People", False),
    ("/organise/tokens", "Tokens", False),
    ("/organise/consensus", "Consensus", True),
    ("/organise/alerts", "Alerts", True),
    ("/organise/machines", "Machines", True),
    ("/organise/audit", "Audit log", True),
    ("/organise/jobs", "Jobs", False),
)
"""The console's tabs: path, name, and whether an organiser of one challenge is not shown it."""


class OrganiserPages(ConsolePages):
    """The organiser console of a service."""

    def mount(self, app: web.Application) -> None:
        """Put the console onto an application."""
        results = {"gold.set": set_path, "gold.preview": preview_path, BASELINES: started_path}
        self.console.results.update(results)
        self.console.templates.share(organiser_tabs=TABS)
        app.add_routes(self.routes())

    def routes(self) -> list[web.RouteDef]:
        """Return the console's routes: those for organisers of one challenge too, and others."""
        console = self.console
        of_one = [
            web.get("/organise", self.overview),
            web.get("/organise/events", self.events, allow_head=False),
            *ChallengePages(console=console).routes(),
            *BundlePages(console=console).routes(),
            *TextPages(console=console).routes(),
            *SignUpDesk(console=console).routes(),
            *PhasePages(console=console).routes(),
            *ControlRoomPages(console=console).routes(),
            *GoldPages(console=console).routes(),
            *OrganiserServerPages(console=console).routes(),
            *UploadPages(console=console).routes(),
            *JobPages(console=console).routes(),
            *MemberPages(console=console, of_hub=True).routes(),
            *TokenPages(console=console, of_hub=True).routes(),
        ]
        of_hub = [
            *ChallengePages(console=console).new_routes(),
            *BundlePages(console=console).new_routes(),
            *NewPhasePages(console=console).routes(),
            *CorpusPages(console=console).routes(),
            *OrganiserTeamPages(console=console).routes(),
            *AlertPages(console=console).routes(),
            *HubPages(console=console).routes(),
        ]
        return [
            *reserved(Role.ORGANISER, of_one, require_own=console.require_own),
            *reserved(Role.ORGANISER, of_hub),
        ]

    async def overview(self, request: web.Request) -> web.Response:
        """Answer with the state of the hub and its phases, and the problems that there are."""
        overview = await overview_of(self.console, request)
        return self.console.answer(
            "organise.html",
            known=overview,
            steps=steps(overview),
            needs=needs(overview),
            health=None if overview.challenge else await health(self.console, request),
        )

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Answer with the event stream of a page of the console."""
        page, console = request.query.get("page", ""), self.console
        if page == "overview":
            return await console.follow(request, "organise", lambda: self._parts(request))
        if page == "servers":
            servers = OrganiserServerPages(console=console)
            chosen = servers.chosen(request)
            key = f"organise servers {chosen.query()}"
            return await console.follow(request, key, lambda: servers.parts(request, chosen))
        if page == "watch":
            rooms = ControlRoomPages(console=console)
            return await console.follow(request, rooms.key(request), lambda: rooms.parts(request))
        if page == "jobs":
            jobs = JobPages(console=console)
            key = request.query.get("job", "")
            if key:
                return await console.follow(
                    request, f"organise job {key}", lambda: jobs.parts(request, key)
                )
            return await console.follow(request, "organise jobs", lambda: jobs.list_parts(request))
        raise web.HTTPNotFound(text="No page of that name has an event stream.")

    async def _parts(self, request: web.Request) -> LiveParts:
        overview, part = await overview_of(self.console, request), self.console.templates.part
        html = {
            "needs": part(PARTS, "needs", needs(overview)),
            "steps": part(PARTS, "steps", steps(overview)),
            "challenges": part(PARTS, "challenges", overview),
        }
        if not overview.challenge:
            html["health"] = part(PARTS, "health", await health(self.console, request))
        return LiveParts(html=html)
