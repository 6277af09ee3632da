"""Limits on a client's requests: pure, with the clock as an argument and bounded memory.

A client is a key: a token's id, or an address as `addresses.bundled` gives it. At most `size`
clients are remembered, the longest unseen forgotten first. If several processes share a limit, each
has its part of it: `sharers` returns how many there are.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

Clock = Callable[[], float]
V = TypeVar("V")
Sharers = Callable[[], int]
SIZE = 10_000
LOOP_SHARE = 0.1
"""The share of the event loop's time that a client's requests may take for as long as they like."""
LOOP_BURST = 3.0
"""The seconds of it that a client may take at once: some dozens of the most expensive pages."""
LOOP_DEBT = 30.0
"""Seconds of it that a client is charged for at most: it waits for minutes, not hours."""


class Remembered(Generic[V]):
    """Values by key, at most `size`: the last seen."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[Hashable, V] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Hashable) -> V | None:
        """Return a key's value."""
        return self._values.get(key)

    def put(self, key: Hashable, value: V) -> None:
        """Keep a key's value, and forget the longest unseen if there are too many."""
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._size:
            self._values.popitem(last=False)

    def drop(self, key: Hashable) -> None:
        """Forget a key."""
        self._values.pop(key, None)


class Buckets:
    """A token bucket a client: `a_minute` requests at once, and as many again each minute."""

    def __init__(
        self,
        a_minute: float,
        *,
        size: int = SIZE,
        clock: Clock = time.monotonic,
        sharers: Sharers = lambda: 1,
    ) -> None:
        self._a_minute = a_minute
        self._sharers = sharers
        self._clock = clock
        self._levels: Remembered[tuple[float, float]] = Remembered(size)  # level, when

    def __len__(self) -> int:
        return len(self._levels)

    @property
    def _capacity(self) -> float:
        return max(1.0, self._a_minute / self._sharers())

    @property
    def _rate(self) -> float:  # a second
        return self._a_minute / self._sharers() / 60.0

    def wait(self, key: Hashable) -> float:
        """Return the seconds until the client may ask again: 0.0 for now."""
        return max(0.0, (1.0 - self._level(key)) / self._rate)

    def take(self, key: Hashable) -> float:
        """Count a request and return 0.0; or count nothing and return the seconds to wait."""
        wait = self.wait(key)
        if not wait:
            self._levels.put(key, (self._level(key) - 1.0, self._clock()))
        return wait

    def _level(self, key: Hashable) -> float:
        level_at = self._levels.get(key)
        if level_at is None:
            return self._capacity
        level, at = level_at
        return min(self._capacity, level + (self._clock() - at) * self._rate)


class Shares:
    """How each client uses something: `share` of the time on the whole.

    It is charged after the fact. A client may owe `burst` seconds before it has to wait, and never
    owes more than `debt`, so that it waits for (`debt` - `burst`) / `share` seconds at most.
    """

    def __init__(
        self,
        share: float,
        burst: float,
        debt: float,
        *,
        size: int = SIZE,
        clock: Clock = time.monotonic,
    ) -> None:
        self._share = share
        self._burst = burst
        self._debt = debt
        self._clock = clock
        self._owed: Remembered[tuple[float, float]] = Remembered(size)  # seconds, when

    def wait(self, key: Hashable) -> float:
        """Return the seconds until the client may go on: 0.0 for now."""
        return max(0.0, (self._owes(key) - self._burst) / self._share)

    def spend(self, key: Hashable, seconds: float) -> None:
        """Charge a client for what it took."""
        self._owed.put(key, (min(self._debt, self._owes(key) + seconds), self._clock()))

    def _owes(self, key: Hashable) -> float:
        seconds, at = self._owed.get(key) or (0.0, 0.0)
        return max(0.0, seconds - (self._clock() - at) * self._share)


class Allowances:
    """Allowances of each client: `requests`, and `seconds` of the event loop's time."""

    def __init__(
        self, a_minute: float, *, clock: Clock = time.monotonic, sharers: Sharers = lambda: 1
    ) -> None:
        self.requests = Buckets(a_minute, clock=clock, sharers=sharers)
        self.seconds = Shares(LOOP_SHARE, LOOP_BURST, LOOP_DEBT, clock=clock)


@dataclass(frozen=True, kw_only=True, slots=True)
class Delays:
    """After `free` failures a client waits `base` seconds, each time twice as long, up to `cap`.

    After `forget` seconds without a failure it begins again.
    """

    free: int = 5
    base: float = 1.0
    cap: float = 60.0
    forget: float = 900.0


class Failures:
    """Each client's failures, and how long it waits for its next try.

    A failure counts in all processes that share them, so trying each process in turn gives no more
    tries.
    """

    def __init__(
        self,
        delays: Delays,
        *,
        size: int = SIZE,
        clock: Clock = time.monotonic,
        sharers: Sharers = lambda: 1,
    ) -> None:
        self._delays = delays
        self._sharers = sharers
        self._clock = clock
        self._known: Remembered[tuple[int, float]] = Remembered(size)  # failures, the last when

    def __len__(self) -> int:
        return len(self._known)

    def wait(self, key: Hashable) -> float:
        """Return the seconds until the client may try again: 0.0 for now."""
        count, last = self._failures(key)
        over = count - self._delays.free
        if over <= 0:
            return 0.0
        delay = min(self._delays.cap, self._delays.base * 2.0 ** min(over - 1, 62))
        return max(0.0, last + delay - self._clock())

    def failed(self, key: Hashable) -> None:
        """Count a failure."""
        self._known.put(key, (self._failures(key)[0] + self._sharers(), self._clock()))

    def succeeded(self, key: Hashable) -> None:
        """Begin again."""
        self._known.drop(key)

    def _failures(self, key: Hashable) -> tuple[int, float]:
        count, last = self._known.get(key) or (0, 0.0)
        return (0, 0.0) if self._clock() - last >= self._delays.forget else (count, last)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Slot:
    """A client's slot; `alive` returns whether its client is still there."""

    key: Hashable
    alive: Callable[[], bool]
    favoured: bool


class Slots:
    """Slots held at the same time: `each` per client, `total` in all.

    `reserved_slots` are only for favoured clients. A holder may learn late that its client has
    gone, so this is checked when slots run out.
    """

    def __init__(self, each: int, total: int, *, reserved_slots: int = 0) -> None:
        self._each = each
        self._total = total
        self._open = total - reserved_slots  # to all
        self._held: set[Slot] = set()
        self._counts: Counter[Hashable] = Counter()

    def __len__(self) -> int:
        return len(self._held)

    def take(
        self, key: Hashable, alive: Callable[[], bool], *, favoured: bool = False
    ) -> Slot | None:
        """Return a slot, if any is left for this client."""
        if self._full(key, favoured):
            for slot in [slot for slot in self._held if not slot.alive()]:
                self.give(slot)
        if self._full(key, favoured):
            return None
        slot = Slot(key=key, alive=alive, favoured=favoured)
        self._held.add(slot)
        self._counts[key] += 1
        return slot

    def give(self, slot: Slot) -> None:
        """Give a slot back."""
        if slot not in self._held:
            return
        self._held.remove(slot)
        self._counts[slot.key] -= 1
        if not self._counts[slot.key]:
            del self._counts[slot.key]

    def _full(self, key: Hashable, favoured: bool) -> bool:
        if self._counts.get(key, 0) >= self._each or len(self._held) >= self._total:
            return True
        return not favoured and sum(not slot.favoured for slot in self._held) >= self._open
