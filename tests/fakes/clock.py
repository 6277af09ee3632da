"""The fake of a clock: a function without arguments that returns seconds."""

import time


class FakeClock:
    """A clock that shows what a test sets, and else does not move."""

    def __init__(self, now: float = 1_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class ShiftedClock:
    """The wall clock, `ahead` seconds ahead of itself; `looks` is how often it was looked at."""

    def __init__(self) -> None:
        self.ahead = 0.0
        self.looks = 0

    def __call__(self) -> float:
        self.looks += 1
        return time.time() + self.ahead
