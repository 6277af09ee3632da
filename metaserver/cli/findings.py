"""Findings of `metaserver doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

OTHERS = 0o077
"""Of a file's mode: what others than its owner may do."""


class FindingSeverity(StrEnum):
    """Severity of a finding."""

    OK = "ok"
    WARNING = "warning"  # the hub starts, but not as it should run in public
    ERROR = "error"  # the hub does not start, or a phase cannot run


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: where, and what was found."""

    severity: FindingSeverity
    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.severity:8} {self.place}: {self.message}"
