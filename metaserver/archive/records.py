"""Records: rows with one blob each, consecutive in one entry of an archive.

A record is a line of JSON with the row's other columns and `bytes`, the size of the blob; then the
blob and a line end:

    {"phase_id":1,"server_id":2,"position":0,"number":1,"bytes":5}
    <xml>
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from metaserver.archive.entries import ArchiveEntry
from metaserver.model.errors import InputError

SIZE = "bytes"


def to_record(row: Mapping[str, Any], blob: bytes) -> bytes:
    """Return a record encoded as bytes."""
    return b"".join((msgspec.json.encode({**row, SIZE: len(blob)}), b"\n", blob, b"\n"))


def read_blob(entry: ArchiveEntry, size: int | None) -> bytes:
    """Return the bytes of the record whose line was just read; raises `InputError`."""
    if size is None or size < 0:
        raise InputError(entry.place, f"a record without its {SIZE}")
    blob = entry.take(size)
    if entry.take(1) != b"\n":
        raise InputError(entry.place, f"a record is longer than its {SIZE}")
    return blob
