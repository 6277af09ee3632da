"""Files of offline tasks, uploaded plain or as a zip, which are not trusted: bounded, then opened.

A gold, which an organiser gives, is bounded too: it may be a wrong file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from metaserver.base.errors import InputError
from metaserver.base.records import Problem
from metaserver.corpus.files import ZipLimits, unpack
from metaserver.tasks.result_files import MAX_PROBLEMS
from scoring import FileProblem, FormatError

RUN_LIMITS = ZipLimits(files=20_000, file_bytes=2**20, bytes=2**23)
GOLD_LIMITS = ZipLimits(files=50_000, file_bytes=2**24, bytes=2**27)
MOST_DEEP = 16
"""Most folders within folders: a run has one or none."""

_ZIP = b"PK"


@contextmanager
def unzipped(path: Path, limits: ZipLimits) -> Iterator[Path]:
    """Yield a folder with a zip's files, or the path of any other file; raises `InputError`."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(path, error.strerror or str(error)) from error
    if not content.startswith(_ZIP):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="metaserver-zip-") as name:
        folder = Path(name)
        unpack(str(path), content, folder, limits)
        for file in folder.rglob("*"):
            if len(file.relative_to(folder).parts) > MOST_DEEP:
                place = f"{path}: {str(file.relative_to(folder))[:80]!r}"
                raise InputError(place, f"more than {MOST_DEEP} folders deep")
        yield folder


def refused(error: InputError, path: Path) -> Sequence[Problem]:
    """Return the fault of an upload that cannot be opened, without the hub's own path."""
    return [Problem(path=error.place.replace(str(path), "the file"), message=error.message)]


def faults(error: FormatError, root: Path) -> Sequence[Problem]:
    """Return the faults of an upload's files: of a zip by file and line, else by line."""
    return [fault(problem, root) for problem in error.problems[:MAX_PROBLEMS]]


def fault(problem: FileProblem, root: Path) -> Problem:
    """Return one fault; `root` is the upload's file, or the folder of its files."""
    line = [f"line {problem.line}"] if problem.line else []
    file = [name] if (name := _inside(problem.file, root)) else []
    column = [f"column {problem.column}"] if problem.column else []
    path = ", ".join([" ".join([*file, *line]), *column]) if file or line else "the file"
    return Problem(path=path, message=problem.message.replace(f"{root}/", ""))


def gold_error(error: FormatError, root: Path, path: Path) -> InputError:
    """Return the error of a gold's files: the first problem, and the number of others."""
    first = error.problems[0]
    inside = _inside(first.file, root)
    more = f" (and {len(error.problems) - 1} more)" if len(error.problems) > 1 else ""
    column = f"column {first.column}: " if first.column else ""
    message = f"{column}{first.message}{more}".replace(f"{root}/", "")
    place = f"{path}: {inside}" if inside else str(path)
    return InputError(place, message, line=first.line or None)


def _inside(file: str, root: Path) -> str:
    """Return the name of a file within a folder; empty for the folder, or a file itself."""
    return file.removeprefix(str(root)).removeprefix("/")
