"""What a service serves: JSON and XML-RPC for programs, pages for people, one gate before all."""

from __future__ import annotations

from aiohttp import web

from metaserver.operations.catalogue import OPERATIONS
from metaserver.operations.service import Service
from metaserver.web.access import auth
from metaserver.web.access.headers import add_headers, error_pages
from metaserver.web.access.signin import SignIn
from metaserver.web.api.json_api import Api, api_errors
from metaserver.web.api.openapi import Document
from metaserver.web.api.reference import ReferencePages
from metaserver.web.api.xmlrpc_api import Rpc, rpc_faults
from metaserver.web.organise import OrganiserPages
from metaserver.web.public.open_pages import mount_open_pages
from metaserver.web.team import TeamPages
from metaserver.web.ui.assets import Assets
from metaserver.web.ui.console import open_desk
from metaserver.web.ui.templates import Templates


def make_service_app(service: Service) -> web.Application:
    """Return the application of a running service."""
    assets = Assets()
    templates = Templates(assets)
    app = web.Application(middlewares=[error_pages(templates), api_errors, rpc_faults])
    gate = auth.setup(app, service.store, service.settings.web)
    app.add_routes(Api(service=service, operations=OPERATIONS).routes())
    rpc = Rpc(
        service=service,
        operations=OPERATIONS,
        read_token=auth.token_caller,
        count_call=auth.count_call,
    )
    app.add_routes(rpc.routes())
    app.add_routes([Document(OPERATIONS).route()])
    app.add_routes(ReferencePages(operations=OPERATIONS, rpc=rpc, templates=templates).routes())
    app.add_routes(SignIn(gate=gate, templates=templates).routes())
    mount_open_pages(app, service, templates)
    desk = open_desk(app, service, templates)
    app.add_routes(TeamPages(desk=desk).routes())
    OrganiserPages(desk=desk).mount(app)
    app.router.add_get(f"{assets.prefix}/{{name}}", assets.serve)
    app.on_response_prepare.append(add_headers)
    return app
