"""Challenges: each has a title and the time zone that its dates are told in."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
from msgspec import Meta

from metaserver.errors import Refusal, RefusedError
from metaserver.lifecycle import Role
from metaserver.operations.caller import Caller
from metaserver.operations.fields import NewName, Title
from metaserver.operations.service import Service, noted
from metaserver.operations.table import Nothing, operation
from metaserver.store import phases
from metaserver.store.phases import Challenge

YEARS = range(1970, 3000)
Zone = Annotated[str, Meta(description="The time zone its dates are told in: Europe/Madrid")]


class NewChallenge(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A challenge, or what is to change of the one of this name."""

    challenge: NewName
    title: Title = ""
    timezone: Zone = "UTC"


class ChallengeDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A challenge."""

    challenge: str
    title: str
    timezone: str


@operation("Challenges.set", "PUT /challenges/{challenge}", Role.ORGANISER)
async def set_challenge(service: Service, caller: Caller, given: NewChallenge) -> ChallengeDetail:
    """Make a challenge, or change its title and time zone."""
    _zone(given.timezone)
    async with service.store.writing() as connection:
        await phases.set_challenge(connection, given.challenge, given.title, given.timezone)
        await noted(
            connection,
            caller,
            "challenges.set",
            given.challenge,
            title=given.title,
            timezone=given.timezone,
        )
        its_phases = [
            phase for phase in await phases.every(connection) if phase.challenge == given.challenge
        ]
    for phase in its_phases:  # the dates are the same moments, told in another zone
        await service.dispatcher.take_over(phase)
    return ChallengeDetail(challenge=given.challenge, title=given.title, timezone=given.timezone)


@operation("Challenges.list", "GET /challenges", None)
async def list_challenges(
    service: Service, _caller: Caller, _given: Nothing
) -> Sequence[ChallengeDetail]:
    """Return all challenges."""
    async with service.store.reading() as connection:
        known = await phases.every_challenge(connection)
    return [
        ChallengeDetail(challenge=one.name, title=one.title, timezone=one.timezone) for one in known
    ]


async def challenge_named(service: Service, name: str) -> Challenge:
    """Return a challenge; `RefusedError` where there is none of that name."""
    async with service.store.reading() as connection:
        known = {
            challenge.name: challenge for challenge in await phases.every_challenge(connection)
        }
    if name not in known:
        message = f"there is no challenge {name!r}: make it first (challenges set)"
        raise RefusedError(Refusal.UNKNOWN, message, field="challenge")
    return known[name]


def moment_in(text: str | None, timezone: str, field: str) -> datetime | None:
    """Read a date told in a time zone (or with an offset); None where there is none."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        message = f"{text!r} is not a date such as 2026-12-01T09:00"
        raise RefusedError(Refusal.INVALID, message, field=field) from error
    if moment.year not in YEARS:  # the first and the last do not exist in every time zone
        message = f"{text!r} is not from {YEARS[0]} to {YEARS[-1]}"
        raise RefusedError(Refusal.INVALID, message, field=field)
    return moment if moment.tzinfo else moment.replace(tzinfo=_zone(timezone))


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        message = f"{name!r} is not a time zone such as Europe/Madrid"
        raise RefusedError(Refusal.INVALID, message, field="timezone") from error
