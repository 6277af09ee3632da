"""A `metaserver` command as a process of its own, and what a run has left in its folder."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

DEMO = Path(str(files("metaserver.cli.demo_data")))
GOLD = [
    argument
    for task in ("act", "int", "ipt")
    for argument in (f"--gold-{task}", str(DEMO / f"gold_{task}.tsv"))
]


@dataclass
class Ended:
    """How a command ended."""

    status: int
    stdout: str
    stderr: str


async def metaserver(*arguments: object) -> Ended:
    """Run a `metaserver` command to its end."""
    process = await start(*arguments)
    stdout, stderr = await process.communicate()
    assert process.returncode is not None
    return Ended(process.returncode, stdout.decode(), stderr.decode())


async def start(*arguments: object) -> asyncio.subprocess.Process:
    """Start a `metaserver` command."""
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "metaserver.cli.main", *(str(argument) for argument in arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip


def boards(folder: Path) -> Mapping[str, Any]:
    """Return the leaderboards that a run left, without the keyed marks."""
    return boards_in((folder / "leaderboard.json").read_text("utf-8"))


def boards_in(text: str | bytes) -> Mapping[str, Any]:
    """Return the leaderboards in a run's JSON without the keyed marks: each store has its key."""
    plain = text if isinstance(text, str) else text.decode()
    read: Mapping[str, Any] = json.loads(re.sub(r"\|mark:[0-9a-f]+", "", plain))["boards"]
    return read


def stored(folder: Path, query: str) -> Sequence[tuple[Any, ...]]:
    """Ask a run's store; empty while there is none."""
    path = folder / "metaserver.sqlite"
    if not path.exists():
        return []
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)
    try:
        return connection.execute(query).fetchall()
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):  # killed before the first schema was there
            return []
        raise
    finally:
        connection.close()
