"""What an organiser sets for a phase and a team for its notices: kept as JSON, given as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from metaserver.lifecycle import PhaseState, Visibility

YEAR = 366 * 86_400.0
Moment = Annotated[datetime, Meta(tz=True)]
Seconds = Annotated[float, Meta(gt=0, le=YEAR)]  # endless is not waited for
Count = Annotated[int, Meta(ge=1, le=2**31 - 1)]


class PhaseLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a phase allows; None takes the hub's own setting (`limits` in `config.yaml`)."""

    timeout: Seconds | None = None  # for one article, in seconds
    attempts: Count | None = None  # an article
    concurrency: Count | None = None  # a server may register, at most; None: no bound
    answer_bytes: Count | None = None
    servers: Count = 5  # a team
    runs: Count = 5  # offline runs a team and task


class PhasePlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A phase as its organiser planned it.

    `kind` is what it is while open: training or test. Moments carry their time zone; None: by hand
    only. `tasks` are the tasks that servers are asked for.
    """

    title: str = ""
    kind: PhaseState = PhaseState.TEST
    opens: Moment | None = None
    freezes: Moment | None = None
    closes: Moment | None = None
    tasks: tuple[str, ...] = ()
    limits: PhaseLimits = PhaseLimits()
    visibility: Visibility = Visibility.HIDDEN

    def state(self, now: float, reached: PhaseState | None) -> PhaseState:
        """Return where the phase stands at `now` (Unix seconds).

        What it has reached holds until the clock leads further on: one that is set back leads back
        to nothing.
        """
        steps = [(self.opens, self.kind), (self.freezes, PhaseState.FROZEN)]
        steps.append((self.closes, PhaseState.CLOSED))
        passed = [state for moment, state in steps if moment and moment.timestamp() <= now]
        clock = passed[-1] if passed else PhaseState.SETUP
        return clock if reached is None else max(reached, clock, key=ORDER.index)


ORDER = tuple(PhaseState)


class NoticePlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a team wants to be told that a server is down, up again or finished."""

    webhook: str = ""  # a URL; empty: none
    secret: str = ""  # signs what is sent there (HMAC-SHA256)
    email: bool = False  # to the team's address, where the hub can send mail
