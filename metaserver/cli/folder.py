"""A hub's folder: its store, and the files that a run leaves."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import msgspec

from metaserver.base.errors import InputError
from metaserver.base.files import FOLDER_MODE
from metaserver.config import Settings, read_settings

STORE_VARIABLE: Final = "METASERVER_STORE"
"""The environment variable with the store's URL, in place of the settings."""
STORE_FILE_VARIABLE: Final = "METASERVER_STORE_FILE"
"""The environment variable with the name of a file that has the URL: a secret from systemd or a
container.
"""


def hub_settings(config: Path | None) -> Settings:
    """Return the settings of a hub on this machine, with the store that the environment names."""
    settings = read_settings(config) if config else Settings()
    if url := os.environ.get(STORE_VARIABLE):
        return msgspec.structs.replace(settings, store=url, store_file="")
    if file := os.environ.get(STORE_FILE_VARIABLE):
        return msgspec.structs.replace(settings, store="", store_file=file)
    return settings


def make_folder(folder: Path) -> None:
    """Make a folder that only its owner can use, or say on one line why not."""
    try:
        folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(folder, f"cannot be made: {error.strerror}") from error
