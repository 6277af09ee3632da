"""Who uses the hub, and how each is shown: tokens, viewers, anonymous names, the audit log."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

import msgspec

from metaserver.base.records import TeamName
from metaserver.base.states import Role


@dataclass(frozen=True, kw_only=True, slots=True)
class Viewer:
    """The person a board is shown to: a team, an organiser, or (the default) anybody."""

    team: str = ""
    organiser: bool = False

    def owns(self, team: str | None) -> bool:
        """Return whether the viewer sees all that is this team's, as its member or an organiser."""
        return self.organiser or (bool(self.team) and self.team == team)


ANYBODY = Viewer()


# -- tokens and sessions, without their secrets ----------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Person:
    """A person with an account. `email` was verified; empty: its provider says none."""

    id: int
    email: str = ""
    name: str = ""
    orcid: str = ""
    created_at: float = 0.0

    @property
    def shown(self) -> str:
        """The name on pages."""
        return self.name or self.email or f"person {self.id}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Token:
    """A stored token, without the token itself. Times are Unix seconds.

    `parent` is the issuing token's id; None if issued at the command line. A token with a `person`
    is a membership: its secret is nobody's, and only the sessions of that person use it. `owner`:
    the person also decides who belongs to the team. `challenge`: an organiser is that of this
    challenge alone, whose title is `challenge_title`.
    """

    id: int
    role: Role
    team: TeamName | None
    team_id: int | None
    label: str
    created_at: float
    expires_at: float | None = None
    used_at: float | None = None
    revoked_at: float | None = None
    parent: int | None = None
    person: int | None = None
    owner: bool = False
    challenge: str | None = None
    challenge_title: str = ""

    @property
    def bearer(self) -> str:
        """The token holder's name in the audit log: "team blue", "organiser ana", "person 7 Ana,
        organiser of challenge bc".
        """
        capacity = self.role.value
        if self.role is Role.TEAM:
            capacity = f"team {self.team}"
        elif self.challenge is not None:
            capacity = f"{self.role} of challenge {self.challenge}"
        if self.person is not None:
            return f"{person_name(self.person, self.label)}, {capacity}"
        return capacity if self.role is Role.TEAM else f"{capacity} {self.label}".strip()


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    """A signed-in browser; its forms carry `csrf`, its cookie is not stored.

    A person's session has the token of the membership that the person acts by, or none.
    """

    token: Token | None
    csrf: str
    created_at: float
    expires_at: float
    person: Person | None = None


def person_name(id_: int, name: str) -> str:
    """Return a person's name in the audit log: it begins with an id, which outlives the name."""
    return f"person {id_} {name}".rstrip()


class PersonLinkKind(StrEnum):
    """The purpose of a person's one-time link."""

    SIGN_IN = "sign-in"  # from a mail, in the browser that asked for it
    PROVIDER = "provider"  # the way to an OpenID Connect provider and back
    INVITATION = "invitation"  # to a team, or to a role
    FIRST = "first"  # to the first organiser's token


PERSON_LINK_SECONDS: Mapping[PersonLinkKind, float] = {
    PersonLinkKind.SIGN_IN: 900.0,
    PersonLinkKind.PROVIDER: 900.0,
    PersonLinkKind.INVITATION: 14 * 86_400.0,
    PersonLinkKind.FIRST: 86_400.0,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class PersonLink:
    """A person's one-time link, without its secret. Times are Unix seconds.

    `role`, `team`, `owner` and `challenge` are what an invitation gives.
    """

    id: int
    kind: PersonLinkKind
    email: str
    created_at: float
    expires_at: float
    role: Role | None = None
    team: TeamName | None = None
    team_id: int | None = None
    owner: bool = False
    challenge: str | None = None
    challenge_title: str = ""
    person_id: int | None = None  # who adds a provider to the account
    tries: int = 0
    mail_due: bool = False
    failures: int = 0


# -- anonymous names for a phase's teams and runs --------------------------------------------------

BLOCK = 999
"""Teams whose numbers are shuffled together: from 1 to 999, then from 1,000 to 1,998, ..."""
LETTERS = 4
"""Letters of a run's name, 32 possible at each place: a name need only be unique in its team."""


class Aliases:
    """A phase's anonymous names: "Team 473" for a team, "Team 473 k7q3" for one of its runs.

    A team's number comes from a keyed shuffle of all numbers, so that two teams never share one and
    its size says nothing about when the team registered. Phases differ: what a freeze reveals in
    one phase says nothing about another. Real names have no space, so they never equal an alias.
    """

    def __init__(self, key: bytes, scope: int | str) -> None:
        self._key = key
        self._scope = scope  # a phase's id

    def of_curators(self) -> Aliases:
        """Return the names that curators see, which belong to no phase."""
        return Aliases(self._key, "curators")

    def team(self, id_: int) -> str:
        """Return the team's name by its id (1 or more)."""
        block, place = divmod(id_ - 1, BLOCK)
        return f"Team {block * BLOCK + _shuffled(self._key, self._scope)[place]}"

    def run(self, team: str, run: str) -> str:
        """Return a run's name, or a server; `team` is the anonymous name of its team.

        The letters depend on the team, so runs with the same name in two teams do not look alike.
        """
        code = base64.b32encode(_digest(self._key, f"run {self._scope} {team} {run}"))[:LETTERS]
        return f"{team or 'Run'} {code.decode().lower()}"


def _digest(key: bytes, text: str) -> bytes:
    return hmac.digest(key, f"alias of {text}".encode(), hashlib.sha256)


@lru_cache(maxsize=64)
def _shuffled(key: bytes, scope: int | str) -> tuple[int, ...]:
    numbers = range(1, BLOCK + 1)
    return tuple(sorted(numbers, key=lambda number: _digest(key, f"team {scope} {number}")))


# -- audit log entries -----------------------------------------------------------------------------


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A change: `actor` did `action` to `subject` at `at` (Unix seconds)."""

    id: int = 0
    at: float
    actor: str
    action: str
    subject: str
    detail: Mapping[str, Any] = {}
    request_id: str = ""
