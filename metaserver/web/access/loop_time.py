"""Measurement of the time that one request keeps the event loop from others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Measured(Generic[T]):
    """Something to be awaited, once; `seconds` is what it took of the event loop, without waiting.

    What it does in threads, or in tasks of its own, is not in it. `spend` is given the seconds of
    each step as it ends, so that what lasts is charged for while it lasts.
    """

    def __init__(
        self,
        awaited: Awaitable[T],
        clock: Callable[[], float],
        spend: Callable[[float], None] = lambda _: None,
    ) -> None:
        self.seconds = 0.0
        self._awaited = awaited
        self._clock = clock
        self._spend = spend

    def __await__(self) -> Generator[Any, Any, T]:
        """Do it, a step at a time as the event loop does."""
        steps = self._awaited.__await__()
        step: Callable[[Any], Any] = steps.send
        thrown: Any = None
        while True:
            start = self._clock()
            try:
                awaited = step(thrown)
            except StopIteration as end:
                returned: T = end.value
                return returned
            finally:
                thrown = None  # an error's traceback leads here: it must not lead back to the error
                elapsed = self._clock() - start
                self.seconds += elapsed
                self._spend(elapsed)
            try:
                step, thrown = steps.send, (yield awaited)
            except BaseException as error:  # it is cancelled: that is for what is awaited
                step, thrown = steps.throw, error
