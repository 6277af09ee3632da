"""Alerts to organisers: what was sent, and the channels that they are sent by."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import msgspec
import sqlalchemy as sa
from msgspec import Meta

from metaserver.base.errors import InputError, Refusal, RefusedError
from metaserver.base.findings import Alert, ChannelKind
from metaserver.base.states import Role
from metaserver.exchange.http.urls import check_url, shown_webhook
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.fields import GREATEST, Limit
from metaserver.operations.table import Nothing, operation
from metaserver.operations.teams import Email
from metaserver.phases.alerting import FAILURES
from metaserver.store import alerts
from metaserver.store.alerts import AlertChannel

MOST = 20  # channels


class NewChannel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A new channel."""

    kind: Annotated[
        ChannelKind, Meta(title="Send", description="A mailbox, or a URL that is posted to")
    ]
    address: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=2_000,
            description="An e-mail address, or the URL of a webhook. The message has a plain text,"
            " which chat services show. Of a URL, only the host is shown again.",
        ),
    ]


class OneChannel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A channel by its number."""

    channel: Annotated[int, Meta(ge=1, le=GREATEST, description="The channel's number")]


class ChannelDetail(msgspec.Struct, frozen=True, kw_only=True):
    """An alert channel; of a webhook, `address` shows only the host.

    `secret` signs what is posted to a webhook: it is shown only when the channel is made. `error`
    is why the last message could not be sent, or empty.
    """

    channel: int
    kind: ChannelKind
    address: str
    created_at: float
    error: str
    secret: str = ""

    @classmethod
    def of(cls, channel: AlertChannel, secret: str = "") -> ChannelDetail:
        """Return a channel's fields that organisers see."""
        webhook = channel.kind is ChannelKind.WEBHOOK
        return cls(
            channel=channel.id,
            kind=channel.kind,
            address=shown_webhook(channel.address) if webhook else channel.address,
            created_at=channel.created_at,
            error=channel.error,
            secret=secret,
        )


class AlertQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A selection of alerts."""

    limit: Limit = 50


@operation("Alerts.list", "GET /alerts", Role.ORGANISER)
async def list_alerts(hub: HubContext, _caller: Caller, request: AlertQuery) -> Sequence[Alert]:
    """Return the newest alerts to organisers: a server is down, will be late, the disk is full."""
    async with hub.store.reading() as connection:
        return await alerts.list_alerts(connection, limit=request.limit)


@operation("Channels.list", "GET /channels", Role.ORGANISER)
async def list_channels(
    hub: HubContext, _caller: Caller, _request: Nothing
) -> Sequence[ChannelDetail]:
    """Return the channels that organisers are sent alerts by."""
    async with hub.store.reading() as connection:
        return [ChannelDetail.of(channel) for channel in await alerts.list_channels(connection)]


@operation("Channels.add", "POST /channels", Role.ORGANISER)
async def add_channel(hub: HubContext, caller: Caller, request: NewChannel) -> ChannelDetail:
    """Send later alerts to an e-mail address or a webhook, too.

    Returns the secret that signs what is posted to a webhook: it is shown only once.
    """
    _check(hub, request)
    secret = secrets.token_urlsafe(32) if request.kind is ChannelKind.WEBHOOK else ""
    channel = AlertChannel(
        kind=request.kind, address=request.address, secret=secret, created_at=hub.clock()
    )
    async with hub.store.writing() as connection:
        if len(await alerts.list_channels(connection)) >= MOST:
            raise RefusedError(Refusal.STATE, f"there are {MOST} channels already: delete one")
        try:
            number = await alerts.add_channel(connection, channel)
        except sa.exc.IntegrityError as error:
            message = "alerts are sent there already"
            raise RefusedError(Refusal.STATE, message, field="address") from error
        detail = ChannelDetail.of(replace(channel, id=number), secret)
        await audit_log(
            connection,
            caller,
            "channels.add",
            str(number),
            kind=detail.kind,
            address=detail.address,
        )
    return detail


@operation("Channels.test", "POST /channels/{channel}/test", Role.ORGANISER)
async def test_channel(hub: HubContext, caller: Caller, request: OneChannel) -> None:
    """Send a channel a message now, to see that it arrives; refused with the reason if not."""
    channel = await _channel(hub, request.channel)
    try:
        await hub.notices.alerts.deliver(channel, [f"A test message, asked for by {caller.name}"])
    except FAILURES as error:
        raise RefusedError(Refusal.STATE, f"it was not sent: {error}", field="channel") from error


@operation("Channels.delete", "DELETE /channels/{channel}", Role.ORGANISER)
async def delete_channel(hub: HubContext, caller: Caller, request: OneChannel) -> None:
    """Send a channel no more alerts."""
    channel = ChannelDetail.of(await _channel(hub, request.channel))
    async with hub.store.writing() as connection:
        await alerts.delete_channel(connection, request.channel)
        await audit_log(
            connection, caller, "channels.delete", str(request.channel), address=channel.address
        )


async def _channel(hub: HubContext, number: int) -> AlertChannel:
    async with hub.store.reading() as connection:
        for channel in await alerts.list_channels(connection):
            if channel.id == number:
                return channel
    raise RefusedError(Refusal.UNKNOWN, f"there is no channel {number}", field="channel")


def _check(hub: HubContext, request: NewChannel) -> None:
    """Raise `RefusedError` for an address that nothing can be sent to."""
    if request.kind is ChannelKind.WEBHOOK:
        try:
            check_url(request.address, "address")
        except InputError as error:
            raise RefusedError(Refusal.INVALID, error.message, field="address") from error
        return
    if not hub.settings.notices.smtp_host:
        message = "this hub sends no mail: set notices.smtp_host in its config.yaml first"
        raise RefusedError(Refusal.STATE, message, field="kind")
    try:
        msgspec.convert(request.address, Email)
    except msgspec.ValidationError as error:
        message = f"{request.address[:80]!r} is not an e-mail address"
        raise RefusedError(Refusal.INVALID, message, field="address") from error
