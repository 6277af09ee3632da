"""Credentials of servers: sent as agreed, refused as such, and found nowhere else."""

import asyncio
import base64
import json
import stat
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from metaserver.base.compression import unpack
from metaserver.base.errors import HubError, InputError, PeerError, Refusal
from metaserver.base.records import Access, Attempt, AuthKind, TaskName
from metaserver.base.states import Outcome, ServerState
from metaserver.boards.monitor import LOCKED
from metaserver.cli.doctor import examine
from metaserver.exchange.http.client import open_client
from metaserver.exchange.http.credentials import KEY_FILE, Keyring
from metaserver.exchange.wire.xmlrpc import encode_response
from metaserver.phases import locked
from metaserver.store.copies import copy_store, sealed_secrets
from tests.fakes.web_peer import web_peer
from tests.hubs.command import ARTICLES
from tests.hubs.inside import ORGANISER, Running, at_work, plan_phase, settings
from tests.hubs.sites import organiser_token, signed_in, token_of, visiting
from tests.integration.callers import article_caller, conformance_of, server
from tests.integration.kits import asked_server
from tests.integration.peers import GOOD, answering, peer
from tests.waiting import until

SECRET = "s3cret/+word ünd"
BASIC = base64.b64encode(f"team:{SECRET}".encode()).decode()


def access(keyring: Keyring, kind: str, name: str = "X-Key") -> Access:
    return Access(auth=AuthKind(kind), name=name, sealed=keyring.seal(SECRET))


@pytest.mark.parametrize(
    ("kind", "name", "where", "value"),
    [
        ("basic", "team", "authorization", f"Basic {BASIC}"),
        ("bearer", "", "authorization", f"Bearer {SECRET}"),
        ("header", "X-Key", "x-key", SECRET),
    ],
)
async def test_a_secret_is_sent_in_its_header(kind: str, name: str, where: str, value: str) -> None:
    async with peer(answering(GOOD)) as there, article_caller() as caller:
        keyring = caller._client.keyring
        ended, _ = await caller.call(server(there.url, access=access(keyring, kind, name)), 0, 1)
    assert ended.outcome is Outcome.OK
    assert there.requests[0].headers[where].encode("latin-1").decode() == value


async def test_a_secret_is_sent_in_the_address_or_the_body() -> None:
    async with peer(answering(GOOD)) as there, article_caller() as caller:
        keyring = caller._client.keyring
        for kind in ("query", "body"):
            ended, _ = await caller.call(server(there.url, access=access(keyring, kind)), 0, 1)
            assert ended.outcome is Outcome.OK
    query, body = there.requests
    assert "?X-Key=s3cret/%2Bword+%C3%BCnd" in query.line
    assert f"<string>{SECRET}</string>" in body.body.decode()
    assert body.body.decode().index(SECRET) < body.body.decode().index("TP53")


async def test_what_a_server_sends_back_of_a_secret_is_not_kept() -> None:
    async def echo(request: web.Request) -> web.Response:
        told = request.headers["Authorization"]
        padding = "x" * 65_530  # the secret is in two pieces of what is kept
        return web.Response(status=500, text=f"{padding}{told} {SECRET}", reason=SECRET)

    async with web_peer(echo) as url, article_caller() as caller:
        keyring = caller._client.keyring
        ended, _ = await caller.call(server(url, access=access(keyring, "basic", "team")), 0, 1)
    kept = unpack(ended.raw).decode()
    assert ended.outcome is Outcome.HTTP
    assert "***" in ended.message
    for secret in (SECRET, BASIC):
        assert secret not in ended.message
        assert secret not in kept
    assert kept.endswith("Basic *** ***")


async def test_what_a_server_says_of_a_secret_in_evidence_is_not_kept() -> None:
    hit = {"dbid": "P04637", "rank": 1, "confidence": 0.5, "evidence": f"as {SECRET} says"}
    usual = {"normalizations": [hit]}
    for sent in (usual, usual | {"mentions": [{"offset": 0, "mention": SECRET}]}):
        async with peer(answering(encode_response(sent))) as there, article_caller() as caller:
            keyring = caller._client.keyring
            given = access(keyring, "bearer", "")
            asked = server(there.url, access=given, tasks=(TaskName("INT"),))
            _, checked = await caller.call(asked, 0, 1)
        assert checked is not None
        assert checked.asides is not None
        assert checked.asides.hits == {"INT": [("as *** says", None)]}
        assert [words for _, words, *_ in checked.asides.mentions] == ["***"] * (sent is not usual)


async def failed(secret: str, **answer: str) -> Attempt:
    """Return how an attempt ended at a server with a secret, which fails and says so."""

    async def fail(_request: web.Request) -> web.Response:
        return web.Response(status=500, **answer)

    async with web_peer(fail) as url, article_caller() as caller:
        known = Access(auth=AuthKind.BEARER, sealed=caller._client.keyring.seal(secret))
        ended, _ = await caller.call(server(url, access=known), 0, 1)
        return ended


async def test_a_secret_is_not_kept_however_an_answer_writes_it() -> None:
    secret = 'a/"ü"&<b'
    forms = [json.dumps(secret), json.dumps(secret, ensure_ascii=False), 'a/"ü"&amp;&lt;b']
    forms.append(forms[0].replace("/", "\\/"))
    ended = await failed(secret, text="\n".join(forms))
    assert unpack(ended.raw).decode().splitlines() == ['"***"', '"***"', "***", '"***"']


async def test_a_conformance_run_shows_no_secret() -> None:
    said: list[str] = []

    async def echo(request: web.Request) -> web.Response:
        sent = await request.json()
        if "bcms_further" in sent:  # only the steps of the protocol itself send it
            said.append(request.headers["X-Key"])
            return web.json_response({"message": f"{SECRET} is not enough"}, status=400)
        return web.json_response({"text": sent["text"], "denotations": []})

    async with web_peer(echo) as url, open_client() as client:
        key = access(client.keyring, "header")
        registered = server(url, protocol="pubannotation", access=key)
        found = await conformance_of(registered, client)
    assert said == [SECRET]
    [step] = [step for step in found.steps if step.name == "further member"]
    assert "*** is not enough" in step.message
    assert not any(SECRET in step.message for step in found.steps)


async def test_a_secret_of_another_key_must_be_entered_again() -> None:
    async with peer(answering(GOOD)) as there, article_caller() as caller:
        ended, _ = await caller.call(server(there.url, access=access(Keyring(), "bearer")), 0, 1)
        none = Access(auth=AuthKind.BEARER)
        lost, _ = await caller.call(server(there.url, access=none), 0, 1)
    assert (ended.outcome, lost.outcome) == (Outcome.CREDENTIALS, Outcome.CREDENTIALS)
    assert there.requests == []


def test_the_key_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / KEY_FILE
    sealed = Keyring(path).seal(SECRET)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert SECRET not in sealed
    assert Keyring(path).open(sealed) == SECRET
    assert Keyring(path).seal(SECRET) != sealed
    assert list(tmp_path.iterdir()) == [path]
    path.write_bytes(b"no key")
    with pytest.raises(PeerError, match="cannot be read"):
        Keyring(path).open(sealed)
    with pytest.raises(HubError, match="no key of Fernet"):
        Keyring(path).seal(SECRET)


def test_no_other_key_is_made_where_secrets_are_stored(tmp_path: Path) -> None:
    path = tmp_path / KEY_FILE
    keyring = Keyring(path)
    sealed = keyring.seal(SECRET)
    kept = path.read_bytes()
    path.unlink()
    for known in (keyring, Keyring(path)):  # also while the key is still in memory
        with pytest.raises(HubError, match="is missing, and stored credentials were sealed"):
            known.seal("another", first=False)
    assert not path.exists()
    path.write_bytes(kept)
    assert keyring.open(keyring.seal("another", first=False)) == "another"
    assert keyring.open(sealed) == SECRET


async def test_a_secret_that_was_cut_is_hidden_too() -> None:
    secret = "abcdabcd-0123456789"
    ended = await failed(secret, reason=f"{'x' * 470} {secret} {secret}")
    assert "abcd" not in ended.message
    assert ended.message.endswith("x ***")


async def test_a_file_of_certificates_must_have_some(tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    path.write_text("none")
    with pytest.raises(InputError, match="not certificates in PEM"):
        async with open_client(ca_file=path):
            pass


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    async with at_work(await settings(tmp_path)) as running:
        await running.do("teams.create", team="blue")
        yield running


REGISTERED: dict[str, Any] = {
    "server": "blue-1",
    "url": "https://annotate.example.org/RPC2",
    "team": "blue",
    "auth": "bearer",
    "secret": SECRET,
}


@pytest.mark.both_stores
async def test_a_secret_is_found_nowhere(running: Running, tmp_path: Path) -> None:
    log = tmp_path / "seen"
    log.mkdir()
    await running.do("servers.register", **REGISTERED)
    await running.do("servers.update", server="blue-1", secret=f"{SECRET}2")
    for token in (await token_of(running, "blue"), await organiser_token(running)):
        async with visiting(running) as visitor:
            await visitor.sign_in(token)
            for path in (
                "/team/servers/blue-1",
                "/team/servers/blue-1/edit",
                "/organise/servers",
                "/organise/audit",
            ):
                page = await visitor.get(path)
                (log / path.replace("/", "_")).write_text(page.text)
            wrong = {"url": "nowhere", "auth": "bearer", "secret": SECRET}
            page = await visitor.post("/team/servers/blue-1/edit", wrong)
            assert page.status == 422
            (log / "refused").write_text(page.text)
    found = await running.do("servers.get", server="blue-1")
    (log / "detail").write_text(repr(found))
    assert (found.auth, found.secret) == ("bearer", "set")
    entries = await running.do("audit.list")
    (log / "audit").write_text(repr(entries))
    folder = Path(running.service.settings.folder)
    store = running.service.settings.place()
    await asyncio.to_thread(copy_store, store, log / "backup.sqlite")
    sealed = Keyring(folder / KEY_FILE)
    assert sealed.open(sealed_secrets(log / "backup.sqlite")["blue-1"]) == f"{SECRET}2"
    key = (folder / KEY_FILE).read_bytes().strip()
    forms = [SECRET, SECRET.replace("ü", "&#252;"), json.dumps(SECRET)[1:-1]]
    hidden = [key, *(form.encode() for form in forms), base64.b64encode(SECRET.encode())]
    files = [*log.iterdir(), *folder.glob("metaserver.sqlite*")]
    assert len(files) >= 8
    for file in files:
        content = file.read_bytes()
        for secret in hidden:
            assert secret not in content, file


async def refused(running: Running, operation: str, **values: Any) -> tuple[Refusal, str]:
    caught = await running.refused(operation, **values)
    return caught.refusal, caught.field


async def test_unusable_settings_are_refused(running: Running) -> None:
    for values, field in (
        ({"secret": ""}, "secret"),
        ({"secret": "abc"}, "secret"),
        ({"protocol": "bioc", "options": "result_url = /r?***"}, "options"),
        ({"secret": "a\nb"}, "secret"),
        ({"auth": "none"}, "auth"),
        ({"auth": "basic"}, "auth_name"),
        ({"auth": "basic", "auth_name": "a:b"}, "auth_name"),
        ({"auth": "header", "auth_name": "Content-Length"}, "auth_name"),
        ({"auth": "header", "auth_name": "a b"}, "auth_name"),
        ({"protocol": "telepathy"}, "protocol"),
        ({"options": "body=text"}, "options"),
        ({"protocol": "pubannotation", "options": "body=xml"}, "options"),
        ({"url": "http://a.example/", "certificate": "00" * 32}, "certificate"),
    ):
        answer = await refused(running, "servers.register", **(REGISTERED | values))
        assert answer == (Refusal.INVALID, field), values


async def kept_secrets(running: Running) -> Mapping[str, str]:
    return await asyncio.to_thread(sealed_secrets, running.service.settings.place())


async def test_a_secret_does_not_follow_to_another_address(running: Running) -> None:
    await running.do("servers.register", **REGISTERED)
    for url in ("https://evil.example/", "http://annotate.example.org/"):
        answer = await refused(running, "servers.update", server="blue-1", url=url)
        assert answer == (Refusal.INVALID, "secret")
    moved = "https://annotate.example.org/other"
    await running.do("servers.update", server="blue-1", url=moved)
    found = await running.do("servers.update", server="blue-1", auth="none")
    assert (found.auth, found.secret) == ("none", "none")
    assert not await kept_secrets(running)


async def test_without_its_key_the_hub_takes_no_secret(running: Running) -> None:
    await running.do("servers.register", **REGISTERED)
    path = running.service.settings.key_file()
    kept = path.read_bytes()
    path.unlink()
    for operation, values in (
        ("servers.register", REGISTERED | {"server": "blue-2"}),
        ("servers.update", {"server": "blue-1", "secret": "another"}),
    ):
        assert await refused(running, operation, **values) == (Refusal.STATE, "secret")
    assert not path.exists()
    path.write_bytes(kept)
    await running.do("servers.update", server="blue-1", secret="another")
    await running.do("servers.retire", server="blue-1")
    assert not await kept_secrets(running)


@pytest.mark.both_stores
async def test_a_lost_key_costs_no_attempt_and_all_are_told(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(locked, "LOOK_SECONDS", 0.05)
    given = await settings(tmp_path)
    path = given.key_file()
    async with asked_server() as asked:
        async with at_work(given) as running:
            await plan_phase(running, teams=["blue"], is_open=True)
            await running.register(asked.url, auth="bearer", secret=SECRET)
            await running.register(asked.url, "blue-2")
            await running.do("servers.next", running.team("blue"), server="blue-1")
            await running.done(1)
        key = path.read_bytes()
        path.unlink()
        Keyring(path).seal("with another key")
        asked.texts.clear()
        async with at_work(given) as running:
            for server in ("blue-1", "blue-2"):
                await running.do("servers.start", running.team("blue"), server=server)
            await running.done(server="blue-2")
            assert asked.texts.total() == ARTICLES  # none of them for blue-1
            [process] = (await running.do("hub.machines")).processes
            assert f"{path} does not open the credentials of blue-1" in process.lacks
            assert (await running.do("servers.get", server="blue-1")).secret == "needed"
            await until(lambda: running.status().note == LOCKED)  # though it has answered
            assert running.status().state is ServerState.WAITING
            async with signed_in(running) as ana:
                assert process.lacks in (await ana.get("/organise/machines")).said
                assert process.lacks in (await ana.get("/organise")).said
            async with signed_in(running, "blue") as visitor:
                for page, is_told in (("blue-1", True), ("blue-2", False)):
                    said = (await visitor.get(f"/team/servers/{page}")).said
                    assert (
                        "cannot read the credentials it stored for this server" in said
                    ) is is_told
            path.write_bytes(key)
            await running.done(server="blue-1")
            assert set(running.status().outcomes) == {Outcome.OK}
            assert (await running.do("servers.get", server="blue-1")).secret == "set"
            path.unlink()
            Keyring(path).seal("with another key")
        async with at_work(given) as running:
            await running.do("servers.update", server="blue-1", secret="entered again")
            assert (await running.do("servers.get", server="blue-1")).secret == "set"
            await until(lambda: not running.service.phases.scheduler.locked.reason())
    said = [record.message for record in caplog.records if record.name.endswith("phases.locked")]
    assert [line.startswith("nothing is sent") for line in said] == [True, False, True, False], said


async def test_options_are_shown_without_what_may_be_secret(running: Running) -> None:
    bioc = {"protocol": "bioc", "auth": "none", "secret": ""}
    stored = "style = session\nresult_url = https://u:p@a.example/r?key=abcd&s={session}\n"
    stored += "poll_origins = https://a.example, https://u:p@b.example#f"
    hidden = (
        "style = session\nresult_url = https://***@a.example/r?***\n"
        "poll_origins = https://a.example, https://***@b.example#***"
    )
    found = await running.do("servers.register", **REGISTERED | bioc | {"options": stored})
    assert found.options == hidden
    entries = await running.do("audit.list")
    assert "key=abcd" not in repr(entries)
    changed = hidden.replace("style = session", "style = session\nscore_min = 0")
    assert (await running.do("servers.update", server="blue-1", options=changed)).options == changed
    kept = await running.service.server(ORGANISER, "blue-1")
    assert kept.server.options == stored.replace("session\n", "session\nscore_min = 0\n", 1)
    for values in (
        {"options": hidden.replace("/r?", "/other?")},
        {"options": hidden, "url": "https://other.example/"},
        {"url": "https://other.example/"},
    ):
        assert (await refused(running, "servers.update", server="blue-1", **values))[1] == "options"


async def test_the_doctor_looks_at_the_key(running: Running) -> None:
    known = running.service.settings

    async def said() -> str:
        found = await asyncio.to_thread(lambda: list(examine(known)))
        [about_the_key] = [str(one) for one in found if one.place == "security.key_file"]
        return about_the_key

    assert "made with the first secret" in await said()
    await running.do("servers.register", **REGISTERED)
    assert "opens the credentials of 1 server;" in await said()
    path = known.key_file()
    path.chmod(0o644)
    assert "others may open it" in await said()
    path.chmod(0o600)
    key = path.read_bytes()
    path.unlink()
    assert "is missing: enter the credentials of blue-1 again" in await said()
    Keyring(path).seal("x")
    assert "sealed: enter the credentials of blue-1 again" in await said()
    path.write_bytes(key)
