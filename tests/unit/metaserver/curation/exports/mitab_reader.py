"""A reader of MITAB 2.7 by the grammar of its specification, for the tests of the writer."""

import re
from typing import NamedTuple

_PART = r'(?:"(?:\\"|[^"\t])*"|[^|():"\t]*)'
_FIELD = re.compile(rf"(?:({_PART}):)?({_PART})(?:\(({_PART})\))?")
_PLAIN = re.compile(r"[A-Za-z0-9/]+")


class MitabField(NamedTuple):
    """One field of a column; `text` is "" where there is none, `database` of a plain value."""

    database: str
    value: str
    text: str


def read_column(column: str) -> list[MitabField]:
    """Read a column; `AssertionError` where it is not of the grammar."""
    assert column, "an empty column is written as -"
    if column == "-":
        return []
    if _PLAIN.fullmatch(column):
        return [MitabField("", column, "")]
    found, place = [], 0
    while True:
        match = _FIELD.match(column, place)
        assert match, f"no field at {place} of {column!r}"
        found.append(MitabField(*(_plain(part or "") for part in match.groups())))
        place = match.end()
        if place == len(column):
            return found
        assert column[place] == "|", f"no bar at {place} of {column!r}"
        place += 1


def read_mitab(data: bytes) -> list[dict[str, list[MitabField]]]:
    """Read a file with its header line; `AssertionError` where it is not well-formed."""
    text = data.decode("utf-8")
    assert text.endswith("\n")
    header, *lines = text[:-1].split("\n")
    assert header.startswith("#")
    names = header[1:].split("\t")
    assert len(names) == 42
    assert not any(line.count("\t") != 41 for line in lines)
    return [dict(zip(names, map(read_column, line.split("\t")), strict=True)) for line in lines]


def _plain(part: str) -> str:
    return part[1:-1].replace('\\"', '"') if part.startswith('"') else part
