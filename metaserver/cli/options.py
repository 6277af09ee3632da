"""Options and files of a command, read and checked before anything is written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from metaserver.base.errors import InputError
from metaserver.base.records import Server, ServerName, TaskName
from metaserver.boards.gold_diff import no_accession, unanswerable
from metaserver.exchange.http.urls import check_url, masked
from metaserver.tasks.plugin import installed_tasks
from metaserver.uniprot import Release, ReleaseVocabulary

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class GoldContent(NamedTuple):
    """A gold file: its name, and its bytes, which its task can read."""

    source: str
    content: bytes


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


def read_gold(files: Mapping[TaskName, Path], release: Release) -> Mapping[TaskName, GoldContent]:
    """Read each task's gold file; `InputError` names the line that the task cannot read.

    It is also raised for one that has none of the release's accessions.
    """
    vocabulary = ReleaseVocabulary(release=release)
    return {task: _gold(task, path, vocabulary) for task, path in files.items()}


def _gold(task: TaskName, path: Path, vocabulary: ReleaseVocabulary) -> GoldContent:
    plugin = installed_tasks()[task]
    if unanswerable(plugin, plugin.read_gold(path), vocabulary).is_all:
        raise InputError(path, no_accession(vocabulary.release.name))
    try:
        return GoldContent(path.name, path.read_bytes())
    except OSError as error:
        raise InputError(path, error.strerror or str(error)) from error
