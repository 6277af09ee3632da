"""What a command is given, read and checked: all of it, before anything is written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from metaserver.cli.app import GoldFile
from metaserver.client.urls import check_url, masked
from metaserver.model.errors import InputError
from metaserver.model.records import Server, ServerName, TaskName
from metaserver.tasks.plugin import installed_tasks

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def read_servers(named: Sequence[str], concurrency: int) -> Sequence[Server]:
    """Read `NAME=URL` options; names are file names too, so they are kept plain."""
    servers: dict[str, Server] = {}
    for option in named:
        name, equals, url = option.partition("=")
        if not equals or not _NAME.fullmatch(name):
            raise InputError(
                "--server",
                f"{masked(option)!r}; expected NAME=URL, NAME of letters, digits, '.', '_' and '-'",
            )
        if name in servers:
            raise InputError("--server", f"the name {name!r} is given twice")
        url = check_url(url, f"--server {name}")
        servers[name] = Server(name=ServerName(name), url=url, concurrency=concurrency)
    return list(servers.values())


def read_gold(files: Mapping[TaskName, Path]) -> Mapping[TaskName, GoldFile]:
    """Read each task's gold file."""
    return {
        name: GoldFile(
            path=path, content=_content(path), gold=installed_tasks()[name].read_gold(path)
        )
        for name, path in files.items()
    }


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(path, error.strerror or str(error)) from error
