"""Answers of a hub as tables for a terminal, without fields that have no value; refusals."""

from __future__ import annotations

import base64
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from metaserver.cli.remote.client import AnsweredError
from metaserver.operations.outline import Outline, ValueKind

UNCUT = 100_000  # columns, where the output is no terminal
FOR_PROGRAMS = frozenset({"columns"})  # what tells of other fields: --json has it
NOT_IN_TABLES = frozenset({"raw", "curve"})  # whole answers, drawn curves
MOMENTS = frozenset({"at", "since", "until"})
EMPTY: tuple[Any, ...] = (None, "", [], {})

Struct = Mapping[str, Any]


def show(outline: Outline, answer: Any) -> None:
    """Print an operation's result: a table, or a struct's fields below each other."""
    match answer:
        case None:
            print("done", file=sys.stderr)
        case []:
            print("none", file=sys.stderr)
        case [dict(), *_]:
            _print(_rows([_decoded(outline, row) for row in answer]))
        case dict():
            _show_struct(_decoded(outline, answer))
        case _:
            for item in answer if isinstance(answer, list) else [answer]:
                print(printable(cell("", item)))


def file_fields(outline: Outline) -> frozenset[str]:
    """Return the result fields that are files, base64 in JSON."""
    fields = outline.result.fields if outline.result else ()
    return frozenset(field.name for field in fields if field.kind is ValueKind.FILE)


def _decoded(outline: Outline, struct: Struct) -> Struct:
    files = file_fields(outline)
    return {
        name: base64.b64decode(value).decode("utf-8", "replace")
        if name in files and value
        else value
        for name, value in struct.items()
    }


def _show_struct(struct: Struct, within: str = "") -> None:
    """Print the short fields below each other; then each long field under its name."""
    filled = {
        name: value
        for name, value in struct.items()
        if value not in EMPTY and name not in FOR_PROGRAMS
    }
    if short := {name: value for name, value in filled.items() if not _is_long(value)}:
        _print(_fields(short))
    for name, value in filled.items():
        if not _is_long(value):
            continue
        match value:
            case str():
                print(f"\n{within}{name}:\n{printable(value)}")
            case list():
                print(f"\n{within}{name}:")
                _print(_rows(value))
            case dict() if all(isinstance(item, dict) for item in value.values()):
                print(f"\n{within}{name}:")
                _print(_rows([{"": key} | item for key, item in value.items()]))
            case _:
                _show_struct(value, f"{within}{name}.")


def _is_long(value: Any) -> bool:
    match value:
        case str():
            return "\n" in value
        case [dict(), *_]:
            return True
        case dict():
            return any(isinstance(item, dict) or _is_long(item) for item in value.values())
    return False


def _fields(struct: Struct) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, value in struct.items():
        table.add_row(Text(name), _text(name, value))
    return table


def _rows(rows: Sequence[Struct]) -> Table:
    """Return a table of structs; measured structs get a column per number."""
    flat = _flattened(rows)
    names = [
        name
        for name in dict.fromkeys(name for row in flat for name in row)
        if name not in NOT_IN_TABLES
    ]
    columns = [name for name in names if any(row.get(name) not in EMPTY for row in flat)]
    table = Table(box=None, pad_edge=False)
    for name in columns:
        table.add_column(Text(name))
    for row in flat:
        table.add_row(*(_text(name, row.get(name), in_table=True) for name in columns))
    return table


def _is_measured(value: Any) -> bool:
    """Return whether a value is a struct of numbers, not all of them counts."""
    if not isinstance(value, dict):
        return False
    kinds = {type(item) for item in value.values()} - {type(None)}
    return float in kinds and kinds <= {int, float}


def _flattened(rows: Sequence[Struct]) -> Sequence[Struct]:
    """Put measured structs' numbers beside the rest, with the struct's name if they clash."""
    names = dict.fromkeys(name for row in rows for name in row)
    measured = {
        name: {key for row in rows for key in row.get(name) or ()}
        for name in names
        if all(_is_measured(row[name]) for row in rows if row.get(name) is not None)
    }
    times = Counter([*names, *(key for keys in measured.values() for key in keys)])

    def flattened(row: Struct) -> Iterator[tuple[str, Any]]:
        for name, value in row.items():
            if name not in measured:
                yield name, value
                continue
            for key, item in (value or {}).items():
                yield f"{name}.{key}" if times[key] > 1 else key, item

    return [dict(flattened(row)) for row in rows]


def _text(name: str, value: Any, *, in_table: bool = False) -> Text:
    """Return a cell; as text, so that nothing in it is markup."""
    if in_table and isinstance(value, str) and "\n" in value:
        return Text(f"{len(value):,} characters")
    return Text(printable(cell(name, value)))


def cell(name: str, value: Any) -> str:
    """Return a value in words: a struct as name=value, a list of structs a line each."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case int() | float() if name in MOMENTS or name.endswith("_at"):
            return datetime.fromtimestamp(value, UTC).isoformat(" ", "seconds")
        case float():
            return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"
        case {"path": str(path), "message": str(message)}:
            return f"{path}: {message}"
        case {"seconds": seconds, "at_least": at_least}:
            return f"{'at least ' if at_least else ''}{cell('', seconds)}"
        case dict():
            return _struct_cell(value)
        case [dict(), *_]:
            return "\n".join(cell("", item) for item in value)
        case list():
            sentences = any(" " in item for item in value if isinstance(item, str))
            return ("\n" if sentences else ", ").join(cell("", item) for item in value)
    return str(value)


def _struct_cell(struct: Struct) -> str:
    members = {key: item for key, item in struct.items() if item not in EMPTY}
    if any(_is_long(item) for item in members.values()):
        return "\n".join(f"{key}:\n{cell(key, item)}" for key, item in members.items())
    return " ".join(f"{key}={cell(key, item)}" for key, item in members.items())


def printable(text: str) -> str:
    """Return a text that does not command the terminal."""
    return "".join(
        character if character.isprintable() or character in "\n\t" else "\ufffd"
        for character in text
    )


def _print(table: Table) -> None:
    console = Console(width=None if sys.stdout.isatty() else UNCUT, highlight=False)
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        print(line.rstrip())


# -- the printing of a refusal: what a hub says, and where it is explained -------------------------


def print_refusal(error: Exception) -> None:
    """Print a hub's error, and where its documentation explains it, on standard error."""
    faults = error.faults if isinstance(error, AnsweredError) else ()
    for line in faults or [str(error)]:
        print(f"metaserver: {printable(line)}", file=sys.stderr)
    if isinstance(error, AnsweredError) and error.help:
        print(f"see {printable(error.help)}", file=sys.stderr)
