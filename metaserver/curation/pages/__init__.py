"""The curators' pages: articles are asked about, candidates decided, decisions taken away."""

from __future__ import annotations

from aiohttp import web

from metaserver.base.states import Role
from metaserver.curation.operations import consensus_models
from metaserver.curation.pages.asking import AskingPages
from metaserver.curation.pages.consensus import PATH, ConsensusPages
from metaserver.curation.pages.desk import DeskPages
from metaserver.curation.pages.request_events import CurationFiles, RequestEvents
from metaserver.curation.pages.sets import SetPages
from metaserver.web.access.roles import reserved
from metaserver.web.ui.console import ConsoleContext, Slice


def mount(app: web.Application, console: ConsoleContext) -> None:
    """Put the curators' pages, and the organisers' of consensus models, onto an application."""
    RequestEvents(hub=console.hub).mount(app)
    app.add_routes(CurationFiles(hub=console.hub).routes())
    for pages in (
        AskingPages(console=console),
        SetPages(console=console),
        DeskPages(console=console),
    ):
        app.add_routes(reserved(Role.CURATOR, pages.routes()))
    app.add_routes(reserved(Role.ORGANISER, ConsensusPages(console=console).routes()))
    console.results[consensus_models.KIND] = lambda _job: PATH


PAGES = Slice(package="metaserver.curation", mount=mount)
