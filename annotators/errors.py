"""Exceptions that the team's package raises on purpose.

AnnotatorsError
├── BadInputError     the user's input: a table, a model, a gold file, a URL
└── RequestError      the caller's request; answered as an XML-RPC fault with its code
"""

from __future__ import annotations

from pathlib import Path


class AnnotatorsError(Exception):
    """Root of the package's exceptions."""


class BadInputError(AnnotatorsError):
    """Bad input, reported in one line: `place: what is wrong; what was expected`.

    `place` is a file, `file:line` or an option. The command line exits with status 2.
    """

    def __init__(self, place: str | Path, message: str, *, line: int | None = None) -> None:
        self.place = str(place) if line is None else f"{place}:{line}"
        self.message = message
        super().__init__(f"{self.place}: {message}")


class RequestError(AnnotatorsError):
    """A request that cannot be answered; `code` is the fault code the caller gets."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(message)
