"""Coverage: which articles are over for a run, answered or given up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from metaserver.base.records import ArticleId, ServerName

Mask: TypeAlias = NDArray[np.bool_]
NOWHERE: Mapping[ArticleId, int] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True, slots=True)
class Coverage:
    """The articles that are over for each run.

    `positions` are the articles' positions in the corpus. `over` returns a run's articles that are
    over, a bit each by position (the lowest first); None: all are. It is called while `is_open`;
    afterwards all articles are over for every run.
    """

    positions: Mapping[ArticleId, int] = field(default_factory=lambda: NOWHERE)
    over: Callable[[ServerName], bytes | None] = lambda _: None
    is_open: Callable[[], bool] = lambda: False

    def places(self, articles: Iterable[ArticleId]) -> NDArray[np.int64]:
        """Return the articles' positions; the corpus must have them."""
        return np.array([self.positions[article] for article in articles], dtype=np.int64)

    def mask(self, run: ServerName, places: NDArray[np.int64]) -> Mask:
        """Return which of the articles at these positions are over for a run."""
        bits = self.over(run) if self.is_open() else None
        if bits is None:
            return np.ones(len(places), dtype=bool)
        packed = np.frombuffer(bits, dtype=np.uint8)
        over: Mask = (packed[places >> 3] >> (places & 7)) & 1 == 1
        return over
