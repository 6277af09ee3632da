"""Alerts to organisers: the channels that they are sent by, and the last alerts."""

from __future__ import annotations

from functools import cached_property

from aiohttp import web

from metaserver.operations import alerts
from metaserver.operations.alerts import AlertQuery, ChannelDetail
from metaserver.operations.table import Nothing
from metaserver.web.ui.console import ConsolePages
from metaserver.web.ui.form_pages import FormPage
from metaserver.web.ui.forms import Form, Wording

KINDS = Wording(choices=[("email", "an e-mail to"), ("webhook", "a JSON message to")])


class AlertPages(ConsolePages):
    """The handlers for alerts and their channels."""

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
        path = r"/organise/alerts/{channel:\d+}"
        return [
            web.get("/organise/alerts", self._show),
            self._new.route(),
            FormPage(
                console=self.console,
                path=f"{path}/test",
                operation=alerts.test_channel,
                show=self._refused,
                then=self._tested,
                shown_at=("channel",),
            ).route(),
            FormPage(
                console=self.console,
                path=f"{path}/delete",
                operation=alerts.delete_channel,
                show=self._refused,
                then="/organise/alerts",
            ).route(),
        ]

    async def _show(
        self,
        request: web.Request,
        form: Form | None = None,
        *,
        created: ChannelDetail | None = None,
        tested: int = 0,
        refused: Form | None = None,
    ) -> web.Response:
        """Answer with the channels and the last alerts; a webhook's secret is shown only once."""
        mails = bool(self.console.hub.settings.notices.smtp_host)
        form = form or self._new.form({"kind": "email" if mails else "webhook"})
        return self.console.answer(
            "organise_alerts.html",
            status=refused.status if refused else form.status,
            channels=await self.console.ask(request, alerts.list_channels, Nothing()),
            alerts=await self.console.ask(request, alerts.list_alerts, AlertQuery()),
            mails=mails,
            form=form,
            made=created,
            tested=tested,
            refused=refused.error if refused else "",
        )

    async def _tested(self, request: web.Request, _sent: object) -> web.Response:
        return await self._show(request, tested=int(request.match_info["channel"]))

    async def _refused(self, request: web.Request, refused: Form) -> web.Response:
        return await self._show(request, refused=refused)
