"""Settings that more than one package uses."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from metaserver.base.plans import Count, Seconds


class LogFormat(StrEnum):
    """The log's line format."""

    JSON = "json"  # one object a line, for machines
    CONSOLE = "console"  # for a person at a terminal


class LogLevel(StrEnum):
    """The lowest level that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LimitSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits per article's request, and for requests in flight."""

    timeout: Seconds = 600.0
    connect: Seconds = 10.0
    attempts: Count = 5
    concurrency: Annotated[int, Meta(ge=1, le=10_000)] = 1
    answer_bytes: Count = 64 * 2**20
    answer_values: Count = 2_000_000
