"""Servers that attack the hub: each gets its outcome, and the hub goes on undisturbed."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from ipaddress import ip_network
from typing import Any

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from metaserver.base.errors import InputError
from metaserver.base.records import Attempt
from metaserver.base.states import Outcome
from metaserver.exchange.http.guard import AddressGuard
from metaserver.exchange.http.urls import check_url
from metaserver.exchange.wire.xmlrpc import decode_call
from tests.integration.callers import TEXT, article_caller, server
from tests.integration.hostile import (
    ATTACKS,
    DOCUMENTS,
    EVIL,
    SPLIT,
    Attack,
    external,
    external_dtd,
    included,
    named,
    parameter,
    stylesheet,
    undisturbed,
)
from tests.integration.peers import GOOD, PAYLOADS, Connection, Script, answering, peer
from tests.waiting import until

pytestmark = [
    pytest.mark.one_store("it attacks the client of servers, which has no store"),
    pytest.mark.slow,
]


async def suffered(attack: Attack) -> Attempt:
    """Return how an article ended that was sent to an attacker while the hub was at work."""
    async with (
        article_caller(time_limit=attack.time_limit) as caller,
        article_caller() as ordinary,
        peer(attack.script) as there,
        undisturbed(ordinary),
    ):
        ended, _ = await caller.call(server(there.url), 0, 1)
    return ended


@pytest.mark.parametrize("name", named(ATTACKS))
async def test_an_attack_ends_in_its_outcome_and_disturbs_nobody(name: str) -> None:
    attack = ATTACKS[name]
    ended = await suffered(attack)
    assert ended.outcome in attack.outcomes, ended.message
    assert attack.message in ended.message
    assert len(ended.message) <= 2_000
    assert "\n" not in ended.message


@pytest.mark.parametrize("name", ["endless", "a byte now and then", "a gzip bomb"])
async def test_a_probe_is_attacked_no_less(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metaserver.exchange.http.caller.PROBE_SECONDS", 0.5)
    async with article_caller() as caller, peer(ATTACKS[name].script) as there, undisturbed(caller):
        await caller.probe(server(there.url))


# Documents that ask for more


@pytest.mark.parametrize("document", [external, external_dtd, parameter, included, stylesheet])
@pytest.mark.parametrize("system", ["file:///etc/passwd", "http"])
async def test_nothing_that_an_answer_names_is_fetched(document, system):
    async with peer(answering(b"secret")) as canary:
        body = document(canary.url if system == "http" else system)
        async with peer(answering(body)) as there, article_caller() as caller:
            ended, answer = await caller.call(server(there.url), 0, 1)
    if document is stylesheet:  # an instruction to others, which an answer may hold
        assert ended.outcome is Outcome.OK
        assert answer.payloads == PAYLOADS
    else:  # an element that is no type of XML-RPC is a value of no type
        assert ended.outcome is (Outcome.SHAPE if document is included else Outcome.SYNTAX)
    assert canary.connections == 0
    assert "root:" not in repr(ended)
    assert "secret" not in repr(ended)


@pytest.mark.parametrize(
    ("status", "header"),
    [*((f"{code} Moved", "Location") for code in (300, 301, 302, 303, 305, 307, 308)),
     ("401 Unauthorized", "WWW-Authenticate"), ("407 Proxy Authentication Required", "Location"),
     ("200 OK", "Location"), ("200 OK", "Refresh"), ("200 OK", "Alt-Svc")],
)  # fmt: skip
@pytest.mark.parametrize(
    "scheme", ["http://", "https://", "file:///etc/passwd#", "gopher://", "//"]
)
async def test_no_redirect_is_followed(status: str, header: str, scheme: str) -> None:
    async with peer(answering(GOOD)) as canary:
        place = canary.url.replace("http://", scheme)
        there = answering(GOOD, status=status, **{header: place})
        async with peer(there) as asked, article_caller() as caller:
            ended, _ = await caller.call(server(asked.url), 0, 1)
    known = {"200 OK": Outcome.OK, "401 Unauthorized": Outcome.CREDENTIALS}
    assert ended.outcome is known.get(status, Outcome.HTTP)
    assert canary.connections == 0
    assert len(asked.requests) == 1


# One answer, one article


async def second_article(script: Script) -> tuple[list[Outcome], Any]:
    """Return how two articles in a row end, and what the second was answered with."""
    async with peer(script) as there, article_caller(time_limit=2.0) as caller:
        first, _ = await caller.call(server(there.url), 0, 1)
        await asyncio.sleep(0.05)  # so that all has come that will
        second, answer = await caller.call(server(there.url), 0, 1)
    return [first.outcome, second.outcome], answer and answer.payloads


@pytest.mark.parametrize("name", SPLIT)
async def test_what_follows_an_answer_is_not_the_next_articles(name: str) -> None:
    async def script(connection: Connection) -> None:
        await connection.request()
        if connection.number > 1:
            await connection.respond(GOOD)
        else:
            await connection.send(SPLIT[name])
        await connection.request()
        await connection.respond(GOOD)

    (first, second), payloads = await second_article(script)
    assert first in (Outcome.OK, Outcome.HTTP, Outcome.SYNTAX, Outcome.CONNECT)
    assert second is Outcome.OK
    assert payloads == PAYLOADS


@pytest.mark.parametrize("late", [EVIL, b"HTTP/1.1 200", b"\0"], ids=["whole", "begun", "a byte"])
async def test_an_answer_that_nobody_asked_for_is_nobodys(late: bytes) -> None:
    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.respond(GOOD)
        await asyncio.sleep(0.01)  # the connection is idle by now
        if late is EVIL:
            await connection.respond(EVIL)
        else:
            await connection.send(late)
        await connection.request()
        await connection.respond(GOOD)

    (first, second), payloads = await second_article(script)
    assert (first, second) == (Outcome.OK, Outcome.OK)
    assert payloads == PAYLOADS


async def test_a_flood_on_an_idle_connection_ends_it() -> None:
    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.respond(GOOD)
        await asyncio.sleep(0.01)  # the connection is idle by now
        while True:
            await connection.send(SPLIT["two answers at once"] * 100)

    async with peer(script) as there, article_caller() as caller:
        ended, _ = await caller.call(server(there.url), 0, 1)
        await until(lambda: not there.open)
    assert ended.outcome is Outcome.OK


@pytest.mark.parametrize(
    "method", ["x\r\nX-Evil: 1", "</methodName><params/></methodCall>", "a&b<c>", "é\n\n"]
)
async def test_a_methods_name_stays_where_it_is(method: str) -> None:
    async with peer(answering(GOOD)) as there, article_caller() as caller:
        await caller.call(server(there.url, method=method), 0, 1)
    (request,) = there.requests
    assert "x-evil" not in request.headers
    assert request.headers["content-length"] == str(len(request.body))
    call = decode_call(request.body)
    assert call.method.split() == method.split()
    assert call.params == [TEXT]


@pytest.mark.parametrize(
    "rest", ["/%0d%0aX-Evil:%201", "/?q=%0d%0aX-Evil:%201", "/#%0d%0aX-Evil:%201", "/%00", "/\x85"]
)
async def test_a_url_stays_one_line(rest: str) -> None:
    async with peer(answering(GOOD)) as there, article_caller() as caller:
        url = there.url.removesuffix("/RPC2") + rest
        await caller.call(server(url), 0, 1)
        secret = url.replace("http://", "http://team%0d%0aX-Evil:%0d%0asecret@")
        await caller.call(server(secret), 0, 1)
    for request in there.requests:
        assert "x-evil" not in request.headers
        assert len(request.line.split()) == 3


@pytest.mark.parametrize(
    "url",
    ["ftp://h/", "file:///etc/passwd", "gopher://h/", "unix:///run/x", "javascript:1", "//h/",
     "h:80", "http:///x", "http://h\r\nX: y/", "http://h/a b", "http://h\tx/", "http://[::1/", "http://h:0/",
     "http://h:99999/", "http://h%0d%0aX:1/", "http://h%00/", "http://h\\@x/",
     "http://a%3ab:c@h/", ""],
)  # fmt: skip
def test_what_is_no_url_of_a_server_is_not_taken(url: str) -> None:
    with pytest.raises(InputError):
        check_url(url, "url")


# Addresses


SPELLINGS = {
    "plain": "127.0.0.1",
    "another of the network": "127.99.88.77",
    "decimal": "2130706433",
    "hexadecimal": "0x7f000001",
    "hexadecimal parts": "0x7f.0x0.0x0.0x1",
    "octal": "017700000001",
    "octal parts": "0177.0.0.01",
    "two parts": "127.1",
    "zero": "0",
    "unspecified": "0.0.0.0",
    "IPv6": "[::1]",
    "IPv6 in full": "[0:0:0:0:0:0:0:1]",
    "IPv6 unspecified": "[::]",
    "IPv4 in IPv6": "[::ffff:127.0.0.1]",
    "IPv4 in IPv6, hexadecimal": "[::ffff:7f00:1]",
    "compatible": "[::127.0.0.1]",
    "NAT64": "[64:ff9b::127.0.0.1]",
    "6to4": "[2002:7f00:1::]",
    "with a zone": "[::1%25lo]",
    "other digits": "①②⑦.⓪.⓪.①",
    "full width": "１２７。０。０。１",
    "by name": "localhost",
    "by name in full": "localhost.",
    "in capitals": "LOCALHOST",
}


@pytest.mark.parametrize("host", SPELLINGS.values(), ids=SPELLINGS)
async def test_the_hubs_own_machine_is_refused_in_every_spelling(host: str) -> None:
    async with peer(answering(GOOD)) as canary, article_caller(guard=AddressGuard()) as caller:
        url = canary.url.replace("127.0.0.1", host)
        ended, _ = await caller.call(server(url), 0, 1)
        failure = await caller.probe(server(url))
    assert ended.outcome in (Outcome.CONNECT, Outcome.DNS)  # some are no names to begin with
    if ended.outcome is Outcome.CONNECT:
        assert "this hub does not send articles there" in ended.message
    assert failure == f"{ended.outcome}: {ended.message}"
    assert canary.connections == 0


async def test_a_refused_address_is_told() -> None:
    async with article_caller(guard=AddressGuard()) as caller:
        ended, _ = await caller.call(server("http://team:secret@127.0.0.1:9/?key=secret"), 0, 1)
    assert (ended.outcome, ended.message) == (
        Outcome.CONNECT,
        "the address 127.0.0.1 is loopback; this hub does not send articles there",
    )


class Names(AbstractResolver):
    """A name server under the attacker's control: another answer each time, the last for ever."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers = list(answers)
        self.asked = 0

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        self.asked += 1
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return [
            ResolveResult(hostname=host, host=one, port=port, family=family, proto=0, flags=0)
            for one in answer
        ]

    async def close(self) -> None:
        """Nothing is open."""


ONE = AddressGuard([ip_network("127.0.0.1")])  # stands for all that is public


async def called(url: str, names: Names, guard: AddressGuard = ONE) -> Attempt:
    async with article_caller(guard=guard, resolver=names) as caller:
        return (await caller.call(server(url), 0, 1))[0]


async def test_a_name_that_changes_its_address_after_the_test_is_refused() -> None:
    names = Names(["127.0.0.1"], ["127.0.0.2"])
    async with peer(answering(GOOD)) as there:
        url = there.url.replace("127.0.0.1", "127.0.0.1.nip.test")
        tested, sent = await called(url, names), await called(url, names)
        assert there.connections == 1
    assert tested.outcome is Outcome.OK
    assert (sent.outcome, sent.message) == (
        Outcome.CONNECT,
        "the address 127.0.0.2 is loopback; this hub does not send articles there",
    )
    assert names.asked == 2


@pytest.mark.parametrize(
    "answer",
    [["127.0.0.2", "127.0.0.1"], ["127.0.0.1", "10.0.0.1"], ["::1", "127.0.0.1"],
     ["127.0.0.2", "10.0.0.1", "fd00::1", "169.254.169.254", "127.0.0.1"]],
)  # fmt: skip
async def test_an_allowed_address_beside_refused_ones_is_tried(answer: Sequence[str]) -> None:
    async with peer(answering(GOOD)) as there:
        ended = await called(there.url.replace("127.0.0.1", "annotator.test"), Names(answer))
    assert ended.outcome is Outcome.OK


async def test_several_refused_addresses_are_told_in_one_line() -> None:
    ended = await called("http://annotator.test/", Names(["10.0.0.1", "fd00::1"]))
    assert ended.outcome is Outcome.CONNECT
    assert ended.message.startswith("the address ")
    assert "does not send articles there" in ended.message


# Memory


MEMORY = 400 * 2**20  # bytes; of 64 MiB answers with up to 2 million values
SCRIPT = """
import asyncio, json, sys
from pathlib import Path
from tests.integration.callers import article_caller, server

def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024

async def main():
    async with article_caller(time_limit=240) as caller:
        await caller.call(server(sys.argv[1]), 0, 1)
        before = peak()
        for url in sys.argv[2:]:
            for _ in range(2):
                ended, _ = await caller.call(server(url), 0, 1)
                print(json.dumps([ended.outcome, peak() - before]), flush=True)

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")
@pytest.mark.parametrize("name", named([*DOCUMENTS, "endless", "a gzip bomb", "a bomb of values"]))
async def test_memory_stays_bounded(name: str) -> None:
    async with peer(answering(GOOD)) as ordinary, peer(ATTACKS[name].script) as there:
        run = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-c", SCRIPT, ordinary.url, there.url],
            env=os.environ | {"MALLOC_ARENA_MAX": "2"},
            check=True,
            capture_output=True,
            text=True,
        )
    ends = [json.loads(line) for line in run.stdout.splitlines()]
    assert {Outcome(outcome) for outcome, _ in ends} <= ATTACKS[name].outcomes
    assert max(grown for _, grown in ends) < MEMORY, ends
