"""Puts a release's version and date into pyproject.toml, CITATION.cff and CHANGELOG.md.

`make version VERSION=0.4.0` (DATE=2027-01-31 for another day than today).
"""

import re
import sys
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main(version: str, day: str) -> None:
    """Write the three files; ends with a message where one has no place for it."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        sys.exit(f"{version!r} is no version; expected three numbers, such as 0.4.0")
    date.fromisoformat(day)
    put("pyproject.toml", r'^version = ".*"', f'version = "{version}"')
    put("CITATION.cff", r"^version: .*", f"version: {version}")
    put("CITATION.cff", r"^date-released: .*", f"date-released: {day}")
    heading = rf"^## \[(Unreleased|{re.escape(version)})\].*"
    put("CHANGELOG.md", heading, f"## [{version}] - {day}")


def put(name: str, pattern: str, text: str) -> None:
    """Replace the first line of a file that a pattern finds."""
    path = ROOT / name
    changed, count = re.subn(pattern, text, path.read_text("utf-8"), count=1, flags=re.MULTILINE)
    if not count:
        sys.exit(f"{name}: no line like {pattern}")
    path.write_text(changed, "utf-8")


if __name__ == "__main__":
    main(sys.argv[1], *sys.argv[2:] or [date.today().isoformat()])
