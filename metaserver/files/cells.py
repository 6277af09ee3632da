"""Cells of tables that people open in spreadsheets: none of them is a formula there."""

from __future__ import annotations

import re

FORMULA = "=+-@＝＋－＠"
"""What a formula begins with, in one locale or another (OWASP: CSV injection)."""
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_BEGIN = re.escape(FORMULA)
_RISKY = re.compile(rf"^(?=[{_BEGIN}\t\r\n\"])|(?<=[,;|\t])(?=[{_BEGIN}])")


def inert(text: str) -> str:
    """Return a text that no spreadsheet runs; numbers stay as they are.

    An apostrophe, which spreadsheets take as "this is text", goes before what a formula could begin
    with: at the beginning, and after what some programs take to part two cells. So it does before
    a quotation mark at the beginning, which would draw the next cells and lines into this one.
    """
    return text if _NUMBER.fullmatch(text) else _RISKY.sub("'", text)
