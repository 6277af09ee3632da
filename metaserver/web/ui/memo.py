"""Memory of rendered parts: one is rendered again only when its inputs change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
MOST = 20_000  # things kept; then all are dropped


class Memo:
    """Results of each key's newest inputs."""

    def __init__(self) -> None:
        self._kept: dict[object, tuple[object, Any]] = {}

    def get(self, key: object, inputs: object, make: Callable[[], T]) -> T:
        """Return the result that `make` had for equal inputs before, or has now."""
        cached = self._kept.get(key)
        if cached is None or cached[0] != inputs:
            if len(self._kept) >= MOST:  # of names and errors that are long gone, mostly
                self._kept.clear()
            cached = self._kept[key] = (inputs, make())
        cached_value: T = cached[1]
        return cached_value
