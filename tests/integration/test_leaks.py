"""Secrets stay in: no answer lets the gold be guessed, or shows a password, a token or a label."""

import asyncio
import hashlib
import io
import logging
import re
import zipfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

import pytest

from annotators.server import Kit
from metaserver.base.errors import RefusedError
from metaserver.base.plans import LogLevel
from metaserver.base.states import Visibility
from metaserver.cli.catalogue import OPERATIONS
from metaserver.cli.logs import configure
from metaserver.store.copies import copy_store
from metaserver.web.public.monitor import server_id
from scoring import ActGold
from tests.hubs.inside import at_work, settings
from tests.integration.kits import annotate, served
from tests.integration.test_roles import (
    BLUE,
    GOLD,
    PLACES,
    ROWS,
    HubOfRoles,
    by_http,
    by_rpc,
    hub_with_blue,
)
from tests.waiting import patience

pytestmark = pytest.mark.slow

ARTICLES = [f"sample{number:02}" for number in range(1, 11)]
LABELS = (True, False, False, True, True, False, True, False, False, True)
LEAST = 8  # hexadecimal digits that reveal more than chance
HEX = re.compile(rf"[0-9a-f]{{{LEAST},}}", re.IGNORECASE)
READERS = ("", "reader", "red", "blue")
EVERYBODY = (*READERS, "organiser")


def gold_file(labels: Sequence[bool]) -> bytes:
    """Return a gold file of ACT."""
    rows = zip(ARTICLES, labels, strict=True)
    return "".join(f"{article}\t{label:d}\n" for article, label in rows).encode()


def digests(labels: Sequence[bool]) -> Iterator[str]:
    """Yield what the digest of a gold might be: of its file or its content, by usual functions."""
    gold = ActGold(relevant=dict(zip(ARTICLES, labels, strict=True)))
    content, lines = gold_file(labels), gold_file(labels).decode().splitlines()
    forms = {content, content.rstrip(), "\n".join(sorted(lines)).encode()}
    yield gold.digest
    for form in forms:
        for function in (hashlib.sha256, hashlib.sha1, hashlib.md5, hashlib.blake2b):
            yield function(form).hexdigest()


def guessed(told: Mapping[str, str]) -> Sequence[tuple[str, Sequence[bool]]]:
    """Try all golds that there could be; return where which of them was recognized."""
    seen = {
        found[0][:LEAST].lower(): place
        for place, text in told.items()
        for found in HEX.finditer(text)
    }
    return [
        (seen[digest[:LEAST]], labels)
        for labels in product((False, True), repeat=len(ARTICLES))
        for digest in digests(labels)
        if digest[:LEAST] in seen
    ]


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[HubOfRoles]:
    """A hub with the hidden gold, its boards frozen once by a change of it."""
    async with hub_with_blue(tmp_path) as made:
        given = {"phase": "test", "task": "ACT", "source": "gold_act.tsv"}
        await made.running.do("gold.set", **given, content=gold_file(LABELS))
        other = [not label for label in LABELS]
        change = await made.running.do("gold.set", **given, content=gold_file(other))
        made.board = change.frozen
        yield made


OF_ORGANISERS = {"gold.get", "/organise/challenges/bc/bundle"}
"""What has the gold itself, for organisers alone."""


async def told_to(hub: HubOfRoles, who: str) -> Mapping[str, str]:
    """Return all that pages and operations answer somebody who only looks."""
    told = {}
    head = {"Authorization": f"Bearer {hub.tokens[who]}"} if who else {}
    for address in pages(hub):
        async with hub.client.get(address, headers=head) as response:
            told[address] = f"{response.headers}{text_of(await response.read())}"
    for name, row in ROWS.items():
        if OPERATIONS[name].method == "GET":
            values = await hub.values(row, who or "anyone")
            if name.startswith("boards.") and "task" in values:
                values["task"] = "ACT"
            for ask in (by_http, by_rpc):
                _, told[f"{name} {ask.__name__}"] = await ask(hub, name, who, values)
    return told


def text_of(body: bytes) -> str:
    """Return what a body says, that of a zip member by member."""
    if not body.startswith(b"PK"):
        return body.decode(errors="replace")  # of a picture, too
    with zipfile.ZipFile(io.BytesIO(body)) as opened:
        return "\n".join(opened.read(name).decode() for name in opened.namelist())


def pages(hub: HubOfRoles) -> Iterator[str]:
    """Yield the addresses of all pages that end, those of the boards in every form."""
    assert hub.client.app is not None
    places = PLACES | {"task": "ACT", "key": hub.board, "name": BLUE}
    for route in hub.client.app.router.routes():
        place = route.resource.canonical if route.resource is not None else ""
        if route.method == "GET" and not place.endswith("/events") and "static" not in place:
            yield re.sub(r"{(\w+)}", lambda found: places.get(found[1], "test"), place)


@pytest.mark.parametrize("visibility", Visibility)
async def test_no_guess_at_the_gold_can_be_checked(hub: HubOfRoles, visibility: Visibility) -> None:
    await hub.running.do("phases.update", phase="test", visibility=visibility)
    for who in READERS:
        told = await told_to(hub, who)
        assert any("|release:" in text for text in told.values())  # signatures are among it
        assert guessed(told) == [], who
    told = await told_to(hub, "organiser")
    shown = {place: text for place, text in told.items() if not place.startswith("gold.get")}
    assert guessed(shown) == []  # organisers see keyed digests
    assert any("|mark:" in text for text in shown.values())


def test_the_attack_recognizes_a_plain_digest() -> None:
    gold = ActGold(relevant=dict(zip(ARTICLES, LABELS, strict=True)))
    found = guessed({"/board/ACT": f"ACT|gold:{gold.digest}|articles:answered"})
    assert ("/board/ACT", LABELS) in found


async def test_equal_golds_have_equal_marks_and_a_reader_sees_versions(hub: HubOfRoles) -> None:
    async def signature(who: str) -> str:
        _, told = await by_http(hub, "boards.get", who, {"phase": "test", "task": "ACT"})
        found = re.search(r'"signature": ?"([^"]*)"', told)
        return found[1]

    given = {"phase": "test", "task": "ACT", "source": "gold_act.tsv"}
    first = await signature("organiser")
    await hub.running.do("gold.set", **given, content=gold_file(LABELS))
    second = await signature("organiser")
    await hub.running.do("gold.set", **given, content=gold_file([not one for one in LABELS]))
    third, seen = await signature("organiser"), await signature("blue")
    marks = [one.rsplit("|mark:", 1)[1] for one in (first, second, third)]
    assert marks[0] == marks[2] != marks[1]
    assert seen == third.rsplit("|mark:", 1)[0]
    assert "|gold:5|" in seen


async def test_metrics_are_of_ones_own_servers(hub: HubOfRoles) -> None:
    told = {}
    for who in EVERYBODY:
        head = {"Authorization": f"Bearer {hub.tokens[who]}"} if who else {}
        async with hub.client.get("/metrics", headers=head) as response:
            told[who] = await response.text()
    assert 'server="blue-1"' in told["blue"]
    assert "server=" not in told["red"] + told["reader"]
    assert "metaserver_hits_kept_total" not in told["red"] + told["blue"]
    assert "metaserver_hits_kept_total" in told["reader"]
    for who in ("organiser", ""):  # without a token from this machine: `web.metrics`
        assert 'server="blue-1"' in told[who]


# -- planted secrets -------------------------------------------------------------------------------

PASSWORD = "hunter2planted"
LABEL = "P0LABEL"
WATCHED = ",".join(map(server_id, ("secret-1", "blue-blue", "blue-organiser")))
STREAMS = (f"/c/bc/test/events?page=monitor&rows={WATCHED}",
           "/team/events?page=overview&team=blue",
           "/organise/events?page=overview", "/organise/events?page=servers")  # fmt: skip


async def plant(hub: HubOfRoles, url: str) -> None:
    """Put a password into a server's address and a webhook, a label into the gold."""
    blue = hub.running.team("blue")
    given = url.replace("//", f"//team:{PASSWORD}@") + f"?key={PASSWORD}"
    detail = await hub.running.do("servers.register", blue, server="secret-1", url=given)
    assert PASSWORD not in repr(detail)
    await hub.running.do("servers.test", blue, server="secret-1")
    await hub.running.do("servers.start", blue, server="secret-1", phase="test")
    for server in ("blue-blue", "blue-organiser"):  # nobody is there
        dead = f"http://team:{PASSWORD}@127.0.0.1:1/?key={PASSWORD}"
        await hub.running.do("servers.update", server=server, url=dead)
        await hub.running.do("servers.test", blue, server=server)
    webhook = f"http://127.0.0.1:1/{PASSWORD}"
    detail = await hub.running.do("teams.notices", blue, team="blue", webhook=webhook)
    assert PASSWORD not in repr(detail)
    gold = GOLD.read_bytes() + f"sample01\t{LABEL}\n".encode()
    given = {"phase": "test", "task": "INT", "source": "gold.tsv", "content": gold}
    await hub.running.do("gold.set", **given)


async def frames(hub: HubOfRoles, who: str) -> Mapping[str, str]:
    """Return the first frame of each event stream that somebody may open."""
    told, head = {}, {"Authorization": f"Bearer {hub.tokens[who]}"} if who else {}
    for address in STREAMS:
        async with hub.client.get(address, headers=head) as response:
            if response.status == 200 and response.content_type == "text/event-stream":
                async with patience():
                    told[address] = (await response.content.readuntil(b"\n\n")).decode()
    return told


@pytest.mark.parametrize("visibility", [Visibility.HIDDEN, Visibility.PUBLIC])
async def test_no_answer_shows_a_planted_secret(tmp_path: Path, visibility: Visibility) -> None:
    log = io.StringIO()
    async with hub_with_blue(tmp_path) as hub, served(Kit(annotate)) as url:
        root = logging.getLogger()
        before = root.handlers, root.level
        configure(stream=log, level=LogLevel.DEBUG)
        try:
            await plant(hub, url)
            await hub.running.do("phases.update", phase="test", visibility=visibility)
            await hub.running.until(lambda: hub.running.status("secret-1").state == "finished")
            for who in EVERYBODY:
                told = await told_to(hub, who) | await frames(hub, who)
                for secret in (PASSWORD, *hub.tokens.values()):
                    assert [place for place, text in told.items() if secret in text] == []
                shown = {place.split()[0] for place, text in told.items() if LABEL in text}
                assert shown <= (OF_ORGANISERS if who == "organiser" else set())
        finally:
            root.handlers, _ = before
            root.setLevel(before[1])
        said = log.getvalue()
        assert said
        assert not [secret for secret in (PASSWORD, LABEL, *hub.tokens.values()) if secret in said]
        service = hub.running.service
        copy, folder = tmp_path / "copy.sqlite", Path(service.settings.folder)
        await asyncio.to_thread(copy_store, service.store.place, copy)
        kept = b"".join(path.read_bytes() for path in (copy, *folder.glob("*sqlite*")))
        assert PASSWORD.encode() in kept  # it is needed to ask the server
        assert not [one for one in hub.tokens.values() if one.encode() in kept]


async def test_a_password_is_kept_unless_it_is_written_again(tmp_path: Path) -> None:
    async with at_work(await settings(tmp_path)) as running, served(Kit(annotate)) as url:
        await running.do("teams.create", team="blue")
        blue, one = running.team("blue"), {"server": "blue-1"}
        given = url.replace("//", f"//team:{PASSWORD}@")
        seen = await running.do("servers.register", blue, **one, url=given)
        assert seen.url == url.replace("//", "//***@")

        async def kept() -> str:
            return (await running.service.server(blue, "blue-1")).server.url

        await running.do("servers.update", blue, **one, concurrency=2)
        await running.do("servers.update", blue, **one, url=seen.url, concurrency=3)
        assert await kept() == given
        changed = await running.do("servers.update", blue, **one, url=f"{seen.url}other?a=1")
        assert changed.url == f"{seen.url}other?***"
        assert await kept() == f"{given}other?a=1"
        with pytest.raises(
            RefusedError, match=r"url: \*\*\* stands for the stored secret of another"
        ):
            await running.do("servers.update", blue, **one, url="http://***@127.0.0.1:1/")
        with pytest.raises(RefusedError, match=r"url: .*none is stored; enter the secret"):
            await running.do("servers.register", blue, server="blue-2", url="http://***@x.org/")
        assert await kept() == f"{given}other?a=1"
