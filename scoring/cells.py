"""Cells of tables that people open in spreadsheets: none of them is a formula there."""

from __future__ import annotations

import re

FORMULA = "=+-@＝＋－＠"
"""Characters that a formula begins with in some locale (OWASP: CSV injection)."""
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_BEGIN = re.escape(FORMULA)
_RISKY = re.compile(rf"^(?=[{_BEGIN}\t\r\n\"])|(?<=[,;|\t])(?=[{_BEGIN}])")


def inert(text: str) -> str:
    """Return a text that no spreadsheet evaluates as a formula; numbers stay as they are.

    An apostrophe, which marks a cell as text, is put before each character that a formula could
    begin with: at the beginning, and after characters that some programs take as cell separators.
    It is also put before a quotation mark at the beginning, which would pull the next cells and
    lines into this one.
    """
    return text if _NUMBER.fullmatch(text) else _RISKY.sub("'", text)
