"""Files that a running hub answers in parts, fetched whole."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from metaserver.base import files
from metaserver.base.errors import HubError, InputError
from metaserver.cli.remote.client import RemoteHub
from metaserver.publication.folder import MOST_BYTES


def leave(hub: RemoteHub, path: str, places: Mapping[str, Any], out: Path) -> int:
    """Write a file returned by an operation to a new file; return its size.

    An incomplete file is removed.
    """
    if out.exists():
        raise InputError("--out", f"{out} is there already; expected a new file")
    draft = out.with_name(f".{out.name}.part")
    try:
        with files.create(draft) as file:
            size = fetch(hub, path, places, file)
        draft.replace(out)
    except OSError as error:
        raise InputError("--out", f"{out}: {error.strerror}") from error
    finally:
        draft.unlink(missing_ok=True)
    return size


def fetch(hub: RemoteHub, path: str, places: Mapping[str, Any], file: IO[bytes]) -> int:
    """Write what an operation answers in parts to an open file; return its size."""
    at, size = 0, 1
    while at < size:
        part = hub.ask("GET", path, places=places, query={"offset": at})
        content, total = base64.b64decode(part["content"]), part["size"]
        if not content or total > MOST_BYTES or (at and total != size):
            raise HubError("the file was replaced meanwhile, or is too large: try again")
        size = total
        file.write(content)
        at += len(content)
    return size
