"""Alerts: messages to organisers that something needs a look, or is over."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import msgspec


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
