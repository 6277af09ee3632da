"""Alerts to organisers: the channels that they are sent by, and the last ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from aiohttp import web

from metaserver.base.errors import RefusedError
from metaserver.operations import alerts
from metaserver.operations.alerts import AlertQuery, ChannelDetail
from metaserver.operations.table import Nothing
from metaserver.web.ui.console import ConsoleContext
from metaserver.web.ui.form_pages import FormPage, tried
from metaserver.web.ui.forms import Form, Wording

KINDS = Wording(choices=[("email", "an e-mail to"), ("webhook", "a JSON message to")])


@dataclass(frozen=True, kw_only=True)
class AlertPages:
    """The handlers for alerts and their channels."""

    console: ConsoleContext

    @cached_property
    def _new(self) -> FormPage[ChannelDetail]:
        return FormPage(
            console=self.console,
            path="/organise/alerts",
            operation=alerts.add_channel,
            fields=("kind", "address"),
            show=self._show,
            then=lambda request, created: self._show(request, created=created),
            wording={"kind": KINDS},
        )

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        path = r"/organise/alerts/{id:\d+}"
        return [
            web.get("/organise/alerts", self._show),
            self._new.route(),
            web.post(f"{path}/test", self.test),
            web.post(f"{path}/delete", self.delete),
        ]

    async def _show(
        self,
        request: web.Request,
        form: Form | None = None,
        *,
        created: ChannelDetail | None = None,
        tested: int = 0,
        refused: RefusedError | None = None,
    ) -> web.Response:
        """Answer with the channels and the last alerts; a webhook's secret is shown only once."""
        mails = bool(self.console.hub.settings.notices.smtp_host)
        form = form or self._new.form({"kind": "email" if mails else "webhook"})
        return self.console.answer(
            "organise_alerts.html",
            status=refused.refusal if refused else form.status,
            channels=await self.console.ask(request, alerts.list_channels, Nothing()),
            alerts=await self.console.ask(request, alerts.list_alerts, AlertQuery()),
            mails=mails,
            form=form,
            made=created,
            tested=tested,
            refused=str(refused or ""),
        )

    async def test(self, request: web.Request) -> web.Response:
        """Send a channel a message now, and say whether it was taken."""
        number = request.match_info["id"]
        query = self.console.submit(request, alerts.test_channel, {"channel": number})
        result = await tried(query, ("channel",))
        if isinstance(result, RefusedError):
            return await self._show(request, refused=result)
        return await self._show(request, tested=int(number))

    async def delete(self, request: web.Request) -> web.Response:
        """Delete a channel."""
        values = {"channel": request.match_info["id"]}
        result = await tried(self.console.submit(request, alerts.delete_channel, values))
        if isinstance(result, RefusedError):
            return await self._show(request, refused=result)
        raise web.HTTPSeeOther("/organise/alerts")
