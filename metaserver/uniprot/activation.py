"""Activation of a release through a symbolic link that is replaced atomically."""

from __future__ import annotations

import os
from pathlib import Path

from metaserver.base.errors import InputError
from metaserver.uniprot.release import Release


def use(release: Path, link: Path) -> Release:
    """Point `link` at a release directory, and return the release.

    A program that opens `link` gets either the old or the new release completely; a hub opens it
    when a phase begins, so its answers keep that release. Raises `InputError` if `release` is not a
    release, or `link` is not a symbolic link or cannot be set.
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
