"""Fields that operations share, with their bounds and help texts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

from metaserver.model.errors import Refusal, RefusedError

END = r"$(?!\n)"
"""The end of a text in patterns: `$` alone also matches before a final line end."""

NAME = rf"^[A-Za-z0-9][A-Za-z0-9._-]{{0,63}}{END}"
NAME_HELP = "letters, digits, '.', '_' and '-', at most 64"

ServerField: TypeAlias = Annotated[str, Meta(pattern=NAME, description="The server's name")]
TeamField: TypeAlias = Annotated[str, Meta(pattern=NAME, description="The team's name")]
ChallengeField: TypeAlias = Annotated[str, Meta(pattern=NAME, description="The challenge's name")]
PhaseField: TypeAlias = Annotated[str, Meta(pattern=NAME, description="The phase's name")]
NewName: TypeAlias = Annotated[str, Meta(pattern=NAME, description=f"The new name: {NAME_HELP}")]
Title: TypeAlias = Annotated[str, Meta(max_length=200, description="A title for people")]
Text: TypeAlias = Annotated[str, Meta(max_length=2_000)]
Limit: TypeAlias = Annotated[int, Meta(ge=1, le=1_000, description="The most entries to return")]


class OneServer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A server by name."""

    server: ServerField


class OneChallenge(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A challenge by name."""

    challenge: ChallengeField


class OnePhase(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A phase by name."""

    phase: PhaseField


def require_one_of(value: str, known: Iterable[str], field: str) -> None:
    """Raise `RefusedError` unless a value is one of those that are known."""
    names = list(known)
    if value not in names:
        raise RefusedError(Refusal.INVALID, f"{value!r} is none of {', '.join(names)}", field=field)
