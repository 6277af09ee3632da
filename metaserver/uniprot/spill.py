"""Temporary number files for a release's build, so that memory stays bounded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from metaserver.uniprot.codec import Codes

_CHUNK = 1 << 20


class Spill:
    """A growing file of rows of 64-bit integers; each row has `width` numbers."""

    def __init__(self, path: Path, width: int) -> None:
        self._path = path
        self._width = width
        self._file = path.open("wb")
        self.rows = 0

    def add(self, rows: Codes) -> None:
        """Append rows: an array with shape (n,) or (n, width)."""
        self._file.write(np.ascontiguousarray(rows, "<i8").data)
        self.rows += len(rows)

    def chunks(self) -> Iterator[Codes]:
        """Yield all rows in the order of `add`, in arrays (n, width) with n at most a million."""
        self._file.flush()
        with self._path.open("rb") as file:
            while data := file.read(_CHUNK * 8 * self._width):
                yield np.frombuffer(data, "<i8").reshape(-1, self._width)

    def all(self) -> Codes:
        """Return all rows, (n, width)."""
        return np.concatenate([np.empty((0, self._width), np.int64), *self.chunks()])

    def close(self) -> None:
        """Remove the file."""
        self._file.close()
        self._path.unlink(missing_ok=True)


def distinct(rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the distinct rows in an (n, 2) array, ascending."""
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    return rows[changes(rows)]


def changes(rows: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return a mask of the rows that differ from the row before, including the first."""
    changed = np.ones(len(rows), bool)
    changed[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return changed
