"""Lane leases, as pure functions: what a process does with its lanes, and when it may not.

The store says which lanes a process holds, at which epochs and under which orders; `plan` compares
that with the lanes at work in the process. Times are monotonic seconds of the process: no machine's
clock decides who may work.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from metaserver.base.lanes import LaneKey, LaneOrder

FENCED_SHARE = 0.8
"""The part of a lease after which a process that could not renew it begins nothing more."""
SLACK = 0.1
"""By how much of its share a process may exceed it."""


@dataclass(kw_only=True, slots=True)
class Lease:
    """The lease of a process on its lanes, for `seconds` after each renewal.

    `renewed_at` is taken before the renewal is sent: the database counts from later on.
    """

    seconds: float
    renewed_at: float
    connected_at: float | None = None

    def renewed(self, began: float) -> None:
        """Note a renewal that was begun then and succeeded."""
        self.renewed_at = began
        if self.connected_at is None:
            self.connected_at = began

    def lost(self) -> None:
        """Note that the database could not be reached."""
        self.connected_at = None

    def is_fenced(self, now: float) -> bool:
        """Return whether the process may begin no article: another may have its lanes soon."""
        return now - self.renewed_at > FENCED_SHARE * self.seconds

    def is_settled(self, now: float) -> bool:
        """Return whether the process may take lanes whose leases ran out.

        When the database was away, no process could renew: all leases look run out then.
        """
        return self.connected_at is not None and now - self.connected_at >= self.seconds


def places(due: int, processes: int, capacity: int) -> int:
    """Return the maximum number of due lanes for a living process."""
    share = math.ceil(due / max(1, processes))
    return min(capacity, share + max(1, math.floor(SLACK * share)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """A process' plan for its lanes.

    `drop`: lost lanes, whose calls count as never sent. `free`: lanes that the store assigns to it
    but that it does not run. `give_back`: lanes beyond its share. The other lanes' orders are
    carried out.
    """

    drop: Collection[LaneKey]
    free: Collection[LaneKey]
    cancel: Mapping[LaneKey, str] = field(default_factory=dict)
    pause: Collection[LaneKey] = ()
    resume: Collection[LaneKey] = ()
    give_back: Collection[LaneKey] = ()


def plan(
    current: Mapping[LaneKey, LaneOrder],
    stored: Mapping[LaneKey, LaneOrder],
    *,
    taking: Collection[LaneKey] = (),
    limit: int | None = None,
) -> Plan:
    """Return what to do with the lanes `held`, each under its order that was carried out last.

    `stored` are the orders of the process' lanes in the store. Lanes it is `taking` are neither
    lost nor forgotten. It holds at most `limit` lanes (None: all).
    """
    still_stored = {key: stored[key] for key in current if key in stored}
    same_epoch = {
        key: order for key, order in still_stored.items() if order.epoch == current[key].epoch
    }
    renumbered = {
        key: order for key, order in same_epoch.items() if order.number != current[key].number
    }
    cancelled = {key: order.cancel_by for key, order in renumbered.items() if order.cancel_by}
    resting = [key for key, order in renumbered.items() if not order.due and key not in cancelled]
    going_on = [
        key
        for key, order in renumbered.items()
        if order.due and order.allowance is None and key not in cancelled
    ]
    surplus = 0 if limit is None else max(0, len(same_epoch) - limit)
    return Plan(
        drop=[key for key in current if key not in same_epoch and key not in taking],
        free=[key for key in stored if key not in current and key not in taking],
        cancel=cancelled,
        pause=resting,
        resume=going_on,
        give_back=sorted(same_epoch)[len(same_epoch) - surplus :],
    )
