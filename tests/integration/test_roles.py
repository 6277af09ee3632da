"""Permissions: every operation, called in every role, over HTTP and XML-RPC."""

import base64
import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode
from xmlrpc.client import Fault, loads

import pytest
from aiohttp.test_utils import TestClient

from annotators.server import Kit
from metaserver.base.errors import Refusal
from metaserver.base.states import Role
from metaserver.cli.catalogue import OPERATIONS
from metaserver.config import WebSettings
from metaserver.exchange.wire.xmlrpc import encode_call
from metaserver.operations.caller import Caller
from metaserver.operations.outline import Outline, ValueKind
from metaserver.operations.table import Scope
from metaserver.store import teams, tokens
from metaserver.web.access import throttle
from scoring import Task
from tests.hubs.command import DEMO
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.hubs.sites import Visitor, client_of
from tests.integration.buttons import crawled, offered
from tests.integration.kits import answer_for, served

DONE, NO_TOKEN, FORBIDDEN, UNKNOWN, STATE = 200, 401, 403, 404, 409
DEAD = ("revoked", "expired", "retired")  # tokens of no use: the last one's team is retired
HOLDERS = ("reader", "curator", "red", "blue", "organiser", "other", "its")
BLUE = "blue-1"  # a server; it and the run "blue-run" are team blue's
TOLD = ("blue-1", "blue-run", "127.0.0.1", "blue@x")  # what only team blue and organisers know
GOLD = DEMO / "gold_int.tsv"
ARTICLE = "sample01"


@dataclass(frozen=True)
class Row:
    """An operation's parameters, and the status that each holder of a token gets.

    A caller without a token gets `anyone`; a curator what a reader gets, unless a row says else.
    `other` and `its` are the organisers of another challenge alone and of this one: they get what a
    reader gets, but `its` in operations of `OF_CHALLENGE` what an organiser gets.
    In `values`, {who} is the caller's name.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    anyone: int = NO_TOKEN
    reader: int = FORBIDDEN
    curator: int | None = None
    red: int = UNKNOWN
    blue: int = DONE
    organiser: int = DONE
    other: int | None = None
    its: int | None = None


OF_CHALLENGE = {
    Scope.CHALLENGE: (
        "challenges.set challenges.get challenges.announcements challenges.results challenges.edit"
        " challenges.announce challenges.export sign-ups.list sign-ups.invite sign-ups.links"
        " memberships.invite tokens.create"
    ),
    Scope.PHASE: (
        "phases.get phases.plan phases.update phases.open phases.freeze phases.close phases.watch"
        " phases.publication phases.publish gold.preview gold.set gold.list gold.get boards.get"
        " boards.frozen runs.show runs.compare runs.get runs.list runs.upload runs.preview"
        " runs.delete methods.list methods.get methods.describe uploads.list results-package.get"
        " results-package.read results-package.make data-package.get data-package.read"
        " data-package.release data-package.withdraw servers.start-baselines servers.suspend"
        " servers.resume servers.requeue servers.cancel servers.queue servers.attempts"
        " servers.answer servers.measures"
    ),
    Scope.SIGN_UP: "sign-ups.approve sign-ups.decline sign-ups.link",
    Scope.BOARD: "boards.get-frozen",
    Scope.TOKEN: "memberships.end tokens.revoke",
    Scope.INVITATION: "memberships.withdraw",
    Scope.JOB: "jobs.get jobs.cancel",
    Scope.OWN: (
        "jobs.list servers.list teams.list memberships.list memberships.invitations tokens.list"
    ),
}
"""The operations in which the organiser of one challenge has an organiser's rights, and by what."""


def public(**values: Any) -> Row:
    return Row(values, anyone=DONE, reader=DONE, red=DONE)


def organisers(organiser: int = DONE, /, **values: Any) -> Row:
    return Row(values, red=FORBIDDEN, blue=FORBIDDEN, organiser=organiser)


def own(**values: Any) -> Row:
    """Return the row of an object of team blue: for other teams it is unknown."""
    return Row(values)


def fellows(**values: Any) -> Row:
    """Return the row of an operation that names a team, which is team blue."""
    return Row(values, red=FORBIDDEN)


def nobody(**values: Any) -> Row:
    """Return the row of an object that is not there."""
    return Row(values, UNKNOWN, UNKNOWN, None, UNKNOWN, UNKNOWN, UNKNOWN)


def curators(curator: int = DONE, organiser: int = DONE, /, **values: Any) -> Row:
    """Return the row of an operation on requests, which belong to their token; no team may."""
    return Row(values, curator=curator, red=FORBIDDEN, blue=FORBIDDEN, organiser=organiser)


def each(**values: Any) -> Row:
    """Return the row of an operation that each team may do on its own objects."""
    return Row(values, red=DONE)


SERVER = {"server": BLUE, "phase": "test"}
FILED = {"phase": "test", "task": "INT", "source": "gold.tsv", "content": GOLD.read_bytes()}
ROWS: Mapping[str, Row] = {
    # the reported outcome
    "annotations.get-annotation": Row(
        {"article": ARTICLE, "server": BLUE}, anyone=UNKNOWN, reader=UNKNOWN, red=UNKNOWN
    ),
    "annotations.get-annotation-server-list": public(article=ARTICLE),
    "annotations.get-annotations": public(article=ARTICLE),
    "boards.frozen": public(phase="test"),
    "boards.get": public(phase="test", task="INT"),
    "boards.get-frozen": Row({"board": "{board}"}, anyone=UNKNOWN, reader=UNKNOWN, blue=UNKNOWN),
    "runs.show": public(phase="test", run=BLUE),
    "runs.compare": nobody(phase="test", task="INT", first="none", second="nobody"),
    "servers.start-baselines": organisers(phase="test"),
    "challenges.list": public(),
    "challenges.get": public(challenge="bc"),
    "challenges.announcements": public(challenge="bc"),
    "challenges.results": public(challenge="bc"),
    "challenges.check": organisers(sample="names"),
    "challenges.export": organisers(challenge="bc"),
    "sign-ups.list": organisers(challenge="bc"),
    "sign-ups.look": nobody(secret="x"),
    "phases.get": public(phase="test"),
    "phases.list": public(),
    "tokens.whoami": Row(reader=DONE, red=DONE),
    "audit.list": organisers(),
    "corpora.articles": organisers(corpus="demo"),
    "corpora.list": organisers(),
    "gold.get": organisers(phase="test", task="INT"),
    "gold.list": organisers(phase="test"),
    "gold.preview": organisers(**FILED),
    "hub.status": organisers(),
    "hub.machines": organisers(),
    "results-package.get": organisers(phase="test"),
    "data-package.get": public(phase="test"),
    "phases.plan": organisers(phase="test"),
    "phases.publication": organisers(phase="test"),
    "phases.watch": organisers(phase="test"),
    "alerts.list": organisers(),
    "channels.list": organisers(),
    "releases.list": organisers(),
    "releases.search": curators(UNKNOWN, UNKNOWN, release="none", text="EGFR"),
    "jobs.list": each(),
    "jobs.get": Row({"job": "{job}"}, blue=UNKNOWN, its=FORBIDDEN),
    "teams.list": organisers(),
    "methods.list": public(phase="test"),
    "methods.get": Row({"phase": "test", "run": BLUE}, anyone=UNKNOWN, reader=UNKNOWN),
    "runs.get": own(phase="test", run="blue-run"),
    "runs.list": each(phase="test"),
    "consensus.ask": curators(text="EGFR binds GRB2 in {who}'s cells."),
    "consensus.list": curators(),
    "consensus.get": curators(request="{request}"),
    "consensus.explain": curators(UNKNOWN, UNKNOWN, request="{request}", item="P99999"),
    "consensus.cancel": curators(STATE, STATE, request="{request}"),
    "consensus.forget": curators(request="{request}"),
    "consensus.get-consensus-methods": public(),
    "consensus.get-consensus": nobody(article=ARTICLE),
    "consensus.models": organisers(),
    "consensus.train": organisers(STATE, task="INT"),
    "consensus.use": organisers(UNKNOWN, model=1),
    "consensus.delete-model": organisers(UNKNOWN, model=1),
    "curation.open": curators(request="{request}"),
    "curation.list": curators(),
    "curation.terms": curators(branch="method", words="two hybrid"),
    "curation.check": curators(curation="{curation}"),
    "curation.get": curators(curation="{curation}"),
    "curation.events": curators(curation="{curation}"),
    "curation.orthologs": curators(curation="{curation}", accession="P04637"),
    "curation.append": curators(
        DONE,
        FORBIDDEN,
        curation="{curation}",
        seen=0,
        events=[{"key": "by-{who}-1", "kind": "note"}],
    ),
    "curation.refresh": curators(DONE, FORBIDDEN, curation="{curation}"),
    "curation.submit": curators(DONE, FORBIDDEN, curation="{curation}"),
    "curation.export": curators(STATE, STATE, curation="{curation}"),
    "curation.export-all": curators(),
    "curation.reopen": curators(STATE, STATE, curation="{curation}"),
    "curation.forget": curators(curation="{curation}"),
    "curation.reassign": organisers(UNKNOWN, curator=10**6, to=1),
    "curation-sets.create": organisers(set="set-{who}", phase="test", curators="{curators}"),
    "curation-sets.list": curators(),
    "curation-sets.get": curators(set="seats"),
    "curation-sets.open": curators(DONE, UNKNOWN, set="seats", article=ARTICLE),
    "curation-sets.reassign": organisers(UNKNOWN, set="seats", curator=10**6, to=1),
    "curation-sets.agreement": organisers(STATE, set="seats", task="INT"),
    "curation-sets.disagreements": organisers(set="seats", task="INT"),
    "curation-sets.rule": organisers(
        UNKNOWN, set="seats", task="INT", article=ARTICLE, item=["P04637"], choice="1"
    ),
    "curation-sets.report": organisers(set="seats", task="INT"),
    "curation-sets.preview": organisers(STATE, set="seats", task="INT"),
    "curation-sets.publish": organisers(STATE, set="seats", task="INT"),
    "curation-sets.export": organisers(STATE, set="seats"),
    "curation-sets.close": organisers(set="seats"),
    "curation-sets.delete": organisers(set="seats"),
    "runs.mine": fellows(team="blue"),
    "runs.preview": fellows(
        phase="test", task="INT", run="blue-run", team="blue", content=b"{run}"
    ),
    "uploads.list": fellows(phase="test", team="blue"),
    "servers.answer": own(**SERVER, article=ARTICLE, number=1),
    "servers.attempts": own(**SERVER),
    "servers.get": own(server=BLUE),
    "servers.list": each(),
    "servers.look": each(url="http://127.0.0.1:1/"),
    "servers.measures": own(**SERVER),
    "servers.queue": own(**SERVER),
    "servers.test-status": own(**SERVER),
    "servers.training-articles": own(server=BLUE),
    "teams.get": own(team="blue"),
    "teams.get-notices": own(team="blue"),
    "tokens.list": each(),
    "people.me": Row(reader=FORBIDDEN, red=FORBIDDEN, blue=FORBIDDEN, organiser=FORBIDDEN),
    "people.look": nobody(secret="x"),
    "memberships.list": replace(fellows(team="blue"), other=FORBIDDEN, its=FORBIDDEN),
    "memberships.invitations": replace(fellows(team="blue"), other=FORBIDDEN, its=FORBIDDEN),
    # what is done; what ends something comes last
    "results-package.make": organisers(STATE, phase="test"),
    "results-package.read": organisers(UNKNOWN, phase="test"),
    "data-package.read": nobody(phase="test"),
    "data-package.release": organisers(STATE, phase="test"),
    "data-package.withdraw": organisers(STATE, phase="test"),
    "challenges.set": organisers(challenge="bc"),
    "challenges.edit": organisers(challenge="bc", sign_up="approve"),
    "challenges.announce": organisers(challenge="bc", title="News"),
    "sign-ups.begin": public(challenge="bc", team="new-{who}", people="A", email="a@x{who}.org"),
    "sign-ups.invite": organisers(challenge="bc", emails=["i@x.y"]),
    "sign-ups.link": organisers(id=1),
    "sign-ups.links": organisers(challenge="bc"),
    "sign-ups.approve": replace(organisers(id=1), its=STATE),  # it is approved by then
    "sign-ups.decline": organisers(STATE, id=1),
    "sign-ups.confirm": nobody(secret="x"),
    "sign-ups.token": nobody(secret="x"),
    "corpora.import": organisers(corpus="more", source="a.txt", content=b"Title\n\nText.\n"),
    "gold.set": organisers(**FILED),
    "channels.add": organisers(kind="webhook", address="http://127.0.0.1:1/{who}"),
    "channels.test": organisers(STATE, channel=1),
    "channels.delete": organisers(channel=1),
    "jobs.cancel": Row({"job": "{job}"}, blue=UNKNOWN, organiser=STATE, its=FORBIDDEN),
    "phases.create": organisers(challenge="bc", phase="later", corpus="demo", release="test"),
    "phases.update": organisers(phase="test", title="A title"),
    "phases.open": organisers(phase="test"),
    "runs.upload": fellows(phase="test", task="INT", run="blue-run", team="blue", content=b"{run}"),
    "methods.describe": own(phase="test", run=BLUE, summary="A dictionary."),
    "servers.register": fellows(server="new-{who}", team="blue", url="http://127.0.0.1:1/"),
    "servers.test": own(server=BLUE),
    "servers.try": own(server=BLUE, text="A text."),
    "servers.start": own(**SERVER),
    "servers.next": own(**SERVER),
    "servers.callback-key": Row({"server": BLUE}, red=UNKNOWN, blue=STATE, organiser=STATE),
    "servers.serve-curators": own(server=BLUE, serve=True),
    "servers.pause": own(**SERVER),
    "servers.cancel": own(**SERVER),
    "servers.requeue": organisers(**SERVER),
    "servers.suspend": organisers(**SERVER, reason="so"),
    "servers.resume": replace(organisers(**SERVER), its=STATE),  # it is resumed by then
    "servers.update": own(server="blue-{who}", url="http://127.0.0.1:2/"),
    "teams.create": organisers(team="new"),
    "teams.update": own(team="blue", title="Blues"),
    "teams.notices": own(team="blue"),
    "tokens.create": replace(fellows(role="team", team="blue"), its=FORBIDDEN),
    "tokens.revoke": replace(own(id="{token}"), its=FORBIDDEN),
    "people.rename": Row({"name": "A"}, red=FORBIDDEN, blue=FORBIDDEN, organiser=FORBIDDEN),
    "people.delete": Row({"confirm": "delete"}, red=FORBIDDEN, blue=FORBIDDEN, organiser=FORBIDDEN),
    "people.accept": Row({"secret": "x"}, red=FORBIDDEN, blue=FORBIDDEN, organiser=FORBIDDEN),
    "memberships.invite": replace(fellows(team="blue"), its=FORBIDDEN),
    "memberships.withdraw": Row({"id": 10**6}, blue=UNKNOWN, organiser=UNKNOWN, its=FORBIDDEN),
    "memberships.change": Row({"id": 10**6, "owner": True}, blue=UNKNOWN, organiser=UNKNOWN),
    "memberships.end": Row({"id": 10**6}, reader=UNKNOWN, blue=UNKNOWN, organiser=UNKNOWN),
    "runs.delete": own(phase="test", run="run-{who}"),
    "servers.retire": own(server="blue-{who}"),
    "challenges.delete": organisers(STATE, challenge="bc"),
    "phases.delete": organisers(phase="later"),
    "challenges.make": organisers(sample="names"),
    "challenges.clone": organisers(challenge="names", name="copy"),
    "phases.publish": Row({"phase": "test"}, red=FORBIDDEN, blue=FORBIDDEN, organiser=STATE),
    "phases.freeze": organisers(phase="test"),
    "phases.close": organisers(phase="test"),
    "teams.retire": organisers(team="new"),
}


@dataclass
class HubOfRoles:
    """A hub on which team blue has done something, and everybody's token."""

    running: Running
    client: TestClient[Any, Any]
    tokens: dict[str, str] = field(default_factory=dict)
    ids: dict[str, int] = field(default_factory=dict)  # of the tokens
    curators: list[int] = field(default_factory=list)
    board: str = ""
    job: str = ""  # one that has ended

    async def token(self, role: Role, team: str | None = None, **values: Any) -> tuple[int, str]:
        async with self.running.service.store.writing() as connection:
            known = await teams.get(connection, team) if team else None  # type: ignore[arg-type]
            return await tokens.issue(
                connection, role, "x", team_id=known.id if known else None, **values
            )

    async def values(self, row: Row, who: str) -> dict[str, Any]:
        """Return a row's values, with what is there for this one caller."""
        values = dict(row.values)
        if values.get("id") == "{token}":
            values["id"], _ = await self.token(Role.TEAM, "blue")
        if values.get("request") == "{request}":
            values["request"] = await self._request()
        if values.get("curators") == "{curators}":
            values["curators"] = self.curators
        if values.get("curation") == "{curation}":
            values["curation"] = await self._curation()
        if values.get("content") == b"{run}":
            values["content"] = result_file()
        known = {"{board}": self.board, "{job}": self.job}
        return {
            name: known.get(one, one.replace("{who}", who)) if isinstance(one, str) else one
            for name, one in values.items()
        }

    async def _request(self) -> str:
        """Return an ended request of the curator: no server was there that could be asked."""
        ana = Caller(role=Role.CURATOR, token_id=self.ids["curator"], name="curator")
        asked = await self.running.do("consensus.ask", ana, text="A text of nobody.", wait=20.0)
        return str(asked.request)

    async def _curation(self) -> str:
        """Return an open curation of the curator, without candidates."""
        ana = Caller(role=Role.CURATOR, token_id=self.ids["curator"], name="curator")
        opened = await self.running.do("curation.open", ana, request=await self._request())
        return str(opened.curation)


def result_file() -> bytes:
    """Return an offline run of one line."""
    [article, accession, *_] = GOLD.read_text().split()
    return f"{article}\t{accession}\t1\t0.5\n".encode()


async def by_http(
    hub: HubOfRoles, name: str, who: str, values: Mapping[str, Any]
) -> tuple[int, str]:
    """Call over JSON; return the status and the text of the answer."""
    operation = OPERATIONS[name]
    given = {key: _jsonable(one) for key, one in values.items()}
    path = "/api/v1" + operation.path.format_map(
        {key: quote(str(given.pop(key)), safe="") for key in operation.positional}
    )
    body = None if operation.method == "GET" else json.dumps(given).encode()
    if operation.method == "GET" and given:
        path += f"?{urlencode(given)}"
    head = {"Content-Type": "application/json"} if body else {}
    if who:
        head["Authorization"] = f"Bearer {hub.tokens[who]}"
    async with hub.client.request(operation.method, path, data=body, headers=head) as response:
        status = DONE if response.status == 204 else response.status
        return status, await response.text()


async def by_rpc(
    hub: HubOfRoles, name: str, who: str, values: Mapping[str, Any]
) -> tuple[int, str]:
    """Call over XML-RPC; return the fault's code, or 200, and the text of the answer."""
    operation, given = OPERATIONS[name], dict(values)
    token = [hub.tokens[who] if who else "nothing"] if operation.role else []
    params = [*token, *(given.pop(key) for key in operation.positional)]
    body = encode_call(operation.rpc, [*params, given] if given else params)
    async with hub.client.post("/xmlrpc/", data=body) as response:
        answer = await response.read()
        assert response.status == 200
    try:
        loads(answer)
    except Fault as fault:
        return fault.faultCode, answer.decode()
    return DONE, answer.decode()


def _jsonable(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def _unhurried(running: Running) -> TestClient[Any, Any]:
    """Return a client that may take any share of the loop: a slow machine is no reason to wait."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(throttle, "LOOP_BURST", 1e6)
        return client_of(running)


@asynccontextmanager
async def hub_with_blue(folder: Path) -> AsyncIterator[HubOfRoles]:
    """Run a hub: a phase whose scores are hidden, team blue's server and runs in it, team red."""
    many = 10**6  # one address asks everything, in every role
    web = WebSettings(requests_a_minute=many, anonymous_requests_a_minute=many)
    given = await settings(folder, web=web)
    async with (
        at_work(given) as running,
        _unhurried(running) as client,
        served(Kit(lambda text, _context: answer_for(text))) as url,
    ):
        hub = HubOfRoles(running, client)
        await plan_phase(running, is_open=True)
        await running.do("challenges.set", challenge="other", title="Other")
        for team in ("blue", "red", "retired"):
            await running.do("teams.create", team=team, email=f"{team}@x")
        await _tokens(hub)
        other = (await running.do("tokens.create", role="curator", label="y")).id
        hub.curators = [hub.ids["curator"], other]
        seats = {"phase": "test", "curators": tuple(hub.curators), "articles": (ARTICLE,)}
        await running.do("curation-sets.create", set="seats", **seats)
        blue = running.team("blue")
        for server in (BLUE, "blue-blue", "blue-organiser"):
            await running.do("servers.register", blue, server=server, url=url)
        await running.do("servers.test", blue, server=BLUE)
        await running.do("servers.start", blue, server=BLUE)
        watch = running.service.phase("test").boards.server_monitor
        await running.until(lambda: watch.status(BLUE).state == "finished")
        await _upload(running, "blue-run")
        changed = GOLD.read_bytes().split(b"\n", 1)[1]  # boards are kept when the gold changes
        change = await running.do("gold.set", **{**FILED, "content": changed})
        hub.board = change.frozen
        hub.job = running.service.jobs.own.list_all()[0].id
        yield hub


async def _upload(running: Running, run: str) -> None:
    await running.do(
        "runs.upload", running.team("blue"), phase="test", task="INT", run=run,
        content=result_file(),
    )  # fmt: skip


async def _tokens(hub: HubOfRoles) -> None:
    made = {
        "reader": await hub.token(Role.READER),
        "curator": await hub.token(Role.CURATOR),
        "red": await hub.token(Role.TEAM, "red"),
        "blue": await hub.token(Role.TEAM, "blue"),
        "organiser": await hub.token(Role.ORGANISER),
        "other": await hub.token(Role.ORGANISER, challenge="other"),
        "its": await hub.token(Role.ORGANISER, challenge="bc"),
        "revoked": await hub.token(Role.ORGANISER),
        "expired": await hub.token(Role.ORGANISER, expires_at=1.0),
        "retired": await hub.token(Role.TEAM, "retired"),
    }
    hub.ids |= {who: number for who, (number, _) in made.items()}
    hub.tokens |= {who: secret for who, (_, secret) in made.items()}
    await hub.running.do("tokens.revoke", id=made["revoked"][0])
    await hub.running.do("teams.retire", team="retired")


def test_every_operation_has_a_row_and_says_if_it_is_of_a_challenge() -> None:
    assert ROWS.keys() == OPERATIONS.keys()
    for name, operation in OPERATIONS.items():
        scopes = [scope for scope, names in OF_CHALLENGE.items() if name in names.split()]
        assert scopes == ([] if operation.scope is None else [operation.scope]), name


@pytest.mark.slow
@pytest.mark.parametrize("ask", [by_http, by_rpc])
async def test_everybody_may_do_what_the_table_says(tmp_path: Path, ask: Any) -> None:
    async with hub_with_blue(tmp_path) as hub:
        for name, row in ROWS.items():
            got = {}
            expected = {"": row.anyone} | dict.fromkeys(DEAD, NO_TOKEN)
            expected |= {who: getattr(row, who) for who in HOLDERS}
            expected["curator"] = row.reader if row.curator is None else row.curator
            scope = OPERATIONS[name].scope
            other = DONE if scope is Scope.OWN else row.reader
            expected["other"] = other if row.other is None else row.other
            its = row.reader if scope is None else row.organiser
            expected["its"] = its if row.its is None else row.its
            if ask is by_rpc and OPERATIONS[name].role is None:
                expected = {"": row.anyone}  # nobody hands a token over: all are anybody
            for who in expected:
                values = await hub.values(row, who)
                if name == "runs.delete" and expected[who] == DONE:
                    await _upload(hub.running, values["run"])
                got[who], told = await ask(hub, name, who, values)
                for job in hub.running.service.jobs.own.list_all("blue"):
                    await job.ended()  # a server is tried with one article at a time
                if expected[who] != DONE or who not in ("blue", "organiser", "its"):
                    assert not [word for word in TOLD if word in _answered(told, values)], told
            assert got == expected, name


OF_BC = {"role": "organiser", "challenge": "bc"}


async def test_the_organiser_of_a_challenge_gives_its_role_and_no_other(tmp_path: Path) -> None:
    async with at_work(await settings(tmp_path)) as running:
        for challenge in ("bc", "other"):
            await running.do("challenges.set", challenge=challenge)
        await running.do("teams.create", team="blue")
        made = [await running.do("tokens.create", **OF_BC | {"challenge": "other"}, label="its")]
        asker = Caller(role=Role.READER, challenge="other", token_id=made[0].id, name="other")
        await running.do("tokens.create", role="organiser", label="hub")
        made.append(await running.do("tokens.create", asker, **OF_BC | {"challenge": "other"}))
        invited = [await running.do("memberships.invite", role="organiser")]
        invited.append(await running.do("memberships.invite", **OF_BC))
        given = {"role": "organiser", "challenge": "other"}
        invited.append(await running.do("memberships.invite", asker, **given))
        for name in ("tokens.create", "memberships.invite"):
            for values in (OF_BC, {"role": "organiser"}, {"role": "curator"}, {"team": "blue"}):
                refused = await running.refused(name, asker, **values)
                assert refused.refusal is Refusal.NOT_YOURS, (name, values)
            for values in ({"role": "curator"}, {"role": "team", "team": "blue"}):
                refused = await running.refused(name, asker, **values, challenge="other")
                assert refused.refusal is Refusal.INVALID, (name, values)
        listed = await running.do("tokens.list", asker)
        assert [one.id for one in listed] == [one.id for one in made]
        opened = await running.do("memberships.invitations", asker)
        assert [one.id for one in opened] == [invited[-1].id]
        assert await running.do("memberships.list", asker) == []
        for one in invited[:2]:
            refused = await running.refused("memberships.withdraw", asker, id=one.id)
            assert refused.refusal is Refusal.NOT_YOURS
        await running.do("memberships.withdraw", asker, id=invited[-1].id)
        await running.do("tokens.revoke", asker, id=made[1].id)
        [*_, entry] = await running.do("audit.list", subject=f"token {made[1].id}")
        assert (entry.action, entry.detail["made_with"]) == ("tokens.create", made[0].id)


def _answered(told: str, values: Mapping[str, Any]) -> str:
    """Return the text of the answer, without the words of the request."""
    for one in values.values():
        if isinstance(one, str) and one:
            told = told.replace(one, "")
    return told


def test_what_is_of_files_is_of_those_who_may_send_much() -> None:
    """But for the data that an organiser released to everybody, which are read in parts."""
    given = set()
    for name, operation in OPERATIONS.items():
        outline = Outline.of(operation)
        if operation.role not in (Role.CURATOR, Role.TEAM, Role.ORGANISER):
            fields = outline.result.fields if outline.result else ()
            assert not any(one.kind is ValueKind.FILE for one in outline.parameters), name
            given |= {name} if any(one.kind is ValueKind.FILE for one in fields) else set()
    assert given == {"data-package.read"}


async def test_a_name_ends_with_its_last_letter(tmp_path: Path) -> None:
    """`$` of a pattern also fits before a last line end, which would be part of a file's name."""
    async with at_work(await settings(tmp_path)) as running:
        for name, values in (
            ("teams.create", {"team": "blue\n"}),
            ("teams.create", {"team": "blue", "email": "blue@x\n"}),
            ("servers.register", {"server": "a\n", "url": "http://x/", "team": "blue"}),
            ("servers.register", {"server": "a", "url": "http://x/", "method": "m\n"}),
            ("tokens.create", {"role": "reader", "label": "a\n"}),
        ):
            refused = await running.refused(name, **values)
            assert refused.refusal is Refusal.INVALID
            assert refused.field in {"team", "email", "server", "method", "label"}
            assert "not allowed" in refused.message


TEXTS = {"email": "new@x.org", "emails": "new@x.org", "label": "made", "title": "A title",
         "text": "Words.", "run": "new-run", "team": "blue", "license": "https://x.org/by/4.0/",
         "authors": "Ana", "challenge": "other", "phase": "later"}  # fmt: skip
FILES = {
    **{f"/gold/{task}": (DEMO / f"gold_{task.lower()}.tsv").read_bytes() for task in Task},
    "/uploads": b"sample01\t1\t1\t0.9\n",
    "": b"Title\n\nText.\n",
}
"""What forms are filled with: texts by the name of a field, files by part of an address."""
ENDS = ("/delete", "/decline", "/withdraw", "/revoke", "/freeze", "/open", "/close", "/publish")
"""How addresses end that end something: pressed after all others, in this order."""
ASIDE = ("/static/", "/docs", "/api/", "/sign-up/", "/signin")
"""How addresses begin that are the same for everybody."""


async def _fill(hub: HubOfRoles) -> None:
    """Have something of each kind on which a console has a button."""
    do = hub.running.do
    await do("teams.create", team="host")
    await do("teams.update", team="host", host=True)
    await do("servers.register", server="base", url="http://127.0.0.1:9/", team="host")
    await do("servers.suspend", **SERVER, reason="so")
    await do("challenges.set", challenge="other", title="The other")
    plan = {"challenge": "other", "corpus": "demo", "release": "test"}
    await do("phases.create", phase="phase-of-others", **plan)
    for challenge in ("bc", "other"):
        await do("challenges.edit", challenge=challenge, sign_up="approve")
        await do("sign-ups.invite", challenge=challenge, emails=["i@x.y"])
        await do("tokens.create", role="organiser", challenge=challenge, label="second")
        await do("memberships.invite", role="organiser", challenge=challenge)
        for team in ("first", "second"):
            mine = {"team": f"{team}-{challenge}", "people": "A", "email": f"{team}@x.org"}
            await do("sign-ups.begin", challenge=challenge, **mine)


@pytest.mark.slow
async def test_an_organiser_of_one_challenge_is_offered_nothing_that_is_refused(
    tmp_path: Path,
) -> None:
    """Every link opens and every button works, from the open phase to published results."""
    async with hub_with_blue(tmp_path) as hub:
        await _fill(hub)
        web, pressed = Visitor(hub.client), {(f"/organise/tokens/{hub.ids['its']}/revoke", "")}
        await web.sign_in(hub.tokens["its"], "/organise")
        while True:
            pages = await crawled(web, ("/", "/organise"), (*ASIDE, "/c/other"))
            for path, page in pages.items():
                gone = {key[0] for key in pressed if key[0].endswith("/delete")}
                if f"/organise/uploads/test/{path.rpartition('/')[2]}/delete" in gone:
                    continue  # boards from before have a deleted run still
                assert page.status == DONE, path
                if path.startswith("/organise"):
                    assert "The other" not in page.text, path
                    assert "phase-of-others" not in page.text, path
            found = {key: one for key, one in offered(pages).items() if key not in pressed}
            if not found:
                break
            for key in sorted(found, key=_turn):
                answer = await found[key].press(web, TEXTS, FILES)
                assert answer.status in (DONE, STATE), (key, answer.status, answer.said)
                pressed.add(key)
                if key[0].endswith(("/freeze", "/open")):
                    break  # the pages offer something else now
        addresses = {address for address, _ in pressed}
        phase, challenge = "/organise/phases/test", "/organise/challenges/bc"
        assert {f"{phase}/{end}" for end in ("freeze", "open", "close", "publish")} <= addresses
        assert {f"{challenge}/sign-ups/{end}" for end in ("invite", "links")} <= addresses
        assert {"/organise/people", "/organise/tokens", "/organise/uploads"} <= addresses


def _turn(key: tuple[str, str]) -> int:
    return next((turn for turn, end in enumerate(ENDS, 1) if key[0].endswith(end)), 0)


@pytest.mark.slow
async def test_buttons_of_others_are_refused_to_an_organiser_of_one_challenge(
    tmp_path: Path,
) -> None:
    """Of every page of the hub's organiser, a team, and a curator."""
    async with hub_with_blue(tmp_path) as hub:
        await _fill(hub)
        web, buttons = Visitor(hub.client), {}
        for who, start in (("organiser", "/organise"), ("blue", "/team"), ("curator", "/curate")):
            hub.client.session.cookie_jar.clear()
            await web.sign_in(hub.tokens[who], start)
            buttons |= offered(await crawled(web, ("/", start), ASIDE))
        assert len(buttons) > 100
        for who in ("its", "other"):
            hub.client.session.cookie_jar.clear()
            await web.sign_in(hub.tokens[who], "/organise")
            own = offered(await crawled(web, ("/organise",), ASIDE))
            before = await hub.running.do("audit.list")
            for key in buttons.keys() - own.keys():
                answer = await buttons[key].press(web, TEXTS, FILES)
                assert answer.status in (FORBIDDEN, UNKNOWN), (who, key, answer.said)
            assert await hub.running.do("audit.list") == before


PLACES = {"server": BLUE, "phase": "test", "task": "INT", "article": ARTICLE, "number": "1",
          "id": "1", "run": "blue-run", "corpus": "demo", "version": "1", "team": "blue",
          "challenge": "bc", "act": "start", "advance": "open"}  # fmt: skip
LET_IN = {200, 202, 204, 302, 303}


@pytest.mark.slow
async def test_every_page_of_the_consoles_is_for_those_it_is_of(tmp_path: Path) -> None:
    async with hub_with_blue(tmp_path) as hub:
        assert hub.client.app is not None
        asked = 0
        for route in hub.client.app.router.routes():
            assert route.resource is not None
            place = route.resource.canonical
            if not place.startswith(("/team", "/organise")) or place.endswith("/events"):
                continue
            address = re.sub(r"{(\w+)}", lambda found: PLACES.get(found[1], "x"), place)
            allowed = {"": set(), "reader": set(), "curator": set()}
            if "{" in place or not place.startswith("/organise"):
                allowed |= {"other": set()}
            allowed |= {"revoked": set(), "retired": set()}
            if place.startswith("/organise"):
                allowed |= {"red": set(), "blue": set()}
            elif "{" in place:
                allowed |= {"red": set()}
            for who in allowed:
                head = {"Authorization": f"Bearer {hub.tokens[who]}"} if who else {}
                async with hub.client.request(
                    route.method, address, headers=head, allow_redirects=False
                ) as response:
                    told = await response.text()
                assert response.status not in LET_IN, (who, route.method, address)
                assert response.status < 500, (who, route.method, address)
                assert not [word for word in TOLD if word in _answered(told, PLACES)], address
                asked += 1
        assert asked > 100
