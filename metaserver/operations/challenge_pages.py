"""Challenge pages: their texts in Markdown, their embargo, and announcements."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.phases import Challenge, ChallengePage, SignUpMode
from metaserver.base.states import Role
from metaserver.base.structs import convert
from metaserver.base.zones import shown_name, to_zone
from metaserver.operations.caller import Caller
from metaserver.operations.challenges import moment_in, seen_challenge
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.fields import ChallengeField, OneChallenge, Title
from metaserver.operations.table import Scope, operation
from metaserver.phases.notifications import tell_teams
from metaserver.store import phases
from metaserver.store.tokens import digest

SHOWN = 50
"""The most announcements that are returned: the newest."""

Long: TypeAlias = Annotated[str, Meta(max_length=50_000)]


def _text(about: str) -> Meta:
    return Meta(description=f"{about}, in Markdown")


Version: TypeAlias = Annotated[
    str, Meta(max_length=40, description="The version of the terms: a new one for each change")
]
Announced: TypeAlias = Annotated[
    str,
    Meta(
        max_length=64,
        description="Until then only organisers see the challenge: 2026-12-01T09:00; none: at once",
    ),
]
Mode: TypeAlias = Annotated[SignUpMode, Meta(description="How teams sign up")]
Code: TypeAlias = Annotated[
    str, Meta(pattern=r"^(\S{8,100})?$(?!\n)", description="The invitation code: 8 to 100 letters")
]


class ChallengeEdit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Changes to a challenge's page, and to how teams sign up."""

    challenge: ChallengeField
    description: Annotated[Long, _text("What the challenge is about")] | None = None
    evaluation: Annotated[Long, _text("The task, and how runs are scored")] | None = None
    rules: Annotated[Long, _text("The rules")] | None = None
    data: Annotated[Long, _text("The data that teams are given")] | None = None
    kits: Annotated[Long, _text("Links to baselines and starter kits")] | None = None
    contact: Annotated[Long, _text("How to reach the organisers")] | None = None
    announced: Announced | None = None
    sign_up: Mode | None = None
    code: Code | None = None
    terms: Annotated[Long, _text("The terms that who signs up accepts")] | None = None
    terms_version: Version | None = None


class ChallengeTexts(ChallengePage, frozen=True, kw_only=True):
    """A challenge's page: its texts are Markdown.

    `announced` is ISO 8601 with offset, in the challenge's zone; empty: announced at once.
    `pictures`: names of those that texts can show, from its bundle.
    """

    challenge: str
    title: str
    timezone: str
    announced: datetime | None
    pictures: tuple[str, ...] = ()


class NewAnnouncement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message to everybody who reads the challenge's page, and to its teams."""

    challenge: ChallengeField
    title: Annotated[str, Meta(min_length=1, max_length=200, description="What it says, in short")]
    text: Annotated[Long, _text("The message")] = ""


class AnnouncementDetail(msgspec.Struct, frozen=True, kw_only=True):
    """An announcement; `text` is Markdown, `at` is in Unix seconds."""

    challenge: str
    at: float
    title: Title
    text: str


@operation("Challenges.get", "GET /challenges/{challenge}", None, scope=Scope.CHALLENGE)
async def get(hub: HubContext, caller: Caller, request: OneChallenge) -> ChallengeTexts:
    """Return a challenge's page."""
    return await _texts(hub, await seen_challenge(hub, caller, request.challenge))


@operation(
    "Challenges.edit", "PATCH /challenges/{challenge}", Role.ORGANISER, scope=Scope.CHALLENGE
)
async def edit(hub: HubContext, caller: Caller, request: ChallengeEdit) -> ChallengeTexts:
    """Change a challenge's page, when it is announced, and how teams sign up.

    The command reads a text that begins with @ from that file: `--description @about.md`.
    """
    before = await seen_challenge(hub, caller, request.challenge)
    page_fields = {
        name: value
        for name in ChallengePage.__struct_fields__
        if (value := getattr(request, name)) is not None
    }
    page = msgspec.structs.replace(before.page, **page_fields)
    values: dict[str, object] = {"page": page}
    if request.announced is not None:
        at = moment_in(request.announced, before.timezone, "announced")
        values["announced_at"] = at.timestamp() if at else None
    if request.code is not None:
        values["code"] = digest(request.code) if request.code else None
    _check(page, bool(values.get("code", before.code)))
    async with hub.store.writing() as connection:
        await phases.change_challenge(connection, before.name, **values)
        changed = [
            *page_fields,
            *(name for name in ("announced", "code") if getattr(request, name)),
        ]
        await audit_log(connection, caller, "challenges.edit", before.name, changed=changed)
    await _take_over(hub, before.name)
    return await _texts(hub, await seen_challenge(hub, caller, before.name))


@operation(
    "Challenges.announce",
    "POST /challenges/{challenge}/announcements",
    Role.ORGANISER,
    scope=Scope.CHALLENGE,
)
async def announce(hub: HubContext, caller: Caller, request: NewAnnouncement) -> AnnouncementDetail:
    """Announce something: on the challenge's page, in the team consoles, by mail and webhook.

    Mail and webhooks go to the teams that have turned them on, with their other notices.
    """
    challenge = await seen_challenge(hub, caller, request.challenge)
    now = hub.clock()
    if challenge.is_embargoed(now):
        title = challenge.title or f"challenge {challenge.name}"
        message = f"{title} is not announced yet: change that first"
        raise RefusedError(Refusal.STATE, message, field="challenge")
    async with hub.store.writing() as connection:
        await phases.add_announcement(connection, challenge.id, now, request.title, request.text)
        await tell_teams(connection, hub.settings.notices, challenge, now, request.title)
        await audit_log(
            connection, caller, "challenges.announce", challenge.name, title=request.title
        )
    return convert(request, AnnouncementDetail, at=now)


@operation(
    "Challenges.announcements",
    "GET /challenges/{challenge}/announcements",
    None,
    scope=Scope.CHALLENGE,
)
async def list_announcements(
    hub: HubContext, caller: Caller, request: OneChallenge
) -> Sequence[AnnouncementDetail]:
    """Return a challenge's announcements, newest first."""
    challenge = await seen_challenge(hub, caller, request.challenge)
    async with hub.store.reading() as connection:
        newest = await phases.newest_announcements(connection, challenge.id, SHOWN)
    return [convert(news, AnnouncementDetail, challenge=challenge.name) for news in newest]


async def _texts(hub: HubContext, challenge: Challenge) -> ChallengeTexts:
    async with hub.store.reading() as connection:
        pictures = tuple(await phases.picture_names(connection, challenge.id))
    zone = shown_name(challenge.timezone)
    at = challenge.announced_at
    return convert(
        challenge.page,
        ChallengeTexts,
        challenge=challenge.name,
        title=challenge.title,
        timezone=zone,
        announced=None if at is None else to_zone(datetime.fromtimestamp(at, UTC), zone),
        pictures=pictures,
    )


def _check(page: ChallengePage, has_code: bool) -> None:
    if page.sign_up is SignUpMode.CODE and not has_code:
        message = "is needed where teams sign up with one"
        raise RefusedError(Refusal.INVALID, message, field="code")
    if page.terms and not page.terms_version:
        message = "is needed, so that it is known which terms were accepted"
        raise RefusedError(Refusal.INVALID, message, field="terms_version")


async def _take_over(hub: HubContext, challenge: str) -> None:
    async with hub.store.reading() as connection:
        stored_phases = await phases.list_all(connection)
    for phase in stored_phases:
        if phase.challenge == challenge:
            await hub.phases.scheduler.take_over(phase)
