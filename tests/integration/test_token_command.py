"""`metaserver token` on a store, with a hub on it and without; tokens as operations."""

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from aiohttp import ClientSession, DummyCookieJar

from metaserver.base.errors import Refusal
from metaserver.base.records import TeamName
from metaserver.base.states import Role
from metaserver.operations.caller import Caller
from metaserver.operations.first_organiser import PATH
from metaserver.operations.tokens import IssuedToken
from metaserver.store import audit, teams, tokens
from metaserver.store.store import open_store
from tests.hubs.command import metaserver
from tests.hubs.inside import ORGANISER, Running, at_work, settings
from tests.hubs.process import Hub, hub_at
from tests.waiting import until

pytestmark = pytest.mark.slow


async def printed(*arguments: object) -> str:
    ended = await metaserver("token", *arguments)
    assert (ended.status, ended.stderr) == (0, "")
    return ended.stdout.strip()


async def refused(*arguments: object) -> str:
    ended = await metaserver("token", *arguments)
    assert (ended.status, ended.stdout) == (2, "")
    return ended.stderr.strip()


@pytest.mark.one_store("the command is given a file")
async def test_the_first_token_makes_the_store(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(f"folder: {tmp_path / 'hub'}\n")
    secret = await printed("create", "--role", "organiser", "--label", "ana", "--config", config)
    path = tmp_path / "hub" / "metaserver.sqlite"
    async with open_store(path) as store, store.reading() as connection:
        token = await tokens.find(connection, secret, 0.0)
        (noted,) = await audit.entries(connection)
    assert (token.bearer, token.expires_at) == ("organiser ana", None)
    assert noted.actor.startswith("command line")
    assert noted.action == "tokens.create"
    assert secret not in str(noted)


@pytest.mark.one_store("it looks into the file")
async def test_first_organiser_signs_in_by_the_link_that_a_start_prints(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(f"folder: {tmp_path / 'hub'}\nweb: {{port: 0}}\n")
    async with hub_at(config) as hub:
        early = await printed_link(hub)
    async with hub_at(config) as hub, ClientSession(cookie_jar=DummyCookieJar()) as web:
        link = await printed_link(hub)
        secret = link.rpartition("/")[2].encode()
        stored = (tmp_path / "hub").rglob("*")
        assert not [path for path in stored if path.is_file() and secret in path.read_bytes()]
        replaced = hub.address + urlsplit(early).path[1:]
        answers = [await answer(web, "POST", one) for one in (replaced, link, link)]
        assert [status for status, _ in answers] == [404, 200, 404]
        token = tokens.FORM.search(answers[1][1])
        assert token
        status, me = await answer(web, "GET", f"{hub.address}api/v1/whoami", token[0])
        assert (status, json.loads(me)["name"]) == (200, "organiser first")
        assert not [line for line in hub.log if token[0] in line]


async def answer(web: ClientSession, method: str, url: str, token: str = "") -> tuple[int, str]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with web.request(method, url, headers=headers) as response:
        return response.status, await response.text()


async def printed_link(hub: Hub) -> str:
    """Return the link that a hub printed at the end of its start."""
    await until(lambda: any(PATH in line for line in hub.log))
    [link] = [line.split()[-1] for line in hub.log if PATH in line]
    assert link.startswith(hub.address + PATH[1:])
    return link


@pytest.mark.one_store("the command is given a file")
async def test_tokens_are_made_and_revoked_beside_a_running_hub(tmp_path: Path) -> None:
    path = tmp_path / "hub.sqlite"
    async with open_store(path) as store:
        async with store.writing() as connection:
            await teams.add(connection, "blue", "", "")
        made = await asyncio.gather(
            printed("create", "--role", "team", "--team", "blue", "--expires", 1, "--store", path),
            printed("create", "--role", "reader", "--store", path),
        )
        async with store.reading() as connection:
            found = [await tokens.find(connection, secret, 0.0) for secret in made]
        assert [token and token.bearer for token in found] == ["team blue", "reader"]
        listed = await printed("list", "--store", path)
        assert "\tteam\tblue\t\tholds until " in listed
        assert not any(secret in listed for secret in made)
        assert found[0]
        await printed("revoke", found[0].id, "--store", path)
        assert "\trevoked\t" in await printed("list", "--store", path)
        async with store.reading() as connection:
            assert await tokens.find(connection, made[0], 0.0) is None


@pytest.mark.one_store("the command is given a file")
async def test_what_cannot_be_is_told_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "hub.sqlite"
    create = ("create", "--store", path, "--role")
    for arguments, told in (
        ((*create, "team"), "--team: a team's token needs its team"),
        ((*create, "team", "--team", "red"), f"--team: there is no team 'red' in {path}"),
        (
            (*create, "organiser", "--team", "red"),
            "--team: must be empty: a token with the role organiser belongs to no team",
        ),
        (
            (*create, "curator", "--team", "red"),
            "--team: must be empty: a token with the role curator belongs to no team",
        ),
        ((*create, "reader", "--expires", 0), "--expires: 0; expected days"),
        ((*create, "reader", "--label", "a\nb"), "--label: expected at most 100 printable"),
        (("revoke", 7, "--store", path), f"ID: there is no token 7 in {path}"),
    ):
        assert (await refused(*arguments)).startswith(f"metaserver: {told}")
    with closing(sqlite3.connect(path)) as kept:
        assert kept.execute("SELECT count(*) FROM tokens").fetchone() == (0,)
    path.write_bytes(b"something else" * 1000)
    assert "not a hub's SQLite store" in await refused("list", "--store", path)


async def refusal(running: Running, name: str, caller: Caller, **values: object) -> Refusal:
    caught = await running.refused(name, caller, **values)
    return caught.refusal


async def test_a_team_has_its_own_tokens_and_an_organiser_all(tmp_path: Path) -> None:
    async with at_work(await settings(tmp_path)) as running:
        for name in ("green", "violet"):
            await running.do("teams.create", team=name)
        green, violet = running.team("green"), running.team("violet")
        first = await running.do("tokens.create", role="team", team="green", label="a", days=1)
        second = await running.do("tokens.create", green, role="reader")
        third = await running.do("tokens.create", violet, role="team", team="violet")
        fourth = await running.do("tokens.create", role="organiser", label="bob")
        assert [made.team for made in (first, second, third, fourth)] == [
            "green", "green", "violet", None,
        ]  # fmt: skip
        assert [made.id for made in await running.do("tokens.list", green)] == [first.id, second.id]
        assert len(await running.do("tokens.list")) >= 4
        assert all(not hasattr(told, "token") for told in await running.do("tokens.list"))
        of_green = await running.do("tokens.list", team="green")
        assert [made.id for made in of_green] == [first.id, second.id]
        assert await refusal(running, "tokens.list", green, team="blue") is Refusal.NOT_YOURS
        assert await refusal(running, "tokens.list", ORGANISER, team="nobody") is Refusal.UNKNOWN
        for role, team, expected in (
            ("organiser", None, Refusal.NOT_YOURS),
            ("curator", None, Refusal.NOT_YOURS),
            ("team", "violet", Refusal.NOT_YOURS),
            ("reader", "violet", Refusal.NOT_YOURS),
            ("king", None, Refusal.INVALID),
        ):
            given = {"role": role} | ({"team": team} if team else {})
            assert await refusal(running, "tokens.create", green, **given) is expected
        reader = Caller(role=Role.READER, name="reader")
        assert await refusal(running, "tokens.list", reader) is Refusal.NOT_YOURS
        assert await refusal(running, "tokens.list", Caller()) is Refusal.TOKEN
        assert await refusal(running, "tokens.revoke", green, id=third.id) is Refusal.UNKNOWN
        assert await refusal(running, "tokens.revoke", green, id=fourth.id) is Refusal.UNKNOWN
        await running.do("tokens.revoke", green, id=first.id)
        assert await refusal(running, "tokens.revoke", green, id=first.id) is Refusal.STATE
        await running.do("tokens.revoke", id=third.id)
        store = running.service.store
        async with store.reading() as connection:
            held = [
                await tokens.find(connection, made.token, 0.0) is not None
                for made in (first, second, third, fourth)
            ]
            log = str(await audit.entries(connection))
        assert held == [False, True, False, True]
        assert not any(made.token in log for made in (first, second, third, fourth))
        assert "tokens.revoke" in log


def holder(issued: IssuedToken) -> Caller:
    """Return who asks with a token."""
    team = TeamName(issued.team) if issued.team else None
    return Caller(role=issued.role, team=team, token_id=issued.id, name=str(issued.role))


async def test_what_a_token_made_ends_with_it(tmp_path: Path) -> None:
    async with at_work(await settings(tmp_path)) as running:
        for name in ("green", "violet"):
            await running.do("teams.create", team=name)
        short = await running.do("tokens.create", role="organiser", days=1)
        lasting = await running.do("tokens.create", holder(short), role="organiser")
        longer = await running.do("tokens.create", holder(short), role="organiser", days=30)
        green = await running.do("tokens.create", holder(lasting), role="team", team="green")
        shorter = await running.do("tokens.create", holder(green), role="reader", days=0.5)
        assert lasting.expires_at == longer.expires_at == green.expires_at == short.expires_at
        assert shorter.expires_at < short.expires_at

        listed = {one.id: one for one in await running.do("tokens.list")}
        assert (listed[shorter.id].parent, listed[green.id].parent) == (green.id, lasting.id)
        seen = await running.do("tokens.list", holder(green))
        assert [(one.id, one.parent) for one in seen] == [  # nothing of organisers' tokens
            (green.id, None), (shorter.id, green.id),
        ]  # fmt: skip

        await running.do("tokens.revoke", id=lasting.id)
        assert await refusal(running, "tokens.create", holder(lasting), role="reader") is (
            Refusal.TOKEN  # it asked before it was revoked, and comes to its turn afterwards
        )
        given = {"id": short.id, "made_with_it": True}
        violet = running.team("violet")
        assert await refusal(running, "tokens.revoke", violet, **given) is Refusal.UNKNOWN
        await running.do("tokens.revoke", **given)
        assert await refusal(running, "tokens.revoke", ORGANISER, **given) is Refusal.STATE
        listed = {one.id: one for one in await running.do("tokens.list")}
        made = (short, lasting, longer, green, shorter)
        assert all(listed[one.id].revoked_at for one in made)
        [entry, *_] = await running.do("audit.list", subject=f"token {short.id}")
        assert entry.detail["others"] == [longer.id, green.id, shorter.id]


@pytest.mark.one_store("the command is given a file")
async def test_all_that_a_token_made_is_revoked_at_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "hub.sqlite"
    await printed("create", "--role", "organiser", "--store", path)
    async with open_store(path) as store, store.writing() as connection:
        child, secret = await tokens.issue(connection, Role.READER, "child", parent=1)
    assert f"{child}\treader\t\tchild\tholds\t" in (await printed("list", "--store", path))
    assert (await printed("list", "--store", path)).rstrip().endswith("never\t1")
    await printed("revoke", 1, "--made-with-it", "--store", path)
    async with open_store(path) as store, store.reading() as connection:
        assert await tokens.find(connection, secret, 0.0) is None
