"""The addresses of the organiser console; the overview and its event stream."""

from __future__ import annotations

from dataclasses import dataclass, field

from aiohttp import web

from metaserver.model.states import Role
from metaserver.web.access.roles import reserved
from metaserver.web.organise.audit import AuditPage
from metaserver.web.organise.challenges import ChallengePages
from metaserver.web.organise.corpora import CorpusPages
from metaserver.web.organise.exports import ExportPages
from metaserver.web.organise.gold import GoldPages
from metaserver.web.organise.health import health
from metaserver.web.organise.jobs import JobPages
from metaserver.web.organise.outlook import needs, outlook, steps
from metaserver.web.organise.phases import PhasePages
from metaserver.web.organise.servers import ServerPages
from metaserver.web.organise.teams import TeamPages
from metaserver.web.organise.tokens import TokenPages
from metaserver.web.organise.uploads import UploadPages
from metaserver.web.ui.console import Desk
from metaserver.web.ui.live import Parts

PARTS = "organise_parts.html"


@dataclass(frozen=True, kw_only=True)
class OrganiserPages:
    """The organiser console of a service."""

    desk: Desk
    exports: ExportPages = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "exports", ExportPages.of(self.desk))

    def mount(self, app: web.Application) -> None:
        """Put the console onto an application; what it exports ends with it."""
        app.add_routes(self.routes())
        app.cleanup_ctx.append(self.exports.while_serving)

    def routes(self) -> list[web.RouteDef]:
        """Return the console's routes: all of them are for organisers alone."""
        desk = self.desk
        known = [
            web.get("/organise", self.overview),
            web.get("/organise/events", self.events, allow_head=False),
            *ChallengePages(desk=desk).routes(),
            *PhasePages(desk=desk).routes(),
            *GoldPages(desk=desk).routes(),
            *CorpusPages(desk=desk).routes(),
            *TeamPages(desk=desk).routes(),
            *TokenPages(desk=desk).routes(),
            *ServerPages(desk=desk).routes(),
            *UploadPages(desk=desk).routes(),
            *AuditPage(desk=desk).routes(),
            *JobPages(desk=desk).routes(),
            *self.exports.routes(),
        ]
        return reserved(Role.ORGANISER, known)

    async def overview(self, request: web.Request) -> web.Response:
        """Answer with how the hub and its phases are, and what needs a look."""
        known = await outlook(self.desk, request)
        return self.desk.answer(
            "organise.html",
            known=known,
            steps=steps(known),
            needs=needs(known),
            health=await health(self.desk, request),
        )

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Answer with the event stream of a page of the console."""
        page, desk = request.query.get("page", ""), self.desk
        if page == "overview":
            return await desk.follow(request, "organise", lambda: self._parts(request))
        if page == "servers":
            servers = ServerPages(desk=desk)
            wanted = servers.wanted(request)
            key = f"organise servers {wanted.query()}"
            return await desk.follow(request, key, lambda: servers.parts(request, wanted))
        if page == "export":
            return await desk.follow(request, "organise export", self.exports.parts)
        if page == "jobs":
            jobs = JobPages(desk=desk)
            key = request.query.get("job", "")
            if key:
                return await desk.follow(
                    request, f"organise job {key}", lambda: jobs.parts(request, key)
                )
            return await desk.follow(request, "organise jobs", lambda: jobs.list_parts(request))
        raise web.HTTPNotFound(text="No page of that name has an event stream.")

    async def _parts(self, request: web.Request) -> Parts:
        known, part = await outlook(self.desk, request), self.desk.templates.part
        return Parts(
            html={
                "health": part(PARTS, "health", await health(self.desk, request)),
                "needs": part(PARTS, "needs", needs(known)),
                "steps": part(PARTS, "steps", steps(known)),
                "challenges": part(PARTS, "challenges", known),
            }
        )
