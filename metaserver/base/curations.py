"""Values of curations: the states of a curator's work on an article."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class CurationStanding(StrEnum):
    """The state of a curation."""

    OPEN = "open"  # its curator decides
    SUBMITTED = "submitted"  # finished; opened again by `reopen`


class SetPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The plan of a set of articles for several curators.

    `blind`: no curator sees another's decisions. `assist`: curators see what servers proposed.
    `adjudicators` are tokens of curators who rule on disagreements, beside organisers; `own`: also
    on those of their own articles.
    """

    tasks: tuple[str, ...]
    curators: tuple[int, ...]
    each: int = 2
    blind: bool = True
    assist: bool = False
    adjudicators: tuple[int, ...] = ()
    own: bool = False
