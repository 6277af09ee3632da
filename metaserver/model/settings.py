"""Choices of settings that more than one module knows."""

from __future__ import annotations

from enum import StrEnum


class LogFormat(StrEnum):
    """How a line of the log looks."""

    JSON = "json"  # one object a line, for machines
    CONSOLE = "console"  # for a person at a terminal


class LogLevel(StrEnum):
    """The least that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
