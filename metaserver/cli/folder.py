"""The folder of a hub: its store, and for a run the files that the run leaves."""

from __future__ import annotations

from pathlib import Path

from metaserver.files.private import FOLDER_MODE
from metaserver.model.errors import InputError

STORE_FILE = "metaserver.sqlite"


def make_folder(folder: Path) -> None:
    """Make a folder for its owner alone, or say in one line why it cannot be made."""
    try:
        folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(folder, f"cannot be made: {error.strerror}") from error
