"""Records: rows with one blob each, consecutive in one entry of an archive.

A record is a line of JSON with the row's other columns and `bytes`, the size of the blob; then the
blob and a line end:

    {"phase_id":1,"server_id":2,"position":0,"number":1,"bytes":5}
    <xml>
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from metaserver.archive.entries import ArchiveEntry
from metaserver.model.errors import InputError

SIZE = "bytes"


class Record(NamedTuple):
    """An archived row and its blob."""

    row: Mapping[str, msgspec.Raw]
    blob: bytes


def to_record(row: Mapping[str, Any], blob: bytes) -> bytes:
    """Return a record encoded as bytes."""
    return b"".join((msgspec.json.encode({**row, SIZE: len(blob)}), b"\n", blob, b"\n"))


def read_records(entry: ArchiveEntry) -> Iterator[Record]:
    """Yield an entry's records; raises `InputError`, and `MsgspecError` for invalid JSON."""
    while (line := entry.line()) is not None:
        row = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        size = msgspec.json.decode(row.pop(SIZE, msgspec.Raw(b"-1")), type=int)
        if size < 0:
            raise InputError(entry.place, f"a record without its {SIZE}")
        blob = entry.take(size)
        if entry.take(1) != b"\n":
            raise InputError(entry.place, f"a record is longer than its {SIZE}")
        yield Record(row, blob)
