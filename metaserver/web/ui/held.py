"""Valid tokens, and how many were made with each: for the pages that list them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from metaserver.operations.tokens import TokenDetail


def holds(token: TokenDetail, now: float) -> bool:
    """Return whether a token opens anything now."""
    over = token.expires_at is not None and token.expires_at <= now
    return token.revoked_at is None and not over


def made_with(tokens: Iterable[TokenDetail], now: float) -> Counter[int | None]:
    """Count the valid tokens by the id of what they were made with, directly or not."""
    by_id = {token.id: token for token in tokens}
    counts: Counter[int | None] = Counter()
    for token in by_id.values():
        above = by_id.get(token.parent or 0) if holds(token, now) else None
        while above is not None:
            counts[above.id] += 1
            above = by_id.get(above.parent or 0)
    return counts
