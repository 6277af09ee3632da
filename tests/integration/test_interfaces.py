"""One challenge, three teams, three interfaces: what each leads to is the same."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import sys
import xmlrpc.client
import zipfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession
from aiohttp.test_utils import TestServer

from annotators.contract import Answer, Context
from annotators.server import Kit
from metaserver.lifecycle import Role
from metaserver.operations.catalogue import OPERATIONS
from metaserver.operations.outline import Kind, Outline
from metaserver.store import tokens
from metaserver.web.service import make_service_app
from tests.integration.hub import DEMO, answer_for
from tests.integration.kits import served
from tests.integration.service import Running, at_work, settings

TEAMS = ("blue", "green", "red")
ARTICLES = 32


class RefusedByHubError(Exception):
    """What an interface said that a hub refused: the status, and the field with its message."""


@dataclass(frozen=True)
class Http:
    """JSON over HTTP."""

    url: str
    folder: Path

    async def do(self, name: str, token: str, **values: Any) -> Any:
        operation = OPERATIONS[name]
        outline = Outline.of(operation)
        path = operation.path.format_map(
            {given.name: values.pop(given.name) for given in outline.in_path}
        )
        given = (
            {"params": values}
            if operation.method == "GET"
            else {"json": {key: encoded(value) for key, value in values.items()}}
        )
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with (
            ClientSession(headers=headers) as client,
            client.request(operation.method, f"{self.url}/api/v1{path}", **given) as response,
        ):
            told = json.loads(await response.read() or b"null")
        if response.status >= 400:
            error = told["error"]
            raise RefusedByHubError(error["status"], f"{error.get('field')}: {error['message']}")
        return told


def encoded(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


@dataclass(frozen=True)
class Rpc:
    """XML-RPC, with the standard library's client."""

    url: str
    folder: Path

    async def do(self, name: str, token: str, **values: Any) -> Any:
        operation = OPERATIONS[name]
        places = [values.pop(given.name) for given in Outline.of(operation).in_path]
        params = [*([token] if operation.role else []), *places, *([values] if values else [])]

        def call() -> Any:
            with xmlrpc.client.ServerProxy(f"{self.url}/xmlrpc/", use_builtin_types=True) as hub:
                return getattr(hub, operation.rpc)(*params)

        try:
            return await asyncio.to_thread(call)
        except xmlrpc.client.Fault as fault:
            raise RefusedByHubError(fault.faultCode, fault.faultString) from None


@dataclass(frozen=True)
class Command:
    """The command line, as a process."""

    url: str
    folder: Path

    async def do(self, name: str, token: str, **values: Any) -> Any:
        outline = Outline.of(OPERATIONS[name])
        words = [outline.noun, outline.verb]
        words += [str(values.pop(given.name)) for given in outline.in_path]
        known = {given.name: given for given in outline.by_name}
        for key, value in values.items():
            if known[key].kind is Kind.FILE:
                path = self.folder / str(values["source"])
                path.write_bytes(value)
                value = path
            several = value if isinstance(value, list | tuple) else [value]
            words += [known[key].option, *map(str, several)]
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "metaserver.cli", *words, "--json",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=os.environ | {"METASERVER_URL": self.url, "METASERVER_TOKEN": token},
        )  # fmt: skip
        out, err = await process.communicate()
        if process.returncode == 1:
            told, _, status = err.decode().strip().removesuffix(")").rpartition(" (")
            raise RefusedByHubError(int(status), told.removeprefix("metaserver: "))
        assert process.returncode == 0, err
        return json.loads(out)


INTERFACES: dict[str, Callable[[str, Path], Http | Rpc | Command]] = {
    "json": Http,
    "xmlrpc": Rpc,
    "command": Command,
}


@dataclass(frozen=True)
class Hub:
    """A hub at work, and the token of its first organiser."""

    running: Running
    url: str
    organiser: str


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[Hub]:
    async with (
        at_work(await settings(tmp_path)) as running,
        TestServer(make_service_app(running.service)) as server,
    ):
        async with running.service.store.writing() as connection:
            _, secret = await tokens.issue(connection, Role.ORGANISER, "ana")
        yield Hub(running, str(server.make_url("/")).rstrip("/"), secret)


@asynccontextmanager
async def team_servers() -> AsyncIterator[dict[str, str]]:
    """Serve one annotation server for each team; they answer by the text alone."""

    def annotate(text: str, _: Context) -> Answer:
        return answer_for(text)

    async with AsyncExitStack() as stack:
        yield {team: await stack.enter_async_context(served(Kit(annotate))) for team in TEAMS}


def articles() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path in sorted((DEMO / "articles").iterdir()):
            archive.writestr(path.name, path.read_bytes())
    return packed.getvalue()


@pytest.mark.parametrize("interface", INTERFACES)
async def test_a_challenge_through_one_interface(hub: Hub, interface: str, tmp_path: Path) -> None:
    ask = INTERFACES[interface](hub.url, tmp_path)
    ana = hub.organiser
    await ask.do("challenges.set", ana, challenge="bc", title="A challenge")
    made = await ask.do("corpora.import", ana, corpus="demo", content=articles(), source="demo.zip")
    assert made["articles"] == ARTICLES
    await ask.do(
        "phases.create", ana, challenge="bc", phase="test", corpus="demo", release="test",
        tasks=["ACT", "INT"], visibility="public",
    )  # fmt: skip
    for task in ("ACT", "INT"):
        gold = DEMO / f"gold_{task.lower()}.tsv"
        await ask.do("gold.set", ana, phase="test", task=task, content=gold.read_bytes(),
                     source=gold.name)  # fmt: skip
    secrets = {}
    async with team_servers() as urls:
        for team, url in urls.items():
            await ask.do("teams.create", ana, team=team, title=f"Team {team}")
            secret = (await ask.do("tokens.create", ana, team=team))["token"]
            secrets[team] = secret
            await ask.do("servers.register", secret, server=f"{team}-1", url=url, tasks=["INT"])
            assert (await ask.do("servers.test", secret, server=f"{team}-1"))["passed"]
        with pytest.raises(RefusedByHubError) as caught:
            await ask.do("servers.start", secrets["blue"], server="blue-1")
        assert caught.value.args == (409, "phase: no phase is open")
        await ask.do("phases.open", ana, phase="test")
        await ask.do("servers.start", secrets["blue"], server="blue-1", phase="test")
        await ask.do("servers.start", secrets["green"], server="green-1")
        await ask.do("servers.start", ana, server="red-1")
        watch = hub.running.service.phase("test").boards.watch
        await hub.running.until(
            lambda: all(watch.status(f"{team}-1").done == ARTICLES for team in TEAMS)
        )
    with pytest.raises(RefusedByHubError) as caught:
        await ask.do("servers.get", secrets["blue"], server="red-1")
    assert caught.value.args == (404, "server: there is no server 'red-1' among yours")
    told = await ask.do("servers.attempts", secrets["red"], server="red-1", limit=3)
    assert len(told) == 3
    assert (await ask.do("phases.freeze", ana, phase="test"))["state"] == "frozen"
    board = await ask.do("boards.get", "", phase="test", task="INT")
    assert sorted((row["run"], row["team"]) for row in board["rows"]) == [
        (f"{team}-1", team) for team in TEAMS
    ]
    assert all(row["articles_scored"] == row["articles_in_gold"] for row in board["rows"])
    values = board["rows"][0]["values"]
    assert [row["values"] for row in board["rows"]] == [values] * len(TEAMS)
    check_same(interface, board["columns"], values)
    log = await ask.do("audit.list", ana, limit=100)
    assert {"phases.create", "gold.set", "servers.start"} <= {one["action"] for one in log}
    assert not any(secret in str(log) for secret in [ana, *secrets.values()])


_seen: dict[str, Any] = {}


def check_same(interface: str, *values: Any) -> None:
    """Hold what an interface led to against the others' so far."""
    _seen[interface] = values
    assert all(other == values for other in _seen.values())


async def test_every_method_and_path_is_there_for_who_has_no_token(hub: Hub) -> None:
    """Through the gate, no operation that needs a role does anything without one."""
    async with ClientSession() as client:
        for operation in OPERATIONS.values():
            path = operation.path.replace("{", "").replace("}", "")
            url = f"{hub.url}/api/v1{path}"
            async with client.request(operation.method, url) as response:
                await response.read()
                assert response.status != 405
                assert (response.status == 401) == (operation.role is not None), operation.rpc


@pytest.mark.parametrize("path", ["/api/", "/xmlrpc/", "/xmlrpc"])
async def test_the_pages_list_every_operation(hub: Hub, path: str) -> None:
    async with ClientSession() as client, client.get(f"{hub.url}{path}") as response:
        assert response.status == 200
        text = await response.text()
    assert not [one.rpc for one in OPERATIONS.values() if one.rpc not in text]


async def test_a_wrong_token_in_a_call_is_throttled(hub: Hub) -> None:
    """As in a head: who guesses has to wait, and is told so as a fault."""
    rpc = Rpc(hub.url, Path())
    codes = set()
    for _ in range(7):
        guesses = [{"methodName": "Tokens.whoami", "params": ["bcms_t" + "A" * 43]}] * 100
        body = xmlrpc.client.dumps((guesses,), "system.multicall").encode()
        async with (
            ClientSession() as client,
            client.post(f"{rpc.url}/xmlrpc/", data=body) as response,
        ):
            answer = await response.read()
        try:
            (told,), _ = xmlrpc.client.loads(answer)
        except xmlrpc.client.Fault as fault:  # each guess counts: no more calls at all
            told = [{"faultCode": fault.faultCode}]
        codes |= {one["faultCode"] for one in told}
    assert codes == {401, 429}
