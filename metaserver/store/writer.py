"""The single writer: groups waiting attempts into one transaction (group commit).

An attempt, its raw answer, its accepted hits and the lane's cursor are committed together or not at
all. Each carries its lane's epoch: an attempt on a lane that another hub has taken since is refused
in the same transaction (fencing). Both databases have a form of it.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import NamedTuple

from metaserver.base.errors import HubError, StaleLaneError
from metaserver.base.lanes import AttemptRecord, LaneKey
from metaserver.store.database import is_there_already, said, unavailable
from metaserver.store.place import StorePlace

MAX_BATCH = 256
TRIAL_BYTES = 2**20

log = logging.getLogger(__name__)


class _Waiting(NamedTuple):
    entry: AttemptRecord
    done: asyncio.Future[int]


class Writer(ABC):
    """Writes attempts in the order they come, each until it is committed.

    Each gets its lane log's next serial.

    While the database cannot be written (locked, away, disk full) `blocked` says why, and the
    writer tries again and again: lanes wait for `record`, and nothing is lost. Other code that
    fails to write reports it by `mark_unwritable`. All code of the process writes within `turn`.
    """

    def __init__(
        self, place: StorePlace, turn: AbstractAsyncContextManager[object] | None = None
    ) -> None:
        self._place = place
        self.turn = turn or nullcontext()
        self._waiting: list[_Waiting] = []
        self._wake = asyncio.Event()
        self._broken: set[tuple[LaneKey, int]] = set()  # lanes by epoch with an entry missing
        self.blocked: str | None = None
        self.failed_writes = 0  # of other code; some may have been carried out all the same

    @abstractmethod
    async def _commit(self, batch: Sequence[AttemptRecord]) -> Sequence[int | HubError]:
        """Write a batch in one transaction; return each entry's serial, an error for a stale entry.

        An empty batch is a trial, which needs `TRIAL_BYTES` of space and changes nothing: on a full
        disk small changes fit into pages that are there, and answers do not.
        """

    @abstractmethod
    def _pause(self, failures: int) -> float:
        """Return the seconds until the next try, after so many that have failed."""

    @abstractmethod
    async def close(self) -> None:
        """Wait for a batch under way, which is written to its end, and close the connection."""

    def _unavailable(self, error: BaseException) -> str | None:
        """Return why nothing can be written now; None if only this batch cannot."""
        return unavailable(error)

    def record(self, entry: AttemptRecord) -> asyncio.Future[int]:
        """Store an attempt; the future gets its serial on commit.

        It has a `StaleLaneError` if the lane is no longer this hub's.
        """
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(entry, future))
        self._wake.set()
        return future

    def mark_unwritable(self, reason: str) -> None:
        """Record that a write failed: nothing more is written until a trial succeeds."""
        self.failed_writes += 1
        self._block(reason)
        self._wake.set()

    def wake(self) -> None:
        """Write what waits; if nothing does, make a trial."""
        self._wake.set()

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            await self._wake.wait()
            batch, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
            if not self._waiting:
                self._wake.clear()
            await self._write(batch)

    async def _write(self, batch: Sequence[_Waiting]) -> None:
        batch = [waiting for waiting in batch if not self._refused(waiting)]
        entries = [waiting.entry for waiting in batch]
        failures = 0
        while True:
            try:
                serials = await self._commit(entries)
            except Exception as error:
                reason = self._unavailable(error)
                self._block(reason)
                if reason is None:  # it can be written; this batch cannot
                    await self._write_singly(batch, error)
                    return
                failures += 1
                await asyncio.sleep(self._pause(failures))
            else:
                self._block(None)
                for waiting, serial in zip(batch, serials, strict=True):
                    _settle(waiting.done, serial)
                return

    def _block(self, reason: str | None) -> None:
        if reason is not None and self.blocked is None:
            log.error("nothing can be stored, so no article is sent: %s: %s", self._place, reason)
        elif reason is None and self.blocked is not None:
            log.warning("answers can be stored again")
        self.blocked = reason

    async def _write_singly(self, batch: Sequence[_Waiting], error: Exception) -> None:
        """Find the entry that cannot be stored, and fail it for its own lane only.

        It is stored already (another hub has the lane), or it is invalid through the hub's fault.
        """
        if not batch:
            log.error("a trial write failed", exc_info=error)
            return
        if len(batch) == 1:
            self._refuse(batch[0], error)
            return
        for waiting in batch:
            await self._write([waiting])

    def _refused(self, waiting: _Waiting) -> bool:
        """Refuse an entry of a lane with an earlier entry that could not be stored."""
        broken = (waiting.entry.lane, waiting.entry.epoch) in self._broken
        if broken:
            _settle(waiting.done, HubError("an earlier answer of this lane could not be stored"))
        return broken

    def _refuse(self, waiting: _Waiting, error: Exception) -> None:
        """Fail an entry that cannot be stored.

        Unless it is stored already, no more entries of the lane are accepted: a later entry would
        move the cursor past the missing entry.
        """
        if is_there_already(error):
            _settle(waiting.done, stale_error(), error)
            return
        self._broken.add((waiting.entry.lane, waiting.entry.epoch))
        _settle(waiting.done, HubError(f"not stored: {said(error)}"), error)


def stale_error() -> HubError:
    """Return the error for an entry whose lane is no longer this hub's."""
    return StaleLaneError("another hub has taken this lane")


def _settle(
    future: asyncio.Future[int], result: int | HubError, cause: Exception | None = None
) -> None:
    if future.done():  # the lane was cancelled meanwhile
        return
    if isinstance(result, HubError):
        result.__cause__ = cause
        future.set_exception(result)
    else:
        future.set_result(result)
