"""A machine of its own for a process: a network namespace with two links, one of which is cut.

Over the first it reaches the database, over the second the annotation servers. Needs root.
"""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from urllib.parse import urlsplit

import pytest


class Cut(Enum):
    """The ways in which a link is cut."""

    BOTH = "both ways"
    TO_MACHINE = "to the machine"
    FROM_MACHINE = "from the machine"


@dataclass(frozen=True)
class Machine:
    """A network namespace; `here` and `there` are the ends of the link to the database."""

    name: str
    here: str
    there: str
    services_here: str
    services_there: str

    def cut(self, how: Cut) -> None:
        """Cut the link to the database; nobody is told."""
        if how is Cut.BOTH:
            _ip("link", "set", f"{self.name}-d", "down")
        elif how is Cut.TO_MACHINE:
            _ip("route", "add", "blackhole", f"{self.there}/32")
        else:
            _ip("-n", self.name, "route", "add", "blackhole", f"{self.here}/32")

    def mend(self, how: Cut) -> None:
        """Make the link whole again."""
        if how is Cut.BOTH:
            _ip("link", "set", f"{self.name}-d", "up")
        elif how is Cut.TO_MACHINE:
            _ip("route", "del", "blackhole", f"{self.there}/32")
        else:
            _ip("-n", self.name, "route", "del", "blackhole", f"{self.here}/32")

    async def start(self, config: Path, role: str) -> asyncio.subprocess.Process:
        """Start a process of a hub on it."""
        return await asyncio.create_subprocess_exec(
            "ip", "netns", "exec", self.name, sys.executable, "-m", "metaserver.cli.main",
            "serve", "--config", str(config), "--role", role,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip


@contextmanager
def machine() -> Iterator[Machine]:
    """Make a machine, which is gone at the end; skips the test, in CI fails, where none can be."""
    number = os.getpid() % 250
    net, services = f"10.213.{number}", f"10.214.{number}"
    made = Machine(f"ms{number}", f"{net}.1", f"{net}.2", f"{services}.1", f"{services}.2")
    try:
        _ip("netns", "add", made.name)
    except (OSError, subprocess.CalledProcessError) as error:
        message = f"no network namespace can be made: {error}"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    try:
        _link(made, "d", made.here, made.there)
        _link(made, "s", made.services_here, made.services_there)
        _ip("-n", made.name, "link", "set", "lo", "up")
        yield made
    finally:
        _ip("netns", "del", made.name)
        for end in "ds":  # with the namespace; where a process keeps that, they go here
            with suppress(subprocess.CalledProcessError):
                _ip("link", "del", f"{made.name}-{end}")


def _link(made: Machine, end: str, here: str, there: str) -> None:
    ours, theirs = f"{made.name}-{end}", f"{end}0"
    _ip("link", "add", ours, "type", "veth", "peer", "name", theirs, "netns", made.name)
    _ip("addr", "add", f"{here}/30", "dev", ours)
    _ip("link", "set", ours, "up")
    _ip("-n", made.name, "addr", "add", f"{there}/30", "dev", theirs)
    _ip("-n", made.name, "link", "set", theirs, "up")


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


@dataclass
class Door:
    """What passes requests on to a server, and notes when each came from where."""

    url: str = ""
    came: list[tuple[float, str]] = field(default_factory=list)

    def between(self, sender: str, begin: float, end: float) -> list[float]:
        """Return when requests of a sender came in a time of the monotonic clock."""
        return [at for at, peer in self.came if peer == sender and begin <= at <= end]


@asynccontextmanager
async def door_to(url: str, host: str) -> AsyncIterator[Door]:
    """Listen at an address for requests to a server on this machine."""
    door, target = Door(), urlsplit(url)

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = writer.get_extra_info("peername")[0]
        inner, outer = await asyncio.open_connection(target.hostname, target.port)

        async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            with suppress(ConnectionError):
                while data := await source.read(2**16):
                    if source is reader and data.startswith(b"POST"):
                        door.came.append((time.monotonic(), peer))
                    sink.write(data)
                    await sink.drain()
            sink.close()

        await asyncio.gather(pump(reader, outer), pump(inner, writer))

    server = await asyncio.start_server(take, host, 0)
    door.url = f"http://{host}:{server.sockets[0].getsockname()[1]}/"
    try:
        yield door
    finally:
        server.close()
