"""The summary of a rehearsal: what happened, who leads, and whether the checks hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from metaserver.base.zones import in_words
from metaserver.cli.rehearsal.checks import Stored
from metaserver.cli.rehearsal.course import Restart


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """A check: `found` says what was found, also where it holds."""

    name: str
    holds: bool
    found: str


class FirstPlace(msgspec.Struct, frozen=True, kw_only=True):
    """The run that leads a board, by the board's first measure."""

    task: str
    run: str
    measure: str
    value: float | None


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """A rehearsal's result; times in seconds, the challenge's unless they are called real."""

    seed: int
    speed: float
    teams: int
    servers: int
    articles: int
    seconds: float
    real_seconds: float
    attempts: int
    answered: int
    given_up: int
    without_end: int
    faults: Mapping[str, int]
    restarted_at: float
    answered_before_restart: int
    restart_real_seconds: float
    first: Sequence[FirstPlace]
    checks: Sequence[Check]

    def lines(self) -> Sequence[str]:
        """Return it as lines of text."""
        faults = ", ".join(f"{name} {count:,}" for name, count in self.faults.items())
        left = f", {self.without_end:,} not by the freeze" if self.without_end else ""
        return [
            (f"{self.teams} teams, {self.servers} servers, {self.articles} articles in"
            f" {in_words(self.seconds)} of the challenge ({in_words(self.real_seconds)} here)"),
            f"articles: {self.answered:,} answered, {self.given_up:,} given up{left}",
            f"attempts: {self.attempts:,}; faults: {faults or 'none'}",
            (f"restart: after {in_words(self.restarted_at)} with {self.answered_before_restart:,}"
            f" answers; served again after {self.restart_real_seconds:.1f} s"),
            *(f"first in {one.task}: {one.run}, {one.measure} {_shown(one.value)}"
              for one in self.first),
            *(f"{'ok' if check.holds else 'FAILED'}: {check.name} ({check.found})"
              for check in self.checks),
        ]  # fmt: skip


def judge(stored: Stored, restart: Restart, *, servers: int, cut_off: bool) -> Sequence[Check]:
    """Return the checks of the store; `cut_off`: the freeze left articles without an end."""
    missing = stored.missing(servers)
    lost, twice = stored.lost_since(restart.before), stored.twice
    again = [asked for asked in restart.before.answers if stored.answers[asked] > 1]
    return [
        Check(name="no answer is lost", holds=not lost, found=f"{len(lost)} lost in the restart"),
        Check(
            name="every article has an end",
            holds=cut_off or not missing,
            found=f"{missing} without" + (", cut off by the freeze" if cut_off else ""),
        ),
        Check(
            name="no answer is scored twice",
            holds=not twice,
            found=f"{len(twice)} twice, {len(again)} of them from before the restart",
        ),
    ]


def first_places(boards: Mapping[str, Any]) -> Sequence[FirstPlace]:
    """Return the runs that lead frozen boards: several where they share the first place."""
    return [
        FirstPlace(task=task, run=row["run"], measure=board["order"][0],
                   value=row["values"].get(board["order"][0]))
        for task, board in boards.items()
        for row in board["rows"]
        if row["place"] == 1
    ]  # fmt: skip


def _shown(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.3f}"
