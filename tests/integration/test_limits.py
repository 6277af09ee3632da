"""One client's requests, however made, leave the hub to the others; what interfaces list."""

import itertools
import os
import time
import xmlrpc.client
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from xmlrpc.client import Fault, dumps, loads

import pytest
from aiohttp import ClientSession
from aiohttp.test_utils import TestClient

from metaserver.base.compression import pack
from metaserver.base.states import Control, Role, ServerState
from metaserver.cli.catalogue import OPERATIONS
from metaserver.config import WebSettings
from metaserver.phases.runtime import Part
from metaserver.publication.operations.data_packages import data_of
from metaserver.publication.operations.results import package_of
from metaserver.store import servers, states, teams, tokens
from metaserver.store.tables import attempts, raw_answers
from metaserver.web.access.auth import GATE
from metaserver.web.api import xmlrpc_api
from tests.hubs.inside import ORGANISER, Running, at_work, plan_phase, settings
from tests.hubs.sites import client_of, site_of

SIZE = 6 * 2**20  # of a raw answer


@asynccontextmanager
async def hub(folder: Path, **web: Any) -> AsyncIterator[tuple[Running, TestClient[Any, Any]]]:
    given = await settings(folder, web=WebSettings(**web))
    async with at_work(given) as running, client_of(running) as client:
        await running.do("teams.create", team="blue")
        yield running, client


async def token(running: Running, role: Role = Role.TEAM) -> str:
    """Make one more token of team blue."""
    async with running.service.store.writing() as connection:
        team = await teams.get(connection, "blue")  # type: ignore[arg-type]
        return (await tokens.issue(connection, role, "x", team_id=team.id))[1]


async def call(client: TestClient[Any, Any] | ClientSession, method: str, *params: Any) -> Any:
    """Call a method; raises `Fault`."""
    async with client.post("/xmlrpc/", data=dumps(params, method)) as response:
        return loads(await response.read(), use_builtin_types=True)[0][0]


async def test_each_call_of_a_multicall_counts(tmp_path: Path) -> None:
    async with hub(tmp_path, anonymous_requests_a_minute=20) as (_, client):
        calls = [{"methodName": "Phases.list", "params": []}] * 100
        answers = await call(client, "system.multicall", calls)
        done = [answer for answer in answers if isinstance(answer, list)]
        assert len(done) == 19
        assert {answer["faultCode"] for answer in answers[19:]} == {429}
        with pytest.raises(Fault, match="too many requests"):
            await call(client, "system.listMethods")


async def test_all_tokens_of_a_team_share_its_requests(tmp_path: Path) -> None:
    async with hub(tmp_path, requests_a_minute=10) as (running, client):
        statuses = []
        for role in (Role.TEAM, Role.TEAM, Role.READER):
            head = {"Authorization": f"Bearer {await token(running, role)}"}
            for _ in range(5):
                async with client.get("/api/v1/whoami", headers=head) as response:
                    statuses.append(response.status)
        assert statuses == [200] * 10 + [429] * 5


async def test_the_work_of_a_call_is_charged_to_the_token_within_it(tmp_path: Path) -> None:
    """Whoever asks by XML-RPC from many addresses takes no more than by one."""
    async with hub(tmp_path) as (running, client):
        assert client.app is not None
        client.app[GATE].work = itertools.count(step=9).__next__  # seconds, each step
        head = {"Authorization": f"Bearer {await token(running)}"}
        await call(client, "Tokens.whoami", await token(running))
        async with client.get("/api/v1/whoami", headers=head) as response:
            assert response.status == 429
            assert "too much of the hub's time" in await response.text()


async def with_raw_answers(running: Running, count: int, size: int = SIZE) -> None:
    """Let team blue's server have sent some large answers."""
    await plan_phase(running, is_open=True)
    blue = running.team("blue")
    await running.do("servers.register", blue, server="blue-1", url="http://127.0.0.1:1/")
    registered = await running.service.server(blue, "blue-1")
    phase = running.service.phase("test")
    key = phase.key(registered)
    row = {"phase_id": key.phase_id, "server_id": key.server_id, "position": 0}
    kept = {"started_at": 1.0, "outcome": "syntax", "message": "", "total": 1.0, "bytes_out": 1,
            "bytes_in": size, "problem_count": 0, "final": False, "epoch": 0}  # fmt: skip
    async with running.service.store.writing() as connection:
        await servers.set_control(connection, key, Control.PAUSED)
        for number in range(1, count + 1):
            await connection.execute(attempts.insert().values(**row, number=number, **kept))
            body = pack(bytes(size))
            await connection.execute(raw_answers.insert().values(**row, number=number, body=body))
    await phase.reload(Part.SERVERS, "blue-1")


async def test_files_are_given_a_few_at_a_time(tmp_path: Path) -> None:
    async with hub(tmp_path) as (running, client):
        await with_raw_answers(running, 1)
        head = {"Authorization": f"Bearer {await token(running)}"}
        article = running.service.phase("test").corpus.ids[0]
        address = f"/api/v1/servers/blue-1/attempts/{article}/1"
        assert client.app is not None
        downloads = client.app[GATE].downloads
        async with ClientSession(client.make_url("/"), headers=head) as slow:
            held = [await slow.get(address) for _ in range(2)]  # and their bodies are not read
            assert [response.status for response in held] == [200, 200]
            await running.until(lambda: len(downloads) == 2)
            async with slow.get(address) as response:
                assert response.status == 429
                assert response.headers["Retry-After"]
            with pytest.raises(Fault, match="too many files"):
                await call(slow, "Servers.answer", await token(running), "blue-1", article, 1)
            for response in held:
                assert len(await response.read()) > SIZE
            await running.until(lambda: not len(downloads))
            async with slow.get(address) as response:
                assert response.status == 200


@pytest.mark.slow
async def test_stored_zips_are_sent_a_few_at_a_time(tmp_path: Path) -> None:
    async with hub(tmp_path) as (running, client):
        await with_raw_answers(running, 1)
        await running.do("phases.freeze", phase="test")
        await running.do("results-package.make", phase="test")
        await running.do("data-package.release", phase="test")
        organiser = await running.do("tokens.create", role="organiser", label="ana")
        package = await package_of(running.service, ORGANISER, "test")
        assert package
        data = data_of(running.service, ORGANISER, "test")
        assert client.app is not None
        downloads = client.app[GATE].downloads
        head = {"Authorization": f"Bearer {organiser.token}"}
        for path, address in {
            package: "/organise/phases/test/results/package",
            data: "/c/bc/test/data/package",
        }.items():
            os.truncate(path, 2**26)  # more than sockets take: its sending waits for a reader
            async with ClientSession(client.make_url("/"), headers=head) as slow:
                held = [await slow.get(address) for _ in range(2)]
                assert [response.status for response in held] == [200, 200], address
                await running.until(lambda: len(downloads) == 2)
                async with slow.get(address) as response:
                    assert response.status == 429, address
                    assert response.headers["Retry-After"]
                for response in held:
                    response.close()
                await running.until(lambda: not len(downloads))
                async with slow.get(address, headers={"Range": "bytes=2-9"}) as response:
                    assert (response.status, len(await response.read())) == (206, 8)
                await running.until(lambda: not len(downloads))


async def test_some_downloads_are_kept_for_who_is_signed_in(tmp_path: Path) -> None:
    async with hub(tmp_path) as (_, client):
        assert client.app is not None
        downloads = client.app[GATE].downloads
        taken = [downloads.take(f"10.0.0.{n}", lambda: True) for n in range(20)]
        assert sum(one is not None for one in taken) == 4
        assert downloads.take("team blue", lambda: True, favoured=True)


@pytest.mark.slow
async def test_the_answers_of_a_multicall_are_bounded(tmp_path: Path) -> None:
    async with hub(tmp_path) as (running, client):
        await with_raw_answers(running, 1)
        article = running.service.phase("test").corpus.ids[0]
        params = [await token(running), "blue-1", article, 1]
        calls = [{"methodName": "Servers.answer", "params": params}] * 6
        answers = await call(client, xmlrpc_api.MULTICALL, calls)
    sizes = [len(answer[0]["raw"]) for answer in answers if isinstance(answer, list)]
    assert sizes == [SIZE] * 2  # base64 makes a little more than 8 MiB of each
    assert {answer["faultCode"] for answer in answers[2:]} == {413}


async def test_other_ways_to_sign_in_are_refused_and_counted(tmp_path: Path) -> None:
    async with hub(tmp_path, anonymous_requests_a_minute=3) as (_, client):
        statuses = []
        for _ in range(5):
            head = {"Authorization": "Basic Ymx1ZTpibHVl"}
            async with client.get("/api/v1/phases", headers=head) as response:
                statuses.append(response.status)
        assert statuses == [401] * 3 + [429] * 2


async def test_whether_there_is_another_team_is_not_told(tmp_path: Path) -> None:
    async with hub(tmp_path) as (running, _):
        await plan_phase(running, teams=["red"])
        told = []
        for team in ("red", "nobody"):
            refused = await running.refused(
                "runs.list", running.team("blue"), phase="test", team=team
            )
            told.append(str(refused))
        assert told[0] == told[1]


@pytest.mark.both_stores
async def test_the_newest_changes_of_a_server_are_read_alone(tmp_path: Path) -> None:
    async with hub(tmp_path) as (running, _):
        await with_raw_answers(running, 0)
        registered = await running.service.server(running.team("blue"), "blue-1")
        key = running.service.phase("test").key(registered)
        later = time.time() + 1_000  # than what is kept of the server itself meanwhile
        changes = [
            states.StateChange(key=key, at=later + step, state=ServerState.UP) for step in range(8)
        ]
        async with running.service.store.writing() as connection:
            await states.add(connection, changes)
            newest = await states.list_changes(connection, key, limit=3)
            every = await states.list_changes(connection, key)
    assert [change.at for change in newest] == [change.at for change in every][-3:]
    assert [change.at for change in every] == sorted(change.at for change in every)


@pytest.fixture
async def address(tmp_path: Path) -> AsyncIterator[str]:
    async with at_work(await settings(tmp_path)) as running, site_of(running) as server:
        yield str(server.make_url("/")).rstrip("/")


@pytest.mark.parametrize("path", ["/api/", "/xmlrpc/", "/xmlrpc"])
async def test_the_pages_list_every_operation(address: str, path: str) -> None:
    async with ClientSession() as client, client.get(f"{address}{path}") as response:
        assert response.status == 200
        text = await response.text()
    assert not [one.rpc for one in OPERATIONS.values() if one.rpc not in text]


@pytest.mark.slow
async def test_a_wrong_token_in_a_call_is_throttled(address: str) -> None:
    """As in a header: a client that guesses has to wait, and gets a fault that says so."""
    codes: set[int] = set()
    while 429 not in codes:
        guesses = [{"methodName": "Tokens.whoami", "params": ["bcms_t" + "A" * 43]}] * 100
        body = xmlrpc.client.dumps((guesses,), "system.multicall").encode()
        async with (
            ClientSession() as client,
            client.post(f"{address}/xmlrpc/", data=body) as response,
        ):
            answer = await response.read()
        try:
            (told,), _ = xmlrpc.client.loads(answer)
        except xmlrpc.client.Fault as fault:  # each guess counts: no more calls at all
            told = [{"faultCode": fault.faultCode}]
        codes |= {one["faultCode"] for one in told}
    assert codes == {401, 429}
