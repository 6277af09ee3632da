"""Helpers of tests of whole runs: servers of the kit, the hub as a process."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import sqlite3
import sys
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from aiohttp import web

from annotators.contract import Answer, Context
from annotators.server import Kit, application

NAMES = Path(str(files("annotators") / "data" / "uniprot_names.tsv"))
DEMO = Path(str(files("metaserver.cli.demo_data")))
GOLD = [
    argument
    for task in ("act", "int", "ipt")
    for argument in (f"--gold-{task}", str(DEMO / f"gold_{task}.tsv"))
]
ACCESSIONS = [line.split("\t")[0] for line in NAMES.read_text("utf-8").splitlines()[1:]]


@dataclass
class Ended:
    """The result of a command."""

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


async def build_release(folder: Path, source: Path = NAMES) -> Path:
    """Build a UniProt release from a table of accessions."""
    ended = await metaserver(
        "uniprot", "build", "--from", source, "--release", "test", "--out", folder
    )
    assert ended.status == 0, ended.stderr
    return folder


def answer_for(text: str) -> Answer:
    """Return an answer that depends on nothing but the text, with hits right and wrong."""
    digest = hashlib.sha256(text.encode()).digest()
    found = list(dict.fromkeys(ACCESSIONS[byte % len(ACCESSIONS)] for byte in digest[:12]))
    return {
        "interaction": [digest[0] % 2 == 0, (digest[1] + 1) / 256],
        "normalizations": [
            {"dbid": accession, "rank": rank, "confidence": 1 / rank}
            for rank, accession in enumerate(found, 1)
        ],
        "pairs": [
            {"dbid_a": a, "dbid_b": b, "rank": rank, "confidence": 0.5}
            for rank, (a, b) in enumerate(zip(found[::2], found[1::2], strict=False), 1)
        ],
    }


@dataclass
class Asked:
    """A server that answers by `answer_for` after a delay, and counts its requests."""

    seconds: float = 0.0
    texts: Counter[str] = field(default_factory=Counter)
    url: str = ""

    async def annotate(self, text: str, context: Context) -> Answer:
        self.texts[text] += 1
        await asyncio.sleep(self.seconds)
        return answer_for(text)


@asynccontextmanager
async def asked_server(seconds: float = 0.0, port: int = 0) -> AsyncIterator[Asked]:
    """Serve an `Asked` on this machine."""
    asked = Asked(seconds)
    runner = web.AppRunner(application(Kit(asked.annotate)), shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        asked.url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
        yield asked
    finally:
        await runner.cleanup()


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
