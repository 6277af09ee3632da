"""The starter: files of a server for a team to start from."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from annotators.errors import BadInputError

NAMES = ("server.py", "README.md")


def write_starter(folder: Path) -> None:
    """Write the starter's files into `folder`, made if absent; nothing there is overwritten."""
    for name in NAMES:
        if (folder / name).exists():
            raise BadInputError(folder / name, "is there already; expected a new or empty folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in NAMES:
            template = files("annotators") / "data" / "starter" / f"{name}.txt"
            (folder / name).write_text(template.read_text(encoding="utf-8"), encoding="utf-8")
    except OSError as error:
        raise BadInputError(folder, f"cannot be written: {error.strerror}") from error
    print(f"{folder / NAMES[0]}: written; start it with `python {folder / NAMES[0]}`")
