"""Tokens and sessions, without their secrets."""

from __future__ import annotations

from dataclasses import dataclass

from metaserver.base.records import TeamName
from metaserver.base.states import Role


@dataclass(frozen=True, kw_only=True, slots=True)
class Token:
    """A stored token, without the token itself. Times are Unix seconds.

    `parent` is the issuing token's id; None if issued at the command line.
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

    @property
    def bearer(self) -> str:
        """The token holder's name in the audit log: "team blue", "organiser ana"."""
        if self.role is Role.TEAM:
            return f"team {self.team}"
        return f"{self.role} {self.label}".strip()


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    """A signed-in browser; its forms carry `csrf`, its cookie is not stored."""

    token: Token
    csrf: str
    created_at: float
    expires_at: float
