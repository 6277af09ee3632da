"""Fields that operations share, with their bounds and help texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, TypeAlias, TypeVar, get_type_hints

import msgspec
from msgspec import Meta

from metaserver.base.errors import Refusal, RefusedError

S = TypeVar("S", bound=msgspec.Struct)

LONG, PASSWORD, EMAIL, URL = ({"input": kind} for kind in ("long", "password", "email", "url"))
"""The kinds of input by which a form takes a field: `Meta(extra=LONG)`."""

END = r"$(?!\n)"
"""The end of a text in patterns: `$` alone also matches before a final line end."""

NAME = rf"^[A-Za-z0-9][A-Za-z0-9._-]{{0,63}}{END}"
NAME_HELP = "letters, digits, '.', '_' and '-', at most 64"

GREATEST = 2**31 - 1
"""The greatest integer accepted: the store's columns hold no greater."""
_PRINTABLE = rf"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]*{END}"
"""Texts without control characters but tabs and line ends: no database holds all of them."""

ServerField: TypeAlias = Annotated[str, Meta(pattern=NAME, description="The server's name")]
TeamField: TypeAlias = Annotated[str, Meta(pattern=NAME, description="The team's name")]
ChallengeField: TypeAlias = Annotated[str, Meta(pattern=NAME, description="The challenge's name")]
PhaseField: TypeAlias = Annotated[
    str,
    Meta(
        pattern=rf"^[A-Za-z0-9][A-Za-z0-9._-]{{0,199}}{END}",
        description="The phase's name; CHALLENGE.NAME if phases of several challenges have it",
    ),
]
TaskField: TypeAlias = Annotated[
    str, Meta(max_length=64, description="The task: INT, IPT, ACT, ...")
]
NewName: TypeAlias = Annotated[str, Meta(pattern=NAME, description=f"The new name: {NAME_HELP}")]
Title: TypeAlias = Annotated[
    str, Meta(max_length=200, pattern=_PRINTABLE, description="A title for people")
]
Text: TypeAlias = Annotated[str, Meta(max_length=2_000, pattern=_PRINTABLE)]
Limit: TypeAlias = Annotated[int, Meta(ge=1, le=1_000, description="The maximum number of entries")]
Threshold: TypeAlias = Annotated[
    Annotated[float, Meta(ge=0, lt=1)] | None,
    Meta(description="Least probability; none: the model's"),
]
Cutoff: TypeAlias = Annotated[int, Meta(ge=1, le=200, description="Most candidates of a task")]


def changing(kind: type[msgspec.Struct]) -> Callable[[type[S]], type[S]]:
    """Return a decorator that adds the fields of a struct to another; None: it stays as it is."""

    def add(struct: type[S]) -> type[S]:
        hints = get_type_hints(kind, include_extras=True)
        made: type = msgspec.defstruct(
            struct.__name__,
            [(name, hint | None, None) for name, hint in hints.items()],
            bases=(struct,),
            module=struct.__module__,
            namespace={"__doc__": struct.__doc__},
            frozen=True,
            kw_only=True,
            forbid_unknown_fields=True,
        )
        return made

    return add


class OneServer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A server by name."""

    server: ServerField


class OneChallenge(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A challenge by name."""

    challenge: ChallengeField


class OnePhase(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A phase by name."""

    phase: PhaseField


def require_one_of(value: str, choices: Iterable[str], field: str) -> None:
    """Raise `RefusedError` unless a value is among the choices."""
    names = list(choices)
    if value not in names:
        raise RefusedError(Refusal.INVALID, f"{value!r} is none of {', '.join(names)}", field=field)
