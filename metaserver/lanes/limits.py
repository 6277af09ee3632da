"""What an organiser sets for the lanes of a phase."""

from __future__ import annotations

from dataclasses import dataclass

from metaserver.model.states import Backoff

RETRY_BACKOFF = Backoff(base=1.0, cap=60.0)
PROBE_BACKOFF = Backoff(base=5.0, cap=60.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneLimits:
    """What an organiser sets for the lanes of a phase; times in seconds.

    `attempts` (>= 1) an article; `circuit` failures in a row open the circuit; a server that has
    been down for `patience` is left for good (None: never); while it is sent articles it is asked
    for its state every `health` seconds (None: never).
    """

    attempts: int = 5
    backoff: Backoff = RETRY_BACKOFF
    circuit: int = 5
    probe: Backoff = PROBE_BACKOFF
    patience: float | None = None
    health: float | None = None
