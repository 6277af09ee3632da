"""Putting a release into use: a symbolic link, replaced in one step."""

from __future__ import annotations

import os
from pathlib import Path

from metaserver.model.errors import InputError
from metaserver.uniprot.release import Release


def use(release: Path, link: Path) -> Release:
    """Point `link` at a release directory and return the release.

    Whoever opens `link` gets the old or the new release whole; a hub opens it when a phase begins,
    so answers under way keep the release they began with. Raises `InputError` if `release` is none,
    or `link` is something other than a link or cannot be set.
    """
    opened = Release.open(release)
    if link.exists() and not link.is_symlink():
        raise InputError(link, "is not a symbolic link; it is left as it is")
    try:
        link.parent.mkdir(parents=True, exist_ok=True)
        target = os.path.relpath(opened.directory, link.parent.resolve())
        beside = link.with_name(f".{link.name}.{os.getpid()}")
        beside.unlink(missing_ok=True)
        beside.symlink_to(target, target_is_directory=True)
        beside.replace(link)
    except OSError as error:
        raise InputError(link, f"cannot be set: {error.strerror}") from error
    return opened
