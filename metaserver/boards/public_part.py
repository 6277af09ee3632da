"""Public part: the articles of a phase's gold that its scores use while it is open."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass, field

from metaserver.base.plans import PhasePlan
from metaserver.base.records import ArticleId


@dataclass(frozen=True, kw_only=True, slots=True)
class PublicPart:
    """The public part of a phase's gold: a `share` of its articles.

    It is drawn with the hub's key, so that nobody can guess it. Each article has a number that is
    the same after a restart and in every version of the gold; those with the lowest are drawn.
    """

    key: bytes = field(repr=False)
    phase: int
    share: float

    @classmethod
    def of(cls, key: bytes, phase: int, plan: PhasePlan) -> PublicPart | None:
        """Return the public part of the phase of this id; None where all of its gold is public."""
        share = plan.public_share
        return None if share == 1 else cls(key=key, phase=phase, share=share)

    def draw(self, articles: Iterable[ArticleId]) -> frozenset[ArticleId]:
        """Return the drawn ones of the gold's articles, at least one of them."""
        ordered = sorted(articles, key=self._number)
        return frozenset(ordered[: max(1, round(self.share * len(ordered)))])

    def _number(self, article: ArticleId) -> bytes:
        text = f"public part of {self.phase} {article}"
        return hmac.digest(self.key, text.encode(), hashlib.sha256)
