"""The `metaserver serve` command as a process, called over its JSON API."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Self

import aiohttp
import yaml

from tests import stores
from tests.hubs.command import metaserver, start
from tests.hubs.release import release_at
from tests.waiting import PATIENCE, patience

STORE = "metaserver.sqlite"


class RefusedRequestError(Exception):
    """An error response of the hub."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        self.message = message
        super().__init__(f"{status}: {message}")


async def write_config(folder: Path, name: str = "hub", **changes: Any) -> Path:
    """Write the settings of a hub with its store in `folder / name`; return their file."""
    release = folder / "releases" / "test"
    if not release.exists():
        release_at(release)
    settings: dict[str, Any] = {
        "folder": str(folder / name),
        "uniprot": {"releases": str(folder / "releases")},
        "limits": {"timeout": 60, "connect": 5},
        "retry": {"base": 0.01, "cap": 0.05},
        "web": {
            "port": 0,
            "trusted_proxies": ["127.0.0.1/32"],  # the tests give requests their ids
            "requests_a_minute": 1_000_000,
            "anonymous_requests_a_minute": 1_000_000,
        },
        "security": {"allow_networks": ["127.0.0.0/8"]},
        "logs": {"level": "warning"},
        **stores.setting_of(folder / name),
    }
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(settings | changes))
    return path


def challenge(
    articles: Path, gold: Mapping[str, Path], phase: str = "test", **plan: Any
) -> Mapping[str, Any]:
    """Return the settings of a challenge with one phase."""
    return {
        "challenge": "bc",
        "phases": [
            {
                "phase": phase,
                "release": "test",
                "articles": [str(articles)],
                "gold": {task: str(path) for task, path in gold.items()},
                "visibility": "public",
                **plan,
            }
        ],
    }


async def new_token(config: Path) -> str:
    """Create an organiser's token in the hub's store."""
    ended = await metaserver("token", "create", "--role", "organiser", "--config", config)
    assert ended.status == 0, ended.stderr
    return ended.stdout.strip()


class Api:
    """The JSON API of a hub, for one token; the address is None while the hub is not running."""

    def __init__(self, session: aiohttp.ClientSession, address: str, token: str = "") -> None:
        self.session = session
        self.address = address
        self.token = token

    def of(self, token: str) -> Self:
        """Return the API for another token."""
        return type(self)(self.session, self.address, token)

    async def __call__(self, method: str, path: str, request_id: str = "", **given: Any) -> Any:
        """Call an operation; `RefusedRequestError`, or `aiohttp.ClientError` for no answer."""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        if request_id:
            headers["X-Request-Id"] = request_id
        sent: dict[str, Any] = {"params" if method == "GET" else "json": given} if given else {}
        url = f"{self.address}api/v1{path}"
        async with self.session.request(method, url, headers=headers, **sent) as response:
            body = await response.read()
            if response.status >= 400:
                raise RefusedRequestError(response.status, body.decode())
            return json.loads(body) if body else None


class Hub:
    """A running `metaserver serve`; `log` are the lines of its standard error."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.address = ""
        self.log: list[str] = []
        self._ready = asyncio.Event()
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def begin(
        cls, config: Path, role: str = "all", module: str = "metaserver.cli.main"
    ) -> Hub:
        """Start a hub, or a process of it with a role, which may not be ready yet."""
        return cls(await start("serve", "--config", config, "--role", role, module=module))

    async def _read(self) -> None:
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            self.log.append(line.decode().rstrip("\n"))
            if "serving at http" in self.log[-1]:
                self.address = self.log[-1].split()[-1]
                self._ready.set()
            elif "working as" in self.log[-1]:
                self.address = "none"
                self._ready.set()
        self._ready.set()

    async def has_begun(self) -> bool:
        """Wait until it answers, or has ended; return whether it answers."""
        await self._ready.wait()
        return bool(self.address)

    async def ready(self) -> Hub:
        """Wait until it answers."""
        async with patience():
            assert await self.has_begun(), self.log
        return self

    async def is_ready(self, session: aiohttp.ClientSession) -> bool:
        """Return whether it says that it is ready for requests."""
        async with session.get(f"{self.address}readyz") as response:
            return response.status == 200

    def kill(self) -> None:
        """Kill it without warning."""
        with suppress(ProcessLookupError):
            self.process.kill()

    async def ended(self, seconds: float = PATIENCE) -> int:
        """Wait until it has ended; return its status."""
        async with asyncio.timeout(seconds):
            await self.process.wait()
            await self._reading
        assert self.process.returncode is not None
        return self.process.returncode


@asynccontextmanager
async def hub_at(config: Path) -> AsyncIterator[Hub]:
    """Run a hub while the context lasts; it is killed at the end if it has not ended."""
    hub = await Hub.begin(config)
    try:
        yield await hub.ready()
    finally:
        hub.kill()
        await hub.ended()


async def checked_server(api: Api, server: str) -> Mapping[str, Any]:
    """Test a server; return the report of the job, which must have ended well."""
    job = await api("POST", f"/servers/{server}/test")
    async with patience():
        while job["ended_at"] is None:
            job = await api("GET", f"/jobs/{job['job']}", wait=10)
    assert job["report"], job
    return dict(job["report"])


async def enrol(organiser: Api, team: str, servers: Mapping[str, str], **given: Any) -> str:
    """Create a team with servers that have passed their test; return its token."""
    await organiser("POST", "/teams", team=team)
    issued = await organiser("POST", "/tokens", role="team", team=team, label="test")
    api = organiser.of(issued["token"])
    for name, url in servers.items():
        await api("POST", "/servers", server=name, url=url, **given)
        report = await checked_server(api, name)
        assert report["passed"], report
    return str(issued["token"])


async def lane(api: Api, server: str) -> Mapping[str, Any]:
    """Return a server's progress in the only phase; empty where it has no lane yet."""
    phases: Sequence[Mapping[str, Any]] = (await api("GET", f"/servers/{server}"))["phases"]
    return phases[0] if phases else {}
