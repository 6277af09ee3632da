"""Choices of settings that more than one module uses."""

from __future__ import annotations

from enum import StrEnum


class LogFormat(StrEnum):
    """The format of a line of the log."""

    JSON = "json"  # one object a line, for machines
    CONSOLE = "console"  # for a person at a terminal


class LogLevel(StrEnum):
    """The lowest level that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
