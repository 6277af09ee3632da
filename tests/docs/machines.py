"""Machines for a transcript: network namespaces on one switch, PostgreSQL on the first of them.

Each has a host name and an address of its own, and no other way to anywhere; needs root.
`python -m tests.docs.machines FILE` prints a document with what its commands print now.
"""

import ctypes
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests import stores
from tests.docs.transcript import Session, retold

NAMES = ("a", "b", "c", "d")
FIRST = "10.0.0.1"
_NETWORK_ONLY = 0x40000000  # CLONE_NEWNET
_NAMED = 'hostname "$0"; exec "$@"'


@contextmanager
def machines(folder: Path) -> Iterator[Session]:
    """Begin a session with a shell on each machine, and a PostgreSQL server on the first."""
    prefix = f"ms{os.getpid()}"
    try:
        _ip("netns", "add", f"{prefix}-switch")
    except (OSError, subprocess.CalledProcessError) as error:
        message = f"no network namespace can be made: {error}"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    made = [f"{prefix}-switch"]
    try:
        _ip("-n", made[0], "link", "add", "switch", "up", "type", "bridge")
        for number, name in enumerate(NAMES, 1):
            _ip("netns", "add", f"{prefix}-{name}")
            made.append(f"{prefix}-{name}")
            _connect(made[-1], made[0], name, f"10.0.0.{number}/24")
        through = {
            name: ("ip", "netns", "exec", net, "unshare", "--uts", "sh", "-c", _NAMED, name)
            for name, net in zip(NAMES, made[1:], strict=True)
        }
        with (
            ThreadPoolExecutor(1, initializer=_enter, initargs=(made[1],)) as there,
            ExitStack() as stack,
        ):
            own = stores.own_server(listen_addresses=FIRST, fsync="on")
            database = there.submit(stack.enter_context, own).result()
            database.ask("CREATE ROLE postgres SUPERUSER LOGIN")
            variables = {
                "PGHOST": str(database.folder),  # elsewhere /run/postgresql, the usual place
                "XDG_DATA_HOME": str(folder),  # Caddy's
                "XDG_CONFIG_HOME": str(folder),
            }
            yield stack.enter_context(Session.begun(folder, through, **variables))
    finally:
        for name in made:
            _ip("netns", "del", name)


def _connect(machine: str, switch: str, name: str, address: str) -> None:
    """Connect a machine with the switch, as its `eth0`."""
    port = f"to-{name}"
    _ip("-n", switch, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", machine)
    _ip("-n", switch, "link", "set", port, "master", "switch", "up")
    _ip("-n", machine, "addr", "add", address, "dev", "eth0")
    for link in ("lo", "eth0"):
        _ip("-n", machine, "link", "set", link, "up")


def _enter(machine: str) -> None:
    """Take this thread, and what it starts, to a machine."""
    with Path("/run/netns", machine).open() as there:
        if ctypes.CDLL(None, use_errno=True).setns(there.fileno(), _NETWORK_ONLY):
            raise OSError(ctypes.get_errno(), "no way into a network namespace")


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch, machines(Path(scratch)) as begun:
        print(retold(Path(sys.argv[1]).read_text("utf-8"), begun), end="")
