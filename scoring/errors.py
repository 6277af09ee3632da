"""Every exception the evaluator raises on purpose; all of them are the user's to mend.

ScoringError
├── FormatError     a file is not in its format; holds every problem found in it
└── OptionError     an option or argument that cannot apply, such as a cutoff for ACT
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Problem(NamedTuple):
    """One thing wrong in a file: where, and what was found and expected.

    `line` and `column` count from 1, columns by tabs; 0 means the whole file or the whole line.
    """

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        places = [self.file]
        if self.line:
            places.append(str(self.line))
        if self.column:
            places.append(f"column {self.column}")
        return f"{':'.join(places)}: {self.message}"


class ScoringError(Exception):
    """Root of the evaluator's exceptions."""


class FormatError(ScoringError):
    """A file that cannot be evaluated; `problems` lists every fault in it, in line order."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        more = f" (and {len(self.problems) - 1} more)" if len(self.problems) > 1 else ""
        super().__init__(f"{self.problems[0]}{more}")


class OptionError(ScoringError):
    """An option that has no meaning where it was given."""
