"""The two kinds of store for tests: a file, or a database of a PostgreSQL server of the session.

The server listens on a socket in a folder of its own, as a user who is not root, and does not wait
for its disk. It ends with the process that made it, however that ends. A place of a file has a
database of its own, which is made when it is first asked for and has the newest schema.
"""

import asyncio
import atexit
import itertools
import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeVar

import asyncpg
import pytest

from metaserver.store.opening import making
from metaserver.store.place import STORE_FILE, PostgresUrl, StorePlace, read_url

T = TypeVar("T")

SQLITE, POSTGRESQL = "sqlite", "postgresql"
KINDS = (SQLITE, POSTGRESQL)
ONE_STORE = "one_store"  # the mark of a test that is not run again on PostgreSQL, with the reason
USER = "metaserver"
_TEMPLATE = "template_of_tests"
_SETTINGS: Mapping[str, str] = {
    "listen_addresses": "",
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "32MB",
    "max_connections": "200",
    "autovacuum": "off",
    "max_wal_size": "128MB",
    "log_min_messages": "fatal",
    "jit": "off",
}
_REMOVE = 'cat; "$0" -D "$1" -w -t 60 -m immediate stop; rm -rf "$2"'
chosen: list[str] = [SQLITE]
"""The kind that hubs of tests have; `--store postgresql` changes it."""


class PostgresServer:
    """A PostgreSQL server of this session: its folder, and how it is started and stopped.

    A shell reads from this process, and removes the server when there is nobody to read from.
    """

    def __init__(
        self, settings: Mapping[str, str] = _SETTINGS, *, within: Path | None = None
    ) -> None:
        self.folder = Path(mkdtemp(prefix="metaserver-postgres-", dir=within))
        self.data = self.folder / "data"
        self._settings = settings
        self._user = _user()
        if self._user is not None:
            os.chown(self.folder, self._user, -1)
        self._run("initdb", "-D", str(self.data), "-U", USER, "-A", "trust", "-E", "UTF8",
                  "--locale=C", "--no-sync")  # fmt: skip
        self._remover = subprocess.Popen(
            ["sh", "-c", _REMOVE, binaries() / "pg_ctl", self.data, self.folder],
            **self.as_user,
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # so that it is not ended with this process
        )

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = {**self._settings, "unix_socket_directories": str(self.folder)}
        given = " ".join(f"-c {name}={value!r}" for name, value in options.items())
        self._run("pg_ctl", "-D", str(self.data), "-w", "-t", "60", "-o", given,
                  "-l", str(self.folder / "log"), "start")  # fmt: skip

    def stop(self, mode: str = "immediate") -> None:
        """Stop it in a mode of `pg_ctl`."""
        self._run("pg_ctl", "-D", str(self.data), "-w", "-t", "60", "-m", mode, "stop")

    def kill(self) -> None:
        """Kill its first process without warning; the others notice."""
        pid = int((self.data / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)

    def admit(self, *networks: str) -> None:
        """Let in whoever comes from a network."""
        with (self.data / "pg_hba.conf").open("a") as rules:
            rules.writelines(f"host all all {network} trust\n" for network in networks)
        self.ask("SELECT pg_reload_conf()")

    def url(self, database: str) -> str:
        """Return the URL of a database."""
        return f"postgresql://{USER}@/{database}?host={self.folder}"

    def remove(self) -> None:
        """Stop it, and delete all that it had."""
        self._remover.communicate()
        assert not self.data.exists(), self.log()
        if self.folder.exists():  # in a place where its user may delete nothing
            self.folder.rmdir()

    def ask(self, query: str, database: str = "postgres") -> Sequence[Any]:
        """Send a query, or an order without a result, to a database; return the rows."""

        async def ask(connection: asyncpg.Connection) -> Sequence[Any]:
            return list(await connection.fetch(query))

        return self._connected(database, ask)

    def change(self, statement: str, *values: object, database: str) -> int:
        """Change a database; return the number of rows, -1 where something else is changed."""

        async def change(connection: asyncpg.Connection) -> int:
            done: str = await connection.execute(statement, *values)
            count = done.split()[-1]
            return int(count) if count.isdigit() else -1

        return self._connected(database, change)

    @contextmanager
    def locked(self, key: int, database: str) -> Iterator[None]:
        """Hold an advisory lock of a database."""
        holding = subprocess.Popen(
            [binaries() / "psql", "--quiet", "--tuples-only", self.url(database)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert holding.stdin is not None
        assert holding.stdout is not None
        try:
            holding.stdin.write(f"SELECT 'held' FROM pg_advisory_lock({key});\n")
            holding.stdin.flush()
            assert holding.stdout.readline().strip() == "held"
            yield
        finally:
            holding.communicate()

    def _connected(
        self, database: str, work: Callable[[asyncpg.Connection], Coroutine[Any, Any, T]]
    ) -> T:
        async def connected() -> T:
            connection = await asyncpg.connect(self.url(database))
            try:
                return await work(connection)
            finally:
                await connection.close()

        return _elsewhere(connected())

    def _run(self, program: str, *arguments: str) -> None:
        path = binaries() / program
        done = subprocess.run(
            [path, *arguments],
            **self.as_user,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if program == "initdb" else subprocess.DEVNULL,
            stderr=subprocess.STDOUT if program == "initdb" else subprocess.DEVNULL,
            check=False,
        )
        said = (done.stdout or b"").decode()
        assert done.returncode == 0, f"{program} {' '.join(arguments)}: {said}{self.log()}"

    @property
    def as_user(self) -> dict[str, Any]:
        """The arguments by which a program is run as the server's user."""
        if self._user is None:
            return {}
        return {"user": self._user, "group": pwd.getpwuid(self._user).pw_gid, "extra_groups": []}

    def log(self) -> str:
        """Return what it has logged."""
        log = self.folder / "log"
        return log.read_text("utf-8", "replace") if log.exists() else ""


def _user() -> int | None:
    """Return the user that runs it where this one is root, which no PostgreSQL server runs as."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_uid
        except KeyError:
            continue
    raise AssertionError("no user but root: PostgreSQL runs as none but another")


@cache
def binaries() -> Path:
    """Return the folder of PostgreSQL's programs; skips the test, in CI fails, where none is."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=_major)
    on_path = shutil.which("initdb")
    if found or on_path:
        return found[-1].parent if found else Path(str(on_path)).resolve().parent
    message = "PostgreSQL is not installed: .ci/peers installs it"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


def _major(program: Path) -> int:
    return int(program.parts[-3])


@cache
def server() -> PostgresServer:
    """Return the session's server, started, with a database of the newest schema to copy."""
    started = PostgresServer()
    atexit.register(started.remove)
    started.start()
    started.ask(f"CREATE DATABASE {_TEMPLATE}")
    _elsewhere(_make(read_url(started.url(_TEMPLATE), "template")))
    return started


async def _make(place: StorePlace) -> None:
    async with making(place):
        pass


@cache
def _file() -> Path:
    """Return the session's file of the newest schema, to copy: making its tables takes longer."""
    folder = Path(mkdtemp(prefix="metaserver-store-"))
    atexit.register(shutil.rmtree, folder)
    _elsewhere(_make(folder / STORE_FILE))
    return folder / STORE_FILE


def _file_at(path: Path) -> None:
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copy(_file(), path)


def _elsewhere(work: Coroutine[Any, Any, T]) -> T:
    """Run something to its end, also where an event loop runs already."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


_numbers = itertools.count(1)


_databases: dict[Path, PostgresUrl] = {}


def database_of(path: Path) -> PostgresUrl:
    """Return the database that stands for a file, made when it is first asked for."""
    if path not in _databases:
        name = f"hub_{next(_numbers)}"
        server().ask(f"CREATE DATABASE {name} TEMPLATE {_TEMPLATE}")
        _databases[path] = read_url(server().url(name), "store")
    return _databases[path]


def drop_below(folder: Path) -> None:
    """Drop the databases of files in a folder, which nobody needs any more."""
    for path in [path for path in _databases if path.is_relative_to(folder)]:
        server().ask(f"DROP DATABASE {_databases.pop(path).database} WITH (FORCE)")


def place_of(path: Path, kind: str = "") -> StorePlace:
    """Return where the empty store of a test is: a file, or the database that stands for it."""
    if (kind or chosen[0]) != SQLITE:
        return database_of(path)
    _file_at(path)
    return path


def setting_of(folder: Path) -> Mapping[str, str]:
    """Return the settings of a hub for its store: none for a file in its folder, which is made."""
    if chosen[0] != SQLITE:
        return {"store": database_of(folder).secret}
    _file_at(folder / STORE_FILE)
    return {}


@contextmanager
def own_server(*, within: Path | None = None, **settings: str) -> Iterator[PostgresServer]:
    """Run a server for one test, with its data `within` a folder."""
    own = PostgresServer({**_SETTINGS, **settings}, within=within)
    try:
        own.start()
        yield own
    finally:
        own.remove()
