"""Findings: what needs an organiser's look in a phase."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class FindingKind(StrEnum):
    """Something that needs an organiser's look, the worst first."""

    LATE = "late"  # a server will miss the deadline
    DOWN = "down"  # a server answers no more
    NO_GOLD = "no_gold"  # a task of an open phase has none: it is not scored
    GOLD_OUTSIDE = "gold_outside"  # a gold has articles that are not in the corpus: of no effect
    CLOSE = "close"  # a server may miss the deadline
    SUSPENDED = "suspended"  # a server: an organiser or a fault of the hub stopped it
    GIVEN_UP = "given_up"  # articles of a server
    BURST = "burst"  # many uploads of a team within minutes
    NEAR = "near"  # an uploaded run differs from an earlier one of its team in few answers
    JUMP = "jump"  # an uploaded run has the first place, far above the team's best before


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """A server, task, run, or team with a task that a finding is about, and what there is to say.

    `name` stays as it is as long as the finding lasts: an alert is sent once a name.
    """

    name: str
    text: str


class PhaseFinding(msgspec.Struct, frozen=True, kw_only=True):
    """Something that needs a look, with all that it is about."""

    kind: FindingKind
    subjects: tuple[Subject, ...]
