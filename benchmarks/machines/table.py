"""The rows that are printed: what was measured, its target, and whether it is met."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Row:
    """A measured value beside its target, if it has one; more is better if that is a `least` one.

    `values` are those of the rounds, whose median counts; `notes` are figures behind them.
    """

    what: str
    values: Sequence[float]
    target: float | None = None
    least: bool = False
    unit: str = ""
    notes: str = ""

    @property
    def value(self) -> float:
        """The median of the rounds."""
        return statistics.median(self.values)

    @property
    def is_met(self) -> bool:
        """True if the target is reached, or there is none."""
        if self.target is None:
            return True
        return self.value >= self.target if self.least else self.value <= self.target

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        spread = f" ({min(self.values):.3g} to {max(self.values):.3g})" * (len(self.values) > 1)
        notes = f"; {self.notes}" if self.notes else ""
        return f"{self.what}: {self.value:.3g}{unit}{spread}{self._verdict()}{notes}"

    def _verdict(self) -> str:
        if self.target is None:
            return ""
        bound = "at least" if self.least else "at most"
        return f", target {bound} {self.target:g}: {'met' if self.is_met else 'NOT MET'}"
