"""What a server says of itself: how many articles it wants at a time, when to ask again. Pure."""

from __future__ import annotations

import math
import random

from metaserver.model.records import ServerReport
from metaserver.model.states import ReportedState


class ServerHealth:
    """How a server was when it was asked; times are monotonic seconds.

    `places` is how many requests it may have in flight: as was agreed, or fewer if it asks for
    that. It is asked at `ask_at`, about every `pause` seconds (None: never); one that says nothing
    the first time is left alone.
    """

    def __init__(self, concurrency: int, pause: float | None, rng: random.Random) -> None:
        self.places = concurrency
        self.ask_at = math.inf
        self._concurrency = concurrency
        self._pause = math.inf if pause is None else pause
        self._rng = rng
        self._speaks = False  # it has said something once

    def begin(self, now: float) -> None:
        """Its lane begins to work: it is asked before long."""
        if math.isinf(self.ask_at):
            self.ask_at = self._next(now)

    def heard(self, said: ServerReport | None, now: float) -> None:
        """It was asked, and said this of itself, or nothing."""
        self._speaks = self._speaks or said is not None
        self.ask_at = self._next(now) if self._speaks else math.inf
        if said is not None:
            most = 1 if said.state is ReportedState.OVERLOADED else said.max_concurrent
            self.places = min(self._concurrency, most or self._concurrency)

    def _next(self, now: float) -> float:
        return now + self._pause * self._rng.uniform(0.75, 1.25)  # not all lanes at once
