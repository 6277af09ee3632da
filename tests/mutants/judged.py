"""The survivors that were judged to be no fault: the table of docs/testing.md."""

import re
from collections.abc import Mapping

from tests.shared import ROOT

DOCUMENT = ROOT / "docs" / "testing.md"
_ROW = re.compile(r"^\| `(?P<name>[^`]+\.py:[^`]+)` \| (?P<reason>.+) \|$", re.MULTILINE)


def judged() -> Mapping[str, str]:
    """Return the reason of each judged mutant, by its name."""
    text = DOCUMENT.read_text("utf-8")
    return {row["name"].replace("\\|", "|"): row["reason"] for row in _ROW.finditer(text)}


def as_row(name: str) -> str:
    """Return the cell of the table for a mutant."""
    return "`" + name.replace("|", "\\|") + "`"
