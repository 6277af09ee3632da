"""Findings: what needs an organiser's look in a phase; alerts and kinds of problems."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

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


# -- alerts: messages to organisers that something needs a look, or is over ------------------------


class ChannelKind(StrEnum):
    """A way by which alerts are sent."""

    EMAIL = "email"
    WEBHOOK = "webhook"


class Condition(NamedTuple):
    """Something that an alert is about: a kind of finding, a phase (or none), a server or task."""

    kind: str
    phase: str
    subject: str


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """A message to organisers at `at` (Unix seconds); `over`: what it was about has ended."""

    id: int = 0
    at: float
    kind: str
    phase: str
    subject: str
    message: str
    over: bool = False

    @property
    def condition(self) -> Condition:
        """The condition that it is about."""
        return Condition(self.kind, self.phase, self.subject)


# -- kinds of problems: messages without what differs between similar problems ---------------------

_INDEX = re.compile(r"\[\d+\]")
_ACCESSION = re.compile(
    r"\b(?:[OPQ][0-9][A-Z0-9]{3}[0-9]|[A-NR-Z][0-9](?:[A-Z][A-Z0-9]{2}[0-9]){1,2})\b"
)


def general(text: str) -> str:
    """Return a message without its places in lists and its accessions."""
    return _ACCESSION.sub("…", _INDEX.sub("[…]", text))
