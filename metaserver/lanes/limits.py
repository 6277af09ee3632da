"""Limits for a phase's lanes, set by an organiser."""

from __future__ import annotations

from dataclasses import dataclass

from metaserver.base.states import Backoff

RETRY_BACKOFF = Backoff(base=1.0, cap=60.0)
PROBE_BACKOFF = Backoff(base=5.0, cap=60.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneLimits:
    """The limits for a phase's lanes; times in seconds.

    An article gets at most `attempts` (>= 1). `circuit` failures in a row open the circuit. A
    server that has been down for `patience` is abandoned (None: never). While a server is sent
    articles, its state is queried every `health` seconds (None: never).
    """

    attempts: int = 5
    backoff: Backoff = RETRY_BACKOFF
    circuit: int = 5
    probe: Backoff = PROBE_BACKOFF
    patience: float | None = None
    health: float | None = None
