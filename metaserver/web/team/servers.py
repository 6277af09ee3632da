"""A server's own page; programs to start from; registering, changing, calling back, retiring."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

from aiohttp import web

from annotators.starter import KITS, server_text
from metaserver.base.errors import RefusedError
from metaserver.base.records import ServerSettings
from metaserver.base.states import OPEN_STATES
from metaserver.exchange.protocols.installed import installed_protocols
from metaserver.operations import attempts, callbacks, conformance, lanes, servers
from metaserver.operations.attempts import AttemptQuery
from metaserver.operations.callbacks import CallbackKey
from metaserver.operations.conformance import ServerTest
from metaserver.operations.lanes import InLane, QueueDetail
from metaserver.operations.servers import ServerDetail
from metaserver.tasks.plugin import answered_tasks
from metaserver.web.access.refusals import in_words
from metaserver.web.access.visitor import caller_of
from metaserver.web.public.groups import Group, grouped
from metaserver.web.team import view
from metaserver.web.team.view import Card, RefusedAction, named_scope, one_card, scope_of
from metaserver.web.ui.console import (
    AskedOperation,
    ConsoleContext,
    ConsolePages,
    phase_named,
    posted,
    redisplayed,
)
from metaserver.web.ui.form_pages import FormPage
from metaserver.web.ui.forms import Form, Wording
from metaserver.web.ui.live import LiveParts

ONE = "/team/servers/{server}"
CHANGED = (
    *ServerSettings.__struct_fields__,
    "auth",
    "auth_name",
    "secret",
    "certificate",
)
REGISTERED = ("server", *CHANGED, "serves_curators")
GROUPED = 1_000
"""How many of the newest attempts are searched for problems."""


def wording() -> dict[str, Wording]:
    """Return the choices of the forms, in words."""
    return {
        "tasks": Wording(
            choices=[(name, f"{name} – {task.title}") for name, task in answered_tasks().items()],
        ),
        "protocol": Wording(
            choices=[(name, protocol.title) for name, protocol in installed_protocols().items()],
        ),
        "encoding": Wording(choices=[("utf-8", "UTF-8"), ("ascii", "ASCII")]),
        "auth": Wording(
            choices=[
                ("none", "None"),
                ("basic", "User and password (basic)"),
                ("bearer", "Bearer token"),
                ("header", "Header"),
                ("query", "Parameter of the address"),
                ("body", "Part of the body"),
            ],
        ),
    }


class TeamServerPages(ConsolePages):
    """The handlers of a server's pages."""

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return [
            *self._form(
                "/team/register", servers.register, REGISTERED, self._register, self._registered
            ).routes(),
            web.post("/team/register/look", self.look),
            web.get("/team/servers/{server}", self.server),
            *self._form(
                f"{ONE}/edit",
                servers.update,
                CHANGED,
                partial(self._answer, "team_edit.html"),
                _path,
                self._known,
            ).routes(),
            *self._form(
                f"{ONE}/retire",
                servers.retire,
                (),
                partial(self._answer, "team_retire.html"),
                self._list,
            ).routes(),
            web.post(f"{ONE}/curators", self.curators),
            *self._form(
                f"{ONE}/callbacks",
                callbacks.callback_key,
                (),
                self._callbacks,
                lambda request, created: self._callbacks(request, Form(fields=()), created),
            ).routes(),
            web.get("/team/snippets", self.snippets),
        ]

    def _form(
        self,
        path: str,
        operation: AskedOperation[Any, Any],
        fields: Sequence[str],
        show: Callable[[web.Request, Form], Awaitable[web.Response]],
        then: Callable[[web.Request, Any], Awaitable[web.Response | str]],
        values: Callable[[web.Request], Awaitable[Mapping[str, Any]]] | None = None,
    ) -> FormPage[Any]:
        return FormPage(
            console=self.console,
            path=path,
            operation=operation,
            fields=fields,
            show=show,
            then=then,
            values=values,
            wording=wording(),
        )

    async def server(self, request: web.Request) -> web.Response:
        """Answer with a server's page."""
        card = await one_card(self.console, request, request.match_info["server"])
        return await shown_server(self.console, request, card)

    async def _register(self, request: web.Request, form: Form) -> web.Response:
        scope = await scope_of(self.console, request)
        return self.console.answer("team_register.html", status=form.status, scope=scope, form=form)

    async def look(self, request: web.Request) -> web.Response:
        """Answer with a line about the server at an address that is being typed."""
        form = await posted(request)
        values = {"url": form.get("url", ""), "protocol": form.get("protocol", "xmlrpc")}
        try:
            seen = await self.console.submit(request, servers.look, values)
        except RefusedError as error:
            return web.Response(text=in_words(redisplayed(error)))
        return web.Response(text=f"It {seen.message}" if seen.answers else seen.message)

    async def _registered(self, request: web.Request, server: ServerDetail) -> str:
        """Lead to a new server's page, or (`?then=test`) begin its test and lead to that."""
        path = await _path(request, server)
        if request.query.get("then") != "test":
            return path
        query = ServerTest(server=server.server)
        phase = (await self.console.ask(request, conformance.get_status, query)).phase or None
        query = ServerTest(server=server.server, phase=phase)
        try:
            await self.console.ask(request, conformance.test, query)
        except RefusedError:
            return path  # its page says why, when the test is begun there
        return f"{path}/test"

    async def _known(self, request: web.Request) -> Mapping[str, Any]:
        card = await one_card(self.console, request, request.match_info["server"])
        return {name: getattr(card.server, name) for name in CHANGED}

    async def _answer(self, template: str, request: web.Request, form: Form) -> web.Response:
        card = await one_card(self.console, request, request.match_info["server"])
        scope = await scope_of(self.console, request, card.server.team)
        return self.console.answer(template, status=form.status, scope=scope, card=card, form=form)

    async def curators(self, request: web.Request) -> web.Response:
        """Agree that curators' requests are sent to a server, or withdraw that."""
        name, submitted = request.match_info["server"], await posted(request)
        values = {"server": name, "serve": "serve" in submitted}
        try:
            detail = await self.console.submit(request, servers.serve_curators, values)
        except RefusedError as error:
            refused = redisplayed(error)
            card = await one_card(self.console, request, name)
            refusal = RefusedAction(server=name, act="curators", text=in_words(refused))
            return await shown_server(self.console, request, card, refusal, refused.refusal)
        raise web.HTTPSeeOther(Card.of(detail, ()).path)

    async def _list(self, request: web.Request, _retired: None) -> str:
        card = await one_card(self.console, request, request.match_info["server"])
        scope = await scope_of(self.console, request, card.server.team)
        return scope.link("/team/servers")

    async def _callbacks(
        self, request: web.Request, form: Form, new_key: CallbackKey | None = None
    ) -> web.Response:
        """Answer with what the key is for; it is shown once, on a page that is not cached."""
        card = await one_card(self.console, request, request.match_info["server"])
        return self.console.answer(
            "team_callbacks.html",
            status=form.status,
            scope=await scope_of(self.console, request, card.server.team),
            card=card,
            made=new_key,
            refused=form.error,
        )

    async def snippets(self, request: web.Request) -> web.Response:
        """Answer with the programs to start a server from."""
        scope = await named_scope(self.console, request)
        return self.console.answer(
            "team_snippets.html", scope=scope, kits=KITS, server_text=_server_text
        )


async def _path(_request: web.Request, changed: ServerDetail) -> str:
    return Card.of(changed, ()).path


async def shown_server(
    console: ConsoleContext,
    request: web.Request,
    card: Card,
    refused: RefusedAction | None = None,
    status: int = 200,
) -> web.Response:
    """Answer with a server's page; `refused` is shown next to its button."""
    phase = phase_named(console, request)
    queues, groups = await asyncio.gather(
        _queues(console, request, card), _errors(console, request, card)
    )
    return console.answer(
        "team_server.html",
        status=status,
        scope=await scope_of(console, request, card.server.team),
        view=view,
        card=card,
        queues=queues,
        groups=groups,
        refused=refused,
        notice=f"{card.state_words(phase)}." if phase and refused is None else "",
    )


async def server_parts(console: ConsoleContext, request: web.Request, name: str) -> LiveParts:
    """Return the live parts of a server's page."""
    card = await one_card(console, request, name)
    part = console.templates.part
    queues, groups = await asyncio.gather(
        _queues(console, request, card), _errors(console, request, card)
    )
    return LiveParts(
        html={
            card.id("facts"): part("team_parts.html", "facts", card),
            card.id("lanes"): part("team_parts.html", "lanes", card, view),
            card.id("to-test"): part("team_parts.html", "to_test", card),
            "went-wrong": part("team_parts.html", "went_wrong", card, groups),
            "queues": part("team_parts.html", "queues", card, queues),
        }
    )


async def _queues(
    console: ConsoleContext, request: web.Request, card: Card
) -> Sequence[QueueDetail]:
    """Return the server's queues in the phases if articles are sent."""
    return [
        await console.ask(
            request, lanes.queue, InLane(server=card.server.server, phase=row.phase.phase)
        )
        for row in card.rows
        if row.progress is not None and row.phase.state in OPEN_STATES
    ]


async def _errors(
    console: ConsoleContext, request: web.Request, card: Card
) -> Sequence[tuple[str, Sequence[Group]]]:
    """Return what went wrong in each phase, the same things together."""
    by_phase = []
    for row in card.rows:
        if row.progress is None:
            continue
        query = AttemptQuery(server=card.server.server, phase=row.phase.phase, limit=GROUPED)
        newest = await console.ask(request, attempts.attempts, query)
        by_phase.append((row.phase.phase, await caller_of(request).aside(grouped, newest)))
    return by_phase


_server_text = cache(server_text)
