"""What a hub answered, as one reads it in a terminal."""

from __future__ import annotations

import base64
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from metaserver.operations.outline import Kind, Outline

UNCUT = 100_000  # columns, where the output is no terminal


def show(outline: Outline, answer: Any) -> None:
    """Print an operation's result: a table, or the fields of a struct one under another."""
    files = {
        field.name
        for field in (outline.result.fields if outline.result else ())
        if field.kind is Kind.FILE
    }
    match answer:
        case None:
            print("done", file=sys.stderr)
        case []:
            print("none", file=sys.stderr)
        case [dict(), *_]:
            _print(_rows(answer, files))
        case dict():
            _print(_fields(answer, files))
        case _:
            for one in answer if isinstance(answer, list) else [answer]:
                print(printable(cell("", one)))


def _rows(rows: Sequence[Mapping[str, Any]], files: set[str]) -> Table:
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = Table(box=None, pad_edge=False)
    for name in names:
        table.add_column(Text(name))
    for row in rows:
        table.add_row(*(_text(name, row.get(name), files) for name in names))
    return table


def _fields(struct: Mapping[str, Any], files: set[str]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, value in struct.items():
        table.add_row(Text(name), _text(name, value, files))
    return table


def _text(name: str, value: Any, files: set[str]) -> Text:
    """Return a cell; as text, so that nothing in it is markup."""
    if name in files and value:
        value = base64.b64decode(value).decode("utf-8", "replace")
    return Text(printable(cell(name, value)))


def cell(name: str, value: Any) -> str:
    """Return a value in words: a struct as name=value, a list of structs a line each."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case int() | float() if name == "at" or name.endswith("_at"):
            return datetime.fromtimestamp(value, UTC).isoformat(" ", "seconds")
        case float():
            return f"{value:.6g}"
        case dict():
            told = {key: one for key, one in value.items() if one not in (None, "", [], {})}
            return " ".join(f"{key}={cell(key, one)}" for key, one in told.items())
        case [dict(), *_]:
            return "\n".join(cell("", one) for one in value)
        case list():
            return ", ".join(cell("", one) for one in value)
    return str(value)


def printable(text: str) -> str:
    """Return a text that does not command the terminal."""
    return "".join(one if one.isprintable() or one in "\n\t" else "\ufffd" for one in text)


def _print(table: Table) -> None:
    Console(width=None if sys.stdout.isatty() else UNCUT, highlight=False).print(table)
