"""Rows of a table, to and from the form of their JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import msgspec
import sqlalchemy as sa

from metaserver.archive.entries import ArchiveEntry
from metaserver.archive.layout import ArchivedTable, ColumnForm
from metaserver.archive.records import SIZE, read_blob, to_record
from metaserver.files.compression import pack, unpack
from metaserver.model.errors import InputError

MAX_VALUE = 2**20
"""The most bytes of a value that is neither JSON nor a file."""

Row: TypeAlias = dict[str, Any]
"""A row as it is stored."""


class RowEncoder:
    """The encoder of a table's rows: of all columns but that of its files.

    `columns` are those that it is given, in order.
    """

    def __init__(self, archived: ArchivedTable) -> None:
        self.columns: Sequence[sa.Column[Any]] = [
            column for column in archived.table.columns if column.name != archived.file_column
        ]
        self._names = [column.name for column in self.columns]
        self._forms = [
            (name, archived.forms[name]) for name in self._names if name in archived.forms
        ]
        self._encoder = msgspec.json.Encoder()

    def lines(self, rows: Iterable[Sequence[Any]]) -> bytes:
        """Return rows as lines of JSON."""
        return self._encoder.encode_lines([self._plain(row) for row in rows])

    def record(self, row: Sequence[Any]) -> bytes:
        """Return a row as a record, with the bytes of its `ColumnForm.RECORD` column."""
        values = self._plain(row)
        blob = next(values.pop(name) for name, form in self._forms if form is ColumnForm.RECORD)
        return to_record(values, blob)

    def _plain(self, row: Sequence[Any]) -> Row:
        values = dict(zip(self._names, row, strict=True))
        for name, form in self._forms:
            if (value := values[name]) is not None:
                values[name] = _plain_value(form, value)
        return values


def _plain_value(form: ColumnForm, value: Any) -> Any:
    if form is ColumnForm.LEFT_OUT:
        return None
    if form is ColumnForm.JSON:
        return msgspec.Raw(value)
    if form is ColumnForm.PACKED_JSON:
        return msgspec.Raw(unpack(value))
    return unpack(value)


class RowDecoder:
    """The decoder of a table's rows; raises `MsgspecError` and `TypeError` for what is none."""

    def __init__(self, archived: ArchivedTable) -> None:
        columns, forms = archived.table.columns, archived.forms
        self._name = archived.name
        self._types = [
            (column.name, _json_types(column)) for column in columns if column.name not in forms
        ]
        self._forms = [(name, form, archived.types.get(name)) for name, form in forms.items()]
        names = [(column.name, msgspec.Raw if column.name in forms else Any) for column in columns]
        sizes = [(SIZE, int)] if archived.records is not None else []
        row = msgspec.defstruct(
            "Row",
            [(str(name), kind, msgspec.field(default=None)) for name, kind in [*names, *sizes]],
            forbid_unknown_fields=True,
            omit_defaults=True,
        )
        self._decoder = msgspec.json.Decoder(row)

    def row(self, line: bytes) -> Row:
        """Return a row as it is stored, with None for what is missing."""
        values = msgspec.structs.asdict(self._decoder.decode(line))
        for name, types in self._types:
            if type(values[name]) not in types:
                raise TypeError(f"{name} is of another type than {types[0].__name__}")
        if len(line) > MAX_VALUE:
            self._require_bounded(values)
        for name, form, kind in self._forms:
            if (raw := values[name]) is not None:
                values[name] = _stored_value(form, bytes(raw), kind)
        return values

    def records(self, entry: ArchiveEntry) -> Iterator[tuple[Row, bytes]]:
        """Yield the rows of an entry's records, each with its bytes."""
        while (line := entry.line()) is not None:
            values = self.row(line)
            yield values, read_blob(entry, values.pop(SIZE))

    def _require_bounded(self, values: Row) -> None:
        for name, _ in self._types:
            if len(msgspec.json.encode(values[name])) > MAX_VALUE:
                raise InputError(self._name, f"{name} is longer than {MAX_VALUE:,} bytes")


def _json_types(column: sa.Column[Any]) -> tuple[type, ...]:
    """Return the types that a JSON value of a column may have, the expected one first."""
    none = type(None)
    if isinstance(column.type, sa.JSON):
        return (dict, list, none)
    expected = column.type.python_type
    return (expected, int, none) if expected is float else (expected, none)


def _stored_value(form: ColumnForm, data: bytes, kind: Any) -> bytes | None:
    """Return a column's JSON value as it is stored."""
    if data == b"null":
        return None
    data.decode()  # stored JSON is read later: its syntax was checked together with its row's
    if kind is not None:
        msgspec.json.decode(data, type=kind)  # checked only: the bytes are stored
    return pack(data) if form is ColumnForm.PACKED_JSON else data
