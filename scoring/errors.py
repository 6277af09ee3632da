"""Exceptions that the evaluator raises on purpose; all are errors in the user's input.

ScoringError
├── FormatError     a file is not in its format; holds every problem found in it
└── OptionError     an option or argument that cannot apply, such as a cutoff for ACT
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple


class FileProblem(NamedTuple):
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


MOST_PROBLEMS = 500
"""Problems after which the reading of files ends: a file of another kind has one a line."""
MOST_CHARACTERS = 250
"""Characters of a problem's message; of a longer one the middle is cut, which is what was found."""


MOST_ALIKE = 5
"""Problems of one message that `in_short` shows of a file."""


class ScoringError(Exception):
    """Root of the evaluator's exceptions."""


class FormatError(ScoringError):
    """A file that cannot be evaluated; `problems` lists every fault in it, in line order."""

    def __init__(self, problems: Sequence[FileProblem]) -> None:
        self.problems = tuple(problems)
        more = f" (and {len(self.problems) - 1} more)" if len(self.problems) > 1 else ""
        super().__init__(f"{self.problems[0]}{more}")


def in_short(problems: Iterable[FileProblem]) -> Iterator[str]:
    """Yield problems as lines; of one that a file has again and again, the first few and a count.

    A file of another kind has the same problem in each line, which would hide all others.
    """
    problems = tuple(problems)
    counts = Counter((problem.file, problem.message) for problem in problems)
    seen: Counter[tuple[str, str]] = Counter()
    for problem in problems:
        which = problem.file, problem.message
        seen[which] += 1
        if seen[which] <= MOST_ALIKE:
            yield str(problem)
        elif seen[which] == counts[which]:
            more = counts[which] - MOST_ALIKE
            yield f"{problem.file}: {more} more like these, the last one: {problem}"


def shortened(message: str) -> str:
    """Return a message of `MOST_CHARACTERS` at most; its end, what was expected, stays."""
    if len(message) <= MOST_CHARACTERS:
        return message
    half = (MOST_CHARACTERS - 3) // 2
    return f"{message[:half]} … {message[-half:]}"


class Problems:
    """The problems found so far in the files that are read, at most `MOST_PROBLEMS`."""

    def __init__(self) -> None:
        self._found: list[FileProblem] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, file: object, line: int, column: int, message: str) -> None:
        """Keep a problem; raises `FormatError` at once where there are too many."""
        self._found.append(FileProblem(str(file), line, column, shortened(message)))
        if len(self._found) == MOST_PROBLEMS:
            ended = f"reading ended here, after {MOST_PROBLEMS} problems; mend these first"
            raise FormatError([*self._found, FileProblem(str(file), line, 0, ended)])

    def finish(self, *, by_line: bool = False) -> None:
        """Raise every problem kept, as found or by line and column."""
        if self._found:
            key = (lambda problem: problem[1:3]) if by_line else None
            raise FormatError(sorted(self._found, key=key) if key else self._found)


class OptionError(ScoringError):
    """An option that has no meaning where it was given."""
