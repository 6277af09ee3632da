"""A service's application: JSON and XML-RPC for programs, pages for people, one gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from metaserver.operations.callbacks import Callbacks
from metaserver.operations.context import HubContext
from metaserver.operations.sessions import Sessions
from metaserver.operations.sign_ins import SignIns
from metaserver.operations.table import Operation
from metaserver.web.access import auth
from metaserver.web.access.auth import UNCOUNTED
from metaserver.web.access.encodings import compressed
from metaserver.web.access.first_signin import FirstSignIn
from metaserver.web.access.headers import error_pages, without_slash
from metaserver.web.access.person_signin import PersonSignIn
from metaserver.web.access.signin import SignIn
from metaserver.web.api.callbacks_api import CallbackApi, callback_errors
from metaserver.web.api.json_api import Api, api_errors
from metaserver.web.api.openapi import Document
from metaserver.web.api.reference import ReferencePages
from metaserver.web.api.xmlrpc_api import Rpc, rpc_faults
from metaserver.web.organise import OrganiserPages
from metaserver.web.public.account import AccountPages
from metaserver.web.public.open_pages import mount_open_pages
from metaserver.web.public.sign_up import SignUpPages
from metaserver.web.team import TeamConsole
from metaserver.web.ui.assets import Assets
from metaserver.web.ui.console import Slice, open_console
from metaserver.web.ui.templates import Templates


def freshened(hub: HubContext) -> Middleware:
    """Return the middleware that takes in what was changed elsewhere before a request is served.

    It comes after the gate: who asks too much makes no process read the store.
    """

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        if not request.path.startswith(UNCOUNTED):
            await hub.reload_changes()
        return await handler(request)

    return middleware


def make_service_app(
    hub: HubContext, operations: Mapping[str, Operation], slices: Sequence[Slice]
) -> web.Application:
    """Return the application of a running service: its operations, and the pages of `slices`."""
    assets = Assets.of(*(pages.package for pages in slices))
    templates = Templates.of(assets)
    errors = [error_pages(templates), without_slash, api_errors, rpc_faults, callback_errors]
    app = web.Application(middlewares=[compressed, *errors])
    gate = auth.setup(app, Sessions.of(hub), hub.settings.web, sharers=lambda: hub.webs)
    app.middlewares.append(freshened(hub))
    app.add_routes(Api(hub=hub, operations=operations).routes())
    rpc = Rpc(
        hub=hub,
        operations=operations,
        read_token=auth.token_caller,
        count_call=auth.count_call,
    )
    app.add_routes(rpc.routes())
    app.add_routes([Document(operations).route()])
    app.add_routes(CallbackApi(callbacks=Callbacks.of(hub)).routes())
    app.add_routes(ReferencePages(operations=operations, rpc=rpc, templates=templates).routes())
    sign_in = SignIn(gate=gate, templates=templates)
    entrance = PersonSignIn(sign_in=sign_in, people=SignIns(hub))
    gate.ways = entrance.ways()
    first = FirstSignIn(hub=hub, sign_in=sign_in)
    app.add_routes([*sign_in.routes(), *entrance.routes(), *first.routes()])
    mount_open_pages(app, hub, templates, assets, slices)
    console = open_console(app, hub, templates)
    app.add_routes(SignUpPages(console=console, sign_in=sign_in, entrance=entrance).routes())
    app.add_routes(AccountPages(console=console, entrance=entrance).routes())
    app.add_routes(TeamConsole(console=console).routes())
    OrganiserPages(console=console).mount(app)
    for pages in slices:
        pages.mount(app, console)
    return app
