"""The states of a curator's work on an article."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class CurationStanding(StrEnum):
    """A curation's state."""

    OPEN = "open"  # its curator decides
    SUBMITTED = "submitted"  # finished; opened again by `reopen`


class SetPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The plan for several curators' article set.

    `blind`: no curator sees another's decisions. `assist`: curators see what servers proposed.
    `adjudicators` are tokens of curators who, beside organisers, rule on disagreements; `own`: even
    on their own articles.
    """

    tasks: tuple[str, ...]
    curators: tuple[int, ...]
    each: int = 2
    blind: bool = True
    assist: bool = False
    adjudicators: tuple[int, ...] = ()
    own: bool = False
