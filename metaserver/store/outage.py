"""One line per outage: the store's writer says that it is away, and nobody repeats it."""

from __future__ import annotations

import logging
from collections.abc import Callable

from metaserver.store.database import unavailable

PATIENT = 5
"""Failures in a row after which something else than the store itself is at fault."""


class Outage:
    """What a loop says when its work on the store fails, and when it goes on.

    While the store is `blocked` its writer has said so. An error that is no outage is logged with
    its traceback, once until the work has gone well.
    """

    def __init__(
        self, log: logging.Logger, blocked: Callable[[], str | None], fails: str, goes_on: str
    ) -> None:
        self._log = log
        self._blocked = blocked
        self._fails = fails
        self._goes_on = goes_on
        self._failures = 0  # in a row, while the store is not blocked
        self._is_said = False

    def failed(self, error: Exception) -> None:
        """Note that the work has failed."""
        reason = unavailable(error)
        self._failures = 0 if reason is not None and self._blocked() else self._failures + 1
        if self._is_said:
            return
        if reason is None:
            self._log.error("%s", self._fails, exc_info=error)
        elif self._failures >= PATIENT:
            self._log.warning("%s: %s", self._fails, reason)
        else:
            return
        self._is_said = True

    def ended(self) -> None:
        """Note that the work has gone well."""
        if self._is_said:
            self._log.warning("%s", self._goes_on)
        self._failures, self._is_said = 0, False
