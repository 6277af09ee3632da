"""Alerts to organisers: the channels that they are sent by, and the last ones."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from metaserver.base.errors import RefusedError
from metaserver.operations import alerts
from metaserver.operations.alerts import AlertQuery, ChannelDetail, NewChannel
from metaserver.operations.table import Nothing
from metaserver.web.organise.form_helpers import OperationForm, tried
from metaserver.web.ui.console import ConsoleContext, posted
from metaserver.web.ui.forms import Form, Wording

MADE = OperationForm(
    request=NewChannel,
    names=("kind", "address"),
    wording={
        "kind": Wording(
            label="Send", choices=[("email", "an e-mail to"), ("webhook", "a JSON message to")]
        ),
        "address": Wording(
            help="An e-mail address, or the URL of a webhook. The message has a plain text, which"
            " chat services show. Of a URL, only the host is shown again."
        ),
    },
)


@dataclass(frozen=True, kw_only=True)
class AlertPages:
    """The handlers of alerts and their channels."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        one = r"/organise/alerts/{id:\d+}"
        return [
            web.get("/organise/alerts", self.show),
            web.post("/organise/alerts", self.add),
            web.post(f"{one}/test", self.test),
            web.post(f"{one}/delete", self.delete),
        ]

    async def show(self, request: web.Request) -> web.Response:
        """Answer with the channels and the last alerts."""
        mails = bool(self.console.hub.settings.notices.smtp_host)
        return await self._show(request, MADE.form({"kind": "email" if mails else "webhook"}))

    async def _show(
        self,
        request: web.Request,
        form: Form,
        *,
        made: ChannelDetail | None = None,
        tested: int = 0,
        refused: RefusedError | None = None,
        status: int = 200,
    ) -> web.Response:
        return self.console.answer(
            "organise_alerts.html",
            status=refused.refusal if refused else status,
            channels=await self.console.ask(request, alerts.list_channels, Nothing()),
            alerts=await self.console.ask(request, alerts.list_alerts, AlertQuery()),
            mails=bool(self.console.hub.settings.notices.smtp_host),
            form=form,
            made=made,
            tested=tested,
            refused=str(refused or ""),
        )

    async def add(self, request: web.Request) -> web.Response:
        """Add a channel; a webhook's secret is shown only once."""
        sent = await posted(request)
        done = await tried(self.console.submit(request, alerts.add_channel, MADE.values(sent)))
        if isinstance(done, RefusedError):
            return await self._show(request, MADE.form(sent, done), status=done.refusal)
        return await self._show(request, MADE.form(), made=done)

    async def test(self, request: web.Request) -> web.Response:
        """Send a channel a message now, and say whether it was taken."""
        number = request.match_info["id"]
        asked = self.console.submit(request, alerts.test_channel, {"channel": number})
        done = await tried(asked, ("channel",))
        if isinstance(done, RefusedError):
            return await self._show(request, MADE.form(), refused=done)
        return await self._show(request, MADE.form(), tested=int(number))

    async def delete(self, request: web.Request) -> web.Response:
        """Delete a channel."""
        values = {"channel": request.match_info["id"]}
        done = await tried(self.console.submit(request, alerts.delete_channel, values))
        if isinstance(done, RefusedError):
            return await self._show(request, MADE.form(), refused=done)
        raise web.HTTPSeeOther("/organise/alerts")
