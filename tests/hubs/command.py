"""A `metaserver` command as a process of its own, and what a run has left in its folder."""

import asyncio
import atexit
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

DEMO = Path(str(files("metaserver.cli.demo_data")))
ARTICLES = 32  # in its corpus
GOLD_FILES = {task: DEMO / f"gold_{task.lower()}.tsv" for task in ("ACT", "INT", "IPT")}
GOLD = [
    argument
    for task, path in GOLD_FILES.items()
    for argument in (f"--gold-{task.lower()}", str(path))
]


@dataclass
class Ended:
    """The result of a command."""

    status: int
    stdout: str
    stderr: str


async def metaserver(*arguments: object, fresh: bool = False) -> Ended:
    """Run a `metaserver` command to its end, in a process that is forked from a loaded one.

    A `fresh` one loads all code itself, from where the environment says.
    """
    if fresh:
        process = await start(*arguments)
        stdout, stderr = await process.communicate()
        assert process.returncode is not None
        return Ended(process.returncode, stdout.decode(), stderr.decode())
    with TemporaryDirectory() as folder:
        out, err = Path(folder, "stdout"), Path(folder, "stderr")
        asked = {
            "arguments": [str(argument) for argument in arguments],
            "environment": dict(os.environ),
            "folder": str(Path.cwd()),
            "stdout": str(out),
            "stderr": str(err),
        }
        reader, writer = await asyncio.open_unix_connection(_zygote())
        writer.write(json.dumps(asked).encode() + b"\n")
        status = await reader.read()
        writer.close()
        await writer.wait_closed()
        assert status, "the command was killed"
        return Ended(int(status), out.read_text("utf-8"), err.read_text("utf-8"))


@cache
def _zygote() -> Path:
    """Start the loaded process, once a session; it ends with the standard input it is given."""
    path = Path(mkdtemp()) / "socket"
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.hubs.zygote", str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    atexit.register(_end, process, path)
    return path


def _end(process: subprocess.Popen[bytes], path: Path) -> None:
    process.communicate()
    rmtree(path.parent)


async def start(
    *arguments: object, module: str = "metaserver.cli.main"
) -> asyncio.subprocess.Process:
    """Start a `metaserver` command, or a module that runs one in its own way."""
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *(str(argument) for argument in arguments),
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
