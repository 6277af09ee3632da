"""Challenges: each has a title and a time zone for its dates."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.phases import DAY, Challenge, SignUpMode
from metaserver.base.states import Role
from metaserver.base.zones import known_zone, read_moment
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.fields import NAME_HELP, NewName, Title
from metaserver.operations.table import Nothing, Scope, operation
from metaserver.store import phases, sign_ups

MOST_ABOUT = 500

Zone = Annotated[
    str,
    Meta(
        max_length=100,
        title="Time zone",
        description="The zone of its dates, such as Europe/Madrid or UTC. Dates that are set"
        " already stay the same moments.",
    ),
]


class NewChallenge(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A challenge, or the new title and time zone for an existing challenge."""

    challenge: Annotated[
        NewName,
        Meta(
            title="Name",
            description="Its name in addresses and files, which cannot be changed later:"
            f" {NAME_HELP}",
        ),
    ]
    title: Annotated[Title, Meta(description="Its full title, such as “BioCreative 2026”")] = ""
    timezone: Zone = "UTC"


class ChallengeDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A challenge; `about` is the first paragraph of its description, in Markdown.

    For organisers, `waiting` counts the sign-ups that wait for approval, and `automatic` the teams
    that came in without an organiser in the last 24 hours.
    """

    challenge: str
    title: str
    timezone: str
    about: str = ""
    sign_up: SignUpMode = SignUpMode.CLOSED
    waiting: int = 0
    automatic: int = 0


@operation("Challenges.set", "PUT /challenges/{challenge}", Role.ORGANISER, scope=Scope.CHALLENGE)
async def set_challenge(hub: HubContext, caller: Caller, request: NewChallenge) -> ChallengeDetail:
    """Create a challenge, or change its title and time zone."""
    _require_zone(request.timezone)
    async with hub.store.writing() as connection:
        await phases.set_challenge(connection, request.challenge, request.title, request.timezone)
        await audit_log(
            connection,
            caller,
            "challenges.set",
            request.challenge,
            title=request.title,
            timezone=request.timezone,
        )
        its_phases = [
            phase
            for phase in await phases.list_all(connection)
            if phase.challenge == request.challenge
        ]
    for phase in its_phases:  # the dates are the same moments, shown in another zone
        await hub.phases.scheduler.take_over(phase)
    return ChallengeDetail(
        challenge=request.challenge, title=request.title, timezone=request.timezone
    )


@operation("Challenges.list", "GET /challenges", None)
async def list_challenges(
    hub: HubContext, caller: Caller, _request: Nothing
) -> Sequence[ChallengeDetail]:
    """Return all challenges; to organisers also those that are not announced yet."""
    async with hub.store.reading() as connection:
        challenges_stored = await phases.list_challenges(connection)
        now = hub.clock()
        waiting: dict[str, int] = {}
        entered: dict[str, int] = {}
        if caller.organiser or caller.challenge is not None:
            waiting = await sign_ups.count_waiting(connection)
            entered = await sign_ups.count_automatic(connection, now - DAY)
    return [
        ChallengeDetail(
            challenge=challenge.name,
            title=challenge.title,
            timezone=challenge.timezone,
            about=first_paragraph(challenge.page.description),
            sign_up=challenge.page.sign_up,
            waiting=waiting.get(challenge.name, 0) if caller.organises(challenge.name) else 0,
            automatic=entered.get(challenge.name, 0) if caller.organises(challenge.name) else 0,
        )
        for challenge in challenges_stored
        if caller.organises(challenge.name) or not challenge.is_embargoed(now)
    ]


def first_paragraph(text: str) -> str:
    r"""Return the first paragraph of a Markdown text that is no heading, cut at `MOST_ABOUT`.

    >>> first_paragraph("# Why\n\nFind the proteins that interact.\n\nTeams run a server.")
    'Find the proteins that interact.'
    """
    blocks = (block.strip() for block in text.split("\n\n"))
    return next((block for block in blocks if block and block[0] != "#"), "")[:MOST_ABOUT]


async def seen_challenge(hub: HubContext, caller: Caller, name: str) -> Challenge:
    """Return a challenge that the caller may know; else `RefusedError`."""
    async with hub.store.reading() as connection:
        challenge = await phases.get_challenge(connection, name)
    if challenge is None or (challenge.is_embargoed(hub.clock()) and not caller.organiser):
        raise RefusedError(Refusal.UNKNOWN, f"there is no challenge {name!r}", field="challenge")
    return challenge


async def challenge_named(hub: HubContext, name: str) -> Challenge:
    """Return a challenge by name; else `RefusedError`."""
    async with hub.store.reading() as connection:
        challenge = await phases.get_challenge(connection, name)
    if challenge is None:
        message = f"there is no challenge {name!r}: create it first (challenges set)"
        raise RefusedError(Refusal.UNKNOWN, message, field="challenge")
    return challenge


def moment_in(text: str | None, timezone: str, field: str) -> datetime | None:
    """Read a date in a time zone (or with its own offset); None for None.

    Example: "2026-05-01T12:00" in Europe/Madrid is 10:00 UTC.
    """
    if not text:
        return None
    try:
        return read_moment(text, timezone)
    except ValueError as error:
        raise RefusedError(Refusal.INVALID, str(error), field=field) from error


def _require_zone(name: str) -> None:
    if known_zone(name) is None:
        message = f"{name!r} is not a time zone such as Europe/Madrid"
        raise RefusedError(Refusal.INVALID, message, field="timezone")
