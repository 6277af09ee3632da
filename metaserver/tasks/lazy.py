"""Parts of a score that few readers need: computed when they are first read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from scoring import Scorecard

Step = tuple[float, float]


class LazyDetail(Mapping[str, Any]):
    """The result of a function as a mapping."""

    def __init__(self, make: Callable[[], Mapping[str, Any]]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> Mapping[str, Any]:
        return self._make()

    def __getitem__(self, key: str) -> Any:
        return self._made[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


class LazyCurve(Sequence[Step]):
    """The curve of a scorecard."""

    def __init__(self, card: Scorecard) -> None:
        self._card = card

    @cached_property
    def _steps(self) -> Sequence[Step]:
        return self._card.curve

    def __getitem__(self, index: Any) -> Any:
        return self._steps[index]

    def __iter__(self) -> Iterator[Step]:
        return iter(self._steps)

    def __len__(self) -> int:
        return len(self._steps)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(self._steps)
