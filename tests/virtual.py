"""A loop whose clock jumps: hours of waiting pass at once, and a loop that spins is found out."""

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")
MOST_TURNS = 100_000


class _Jumping(selectors.DefaultSelector):
    """A selector that never waits: the requested time-out is added to the clock."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self._turns = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._turns += 1
        assert self._turns <= MOST_TURNS, "the loop turns and turns, and nothing is done"
        assert timeout is not None, "everything waits for ever"
        self.now += max(0.0, timeout)
        return super().select(0)


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


def run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine that waits for nothing but the loop's clock."""
    with runner() as virtual:
        return virtual.run(coroutine)


def runner() -> asyncio.Runner:
    """Return a runner whose loop is such a loop; it keeps its tasks from run to run."""
    return asyncio.Runner(loop_factory=_Loop)


def timed(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Let a test run in virtual time."""

    @functools.wraps(test)
    def run_it(*arguments: Any, **named: Any) -> None:
        run(test(*arguments, **named))

    return run_it


def now() -> float:
    """Return the loop's time, in seconds."""
    return asyncio.get_running_loop().time()
