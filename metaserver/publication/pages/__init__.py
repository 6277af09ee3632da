"""The pages of results packages and data packages, mounted beside those of `web`."""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web

from metaserver.base.states import Role
from metaserver.operations.context import HubContext
from metaserver.publication.pages.data import DataPages, PublicDataPages
from metaserver.publication.pages.publishing import PublishingPages
from metaserver.publication.pages.results import ResultsPages
from metaserver.web.access.roles import reserved
from metaserver.web.ui.console import ConsoleContext, Slice
from metaserver.web.ui.templates import Templates


def mount(app: web.Application, console: ConsoleContext) -> None:
    """Put the organisers' pages onto an application; the packages it makes end with it."""
    for pages in (ResultsPages(console=console), DataPages(console=console)):
        app.add_routes(reserved(Role.ORGANISER, pages.routes(), require_own=console.require_own))
        app.cleanup_ctx.append(pages.while_serving)
        console.results[pages.job_kind] = pages.path
    publishing = PublishingPages(console=console).routes()
    app.add_routes(reserved(Role.ORGANISER, publishing, require_own=console.require_own))


def _in_phase(hub: HubContext, templates: Templates) -> Sequence[web.RouteDef]:
    return PublicDataPages(hub=hub, templates=templates).routes()


PAGES = Slice(package="metaserver.publication", mount=mount, in_phase=_in_phase)
