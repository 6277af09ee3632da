"""Servers that attack the hub, and a hub at work that they must not disturb.

An attack is a script for `peers.peer` and how an article sent to it must end. `undisturbed` is
the rest of the hub meanwhile: a heartbeat, and a lane with an ordinary server.
"""

import asyncio
import gc
import gzip
import time
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

import pytest
from _pytest.mark.structures import ParameterSet

from metaserver.base.states import Outcome
from metaserver.exchange.http.caller import ArticleCaller
from tests.integration.callers import server
from tests.integration.peers import GOOD, Connection, Script, answering, peer, response, sending

LONGEST_SILENCE = 2.0  # seconds of this process; generous, as the attackers run in the same loop
BEAT = 0.01
CHUNK = 65_536


@dataclass(frozen=True, kw_only=True, slots=True)
class Attack:
    """A hostile server, and the outcomes that an article sent to it may have."""

    make: Callable[[], Script]
    outcomes: frozenset[Outcome]
    message: str = ""
    time_limit: float = 120.0

    @property
    def script(self) -> Script:
        """The server's script, made now: nobody else holds its megabytes."""
        return self.make()


def attack(
    script: Script, *outcomes: Outcome, message: str = "", time_limit: float = 120.0
) -> Attack:
    return made(lambda: script, *outcomes, message=message, time_limit=time_limit)


def made(
    make: Callable[[], Script], *outcomes: Outcome, message: str = "", time_limit: float = 120.0
) -> Attack:
    """Return an attack whose script is made when it is needed."""
    return Attack(make=make, outcomes=frozenset(outcomes), message=message, time_limit=time_limit)


# The hub meanwhile


@dataclass(kw_only=True)
class Meanwhile:
    """The rest of the hub meanwhile: its longest silence, the articles answered.

    The silence is in seconds of this process, which do not pass while a loaded machine runs others.
    """

    silence: float = 0.0
    answered: int = 0


@asynccontextmanager
async def undisturbed(caller: ArticleCaller) -> AsyncIterator[Meanwhile]:
    """Fail unless the loop and an ordinary server's lane went on while the context lasted."""
    seen = Meanwhile()
    gc.collect()
    async with peer(answering(GOOD)) as there:
        tasks = [
            asyncio.create_task(heart(seen)),
            asyncio.create_task(_lane(seen, caller, there.url)),
        ]
        try:
            yield seen
            before = seen.answered
            while seen.answered < before + 2 and not tasks[1].done():
                await asyncio.sleep(BEAT)
        finally:
            for task in tasks:
                task.cancel()
            ends = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(end, asyncio.CancelledError) for end in ends), ends
    assert seen.silence < LONGEST_SILENCE


class Silence(Protocol):
    """An object with the longest silence of the event loop, in seconds of this process."""

    silence: float


async def heart(seen: Silence) -> None:
    """Beat until cancelled, and keep the longest time between two beats."""
    last = time.process_time()
    while True:
        await asyncio.sleep(BEAT)
        now = time.process_time()
        seen.silence = max(seen.silence, now - last)
        last = now


async def _lane(seen: Meanwhile, caller: ArticleCaller, url: str) -> None:
    while True:
        ended, _ = await caller.call(server(url), 0, 1)
        assert ended.outcome is Outcome.OK, ended.message
        seen.answered += 1
        await asyncio.sleep(BEAT)


# Bodies


def flood(head: bytes, pieces: Callable[[], Iterator[bytes]], **headers: str) -> Script:
    """Return a script that answers with `head` and the pieces, as long as anyone reads them."""
    fields = "".join(f"{name.replace('_', '-')}: {headers[name]}\r\n" for name in headers)

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(f"HTTP/1.1 200 OK\r\n{fields}\r\n".encode() + head)
        for piece in pieces():
            await connection.send(piece)

    return script


def forever(piece: bytes) -> Callable[[], Iterator[bytes]]:
    def pieces() -> Iterator[bytes]:
        while True:
            yield piece

    return pieces


def counted(template: bytes, count: int) -> Callable[[], Iterator[bytes]]:
    """Return a generator of the template with each number below `count`, a thousand at a time."""

    def pieces() -> Iterator[bytes]:
        for start in range(0, count, 1_000):
            numbers = range(start, min(count, start + 1_000))
            yield b"".join(template.replace(b"%d", b"%d" % number) for number in numbers)

    return pieces


def slowly(beginning: bytes, piece: bytes) -> Script:
    """Return a script that sends a piece now and then, and never comes to an end."""

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(beginning)
        while True:
            await connection.send(piece)
            await asyncio.sleep(BEAT)

    return script


def inside(value: bytes) -> bytes:
    """Return an answer that holds a value."""
    return VALUE + value + END


VALUE = b"<?xml version='1.0'?><methodResponse><params><param>"
END = b"</param></params></methodResponse>"
ARRAY = b"<value><struct><member><name>normalizations</name><value><array><data>"
END_ARRAY = b"</data></array></value></member></struct></value>"
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\n"


def array_of(template: bytes, count: int) -> Script:
    """Return a script that answers with an array of `count` items."""

    def pieces() -> Iterator[bytes]:
        yield from counted(template, count)()
        yield END_ARRAY + END

    return flood(VALUE + ARRAY, pieces)


def nested_gzip(layers: int) -> bytes:
    data = GOOD
    for _ in range(layers):
        data = gzip.compress(data, 1)
    return data


def laughs() -> bytes:
    entities = b"".join(
        b'<!ENTITY e%d "%s">' % (n, b"&e%d;" % (n - 1) * 10 if n else b"lol") for n in range(10)
    )
    return b"<!DOCTYPE methodResponse [" + entities + b"]>" + inside(b"<value>&e9;</value>")


def quadratic() -> bytes:
    entity = b'<!DOCTYPE x [<!ENTITY e "' + b"a" * 100_000 + b'">]>'
    return entity + inside(b"<value>" + b"&e;" * 100_000 + b"</value>")


def external(system: str) -> bytes:
    entity = f'<!DOCTYPE x [<!ENTITY e SYSTEM "{system}">]>'.encode()
    return entity + inside(b"<value>&e;</value>")


def parameter(system: str) -> bytes:
    return f'<!DOCTYPE x [<!ENTITY % e SYSTEM "{system}"> %e;]>'.encode() + GOOD


def external_dtd(system: str) -> bytes:
    return f'<!DOCTYPE methodResponse SYSTEM "{system}">'.encode() + GOOD


def included(system: str) -> bytes:
    place = f'<x:include xmlns:x="http://www.w3.org/2001/XInclude" href="{system}" parse="text"/>'
    return inside(b"<value>" + place.encode() + b"</value>")


def stylesheet(system: str) -> bytes:
    place = f'<?xml-stylesheet href="{system}" type="text/xsl"?>'.encode()
    return place + GOOD.partition(b"?>")[2]


XML, SHAPE, HTTP = Outcome.SYNTAX, Outcome.SHAPE, Outcome.HTTP
TOO_LARGE, TIMEOUT, CONNECT = Outcome.TOO_LARGE, Outcome.TIMEOUT, Outcome.CONNECT
PARTIAL, NO_VALID_HIT = Outcome.PARTIAL, Outcome.NO_VALID_HIT

HIT = (
    b"<value><struct><member><name>dbid</name><value>%s</value></member><member><name>rank</name>"
    b"<value><i4>%%d</i4></value></member><member><name>confidence</name><value><double>%s</double>"
    b"</value></member></struct></value>"
)

DOCUMENTS = {
    "billion laughs": attack(answering(laughs()), XML, message="document type"),
    "quadratic entities": attack(answering(quadratic()), XML, message="document type"),
    "nested arrays": made(
        lambda: answering(inside(b"<value><array><data>" * 100_000)), XML, message="nested deeper"
    ),
    "nested structs": made(
        lambda: answering(inside(b"<value><struct><member><name>a</name>" * 100_000)),
        XML,
        message="nested deeper",
    ),
    "a million names of processing instructions": attack(
        flood(VALUE, counted(b"<?p%d?>", 1_000_000)), XML
    ),
    "a million namespaces": attack(array_of(b"<value xmlns='urn:%d'/>", 1_000_000), SHAPE),
    "a million prefixes": attack(
        array_of(b"<value xmlns:p%d='u'/>", 1_000_000), XML, message="32 names that XML-RPC"
    ),
    "a million attributes": attack(
        flood(VALUE + b"<value ", counted(b"a%d='' ", 1_000_000)), XML, message="a tag or comment"
    ),
    "a name without end": attack(
        flood(VALUE + b"<", forever(b"a" * CHUNK)), XML, message="a tag or comment"
    ),
    "a comment without end": attack(
        flood(VALUE + b"<!--", forever(b"-a" * CHUNK)), XML, message="a tag or comment"
    ),
    "a text without end": attack(
        flood(VALUE + b"<value>", forever(b"a" * CHUNK)), TOO_LARGE, message="67,108,864 bytes"
    ),
    "references without end": attack(
        flood(VALUE + b"<value>", forever(b"&#65;" * 10_000)), TOO_LARGE
    ),
    "an int of a million digits": made(
        lambda: answering(inside(b"<value><int>" + b"9" * 1_000_000 + b"</int></value>")),
        SHAPE,
        message="got unreadable int",
    ),
    "a double of ten million digits": made(
        lambda: answering(inside(b"<value><double>0." + b"1" * 10_000_000 + b"</double></value>")),
        SHAPE,
    ),
    "an array of a million ints": attack(array_of(b"<value><i4>%d</i4></value>", 10**6), SHAPE),
    "an array of a million structs": attack(
        array_of(b"<value><struct/></value>", 10**6), SHAPE
    ),
    "an array of three million": attack(
        array_of(b"<value/>", 3 * 10**6), TOO_LARGE, message="2,000,000 values"
    ),
    "a struct of half a million members": attack(
        flood(
            VALUE + b"<value><struct>",
            counted(b"<member><name>m%d</name><value/></member>", 500_000),
        ),
        XML,
    ),
    "250,000 hits that are no accessions": attack(
        array_of(HIT % (b"nonsense", b"0.5"), 250_000), NO_VALID_HIT
    ),
    "250,000 hits of one protein": attack(
        array_of(HIT % (b"P04637", b"0.5"), 250_000), PARTIAL
    ),
    "250,000 hits of other types": attack(
        array_of(HIT.replace(b"<i4>", b"").replace(b"</i4>", b"") % (b"7", b"7"), 250_000),
        NO_VALID_HIT,
    ),
    "a million values that cannot be read": attack(
        array_of(b"<value><int>x</int></value>", 1_000_000), SHAPE, message="expected struct"
    ),
    "half a million types that are none": attack(
        array_of(b"<value><a>x</a></value>", 500_000), SHAPE, message="expected struct"
    ),
    "a type of a million elements": attack(
        flood(VALUE + b"<value><a>", forever(b"<a>x</a>" * 8_000)), TOO_LARGE, message="values"
    ),
    "a type of a million names": attack(
        flood(VALUE + b"<value><a>", counted(b"<a%d/>", 1_000_000)), XML, message="32 names"
    ),
    "a type nested without end": made(
        lambda: answering(inside(b"<value>" + b"<a>" * 1_000_000)), XML, message="nested deeper"
    ),
    "half a million members of one name": attack(
        flood(
            VALUE + b"<value><struct>",
            counted(b"<member><name>normalizations</name><value/></member>", 500_000),
        ),
        XML,
    ),
    "a fault code of ten million letters": made(
        lambda: answering(
            b"<methodResponse><fault><value><struct><member><name>faultCode</name><value>"
            + b"x" * 10_000_000
            + b"</value></member></struct></value></fault></methodResponse>"
        ),
        Outcome.FAULT,
        message="x" * 80 + ": ",
    ),
    "a fault string of a million values": made(
        lambda: answering(
            b"<methodResponse><fault><value><struct><member><name>faultString</name>"
            b"<value><array><data>" + b"<value/>" * 1_000_000
            + b"</data></array></value></member></struct></value></fault></methodResponse>"
        ),
        Outcome.FAULT,
        message="0: array of 1000000",
    ),
    "NUL bytes without end": attack(flood(GOOD, forever(b"\0" * CHUNK)), TOO_LARGE),
    "spaces before without end": attack(
        flood(b"\xef\xbb\xbf", forever(b"\n\xef\xbb\xbf" * 10_000)), TOO_LARGE
    ),
    "a charset that is none": attack(
        answering(GOOD, content_type="text/xml; charset=zlib"), Outcome.OK
    ),
    "a charset that is slow": made(
        lambda: answering(
            inside(b"<value>" + b"a" * 10_000_000 + b"</value>"),
            content_type="text/xml; charset=punycode",
        ),
        SHAPE,
    ),
    "ten million letters of two encodings": made(
        lambda: answering(
            b"<?xml version='1.0' encoding='gb18030'?>"
            + inside(b"<value>" + b"\xb0\xa1" * 5_000_000 + b"</value>").partition(b"?>")[2],
            content_type="text/xml; charset=utf-8",
        ),
        SHAPE,
    ),
    "encodings that are none": attack(
        answering(b"<?xml version='1.0' encoding='zlib'?>" + GOOD.partition(b"?>")[2]), XML
    ),
}  # fmt: skip

BODIES = {
    "endless": attack(flood(b"", forever(b" " * CHUNK)), TOO_LARGE),
    "endless in chunks": attack(
        flood(b"", forever(b"10000\r\n" + b" " * CHUNK + b"\r\n"), transfer_encoding="chunked"),
        TOO_LARGE,
    ),
    "endless in chunks of a byte": attack(
        flood(b"", forever(b"1\r\n \r\n" * 10_000), transfer_encoding="chunked"),
        TIMEOUT, TOO_LARGE, HTTP,
        time_limit=2.0,
    ),
    "a chunk's extension without end": attack(
        flood(b"1;", forever(b"a" * CHUNK), transfer_encoding="chunked"),
        TIMEOUT, HTTP,
        time_limit=2.0,
    ),
    "trailers without end": attack(
        flood(b"0\r\n", forever(b"X: y\r\n" * 10_000), transfer_encoding="chunked"),
        XML, TIMEOUT, HTTP,
        time_limit=2.0,
    ),
    "a byte now and then": attack(slowly(OK + b"\r\n", b" "), TIMEOUT, time_limit=0.5),
    "a value now and then": attack(
        slowly(OK + b"\r\n" + VALUE + b"<value><array><data>", b"<value/>"), TIMEOUT, time_limit=0.5
    ),
    "a compressed byte now and then": attack(
        slowly(OK + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b"")[:10], b"\0"),
        TIMEOUT, XML,
        time_limit=0.5,
    ),
    "an answer that waits for its last byte": attack(
        slowly(OK + b"Content-Length: %d\r\n\r\n" % (len(GOOD) + 1) + GOOD, b""),
        TIMEOUT,
        time_limit=0.5,
    ),
    "half of what was promised": attack(
        sending(OK + b"Content-Length: 100000\r\n\r\n" + GOOD), CONNECT
    ),
    "less than nothing": attack(sending(OK + b"Content-Length: -1\r\n\r\n" + GOOD), HTTP),
    "more than there can be": attack(
        sending(OK + b"Content-Length: 99999999999999999999999\r\n\r\n" + GOOD), HTTP, CONNECT
    ),
}  # fmt: skip

HEADS = {
    "a header now and then": attack(slowly(OK, b"X: y\r\n"), TIMEOUT, HTTP, time_limit=0.5),
    "a header's byte now and then": attack(slowly(OK + b"X: ", b"y"), TIMEOUT, time_limit=0.5),
    "silence": attack(slowly(b"", b""), TIMEOUT, time_limit=0.5),
    "headers without end": attack(slowly(OK, b"X: y\r\n" * 10_000), HTTP),
    "a header without end": attack(slowly(OK + b"X: ", b"y" * CHUNK), HTTP),
    "a million headers": made(
        lambda: sending(OK + b"".join(b"X-%d: y\r\n" % n for n in range(1_000_000))), HTTP
    ),
    "a status line without end": made(lambda: sending(b"HTTP/1.1 200 " + b"O" * 10_000_000), HTTP),
    "always to be continued": attack(
        slowly(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000), TIMEOUT, time_limit=1.0
    ),
    "early hints without end": attack(
        slowly(b"", b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" * 1_000),
        TIMEOUT,
        time_limit=1.0,
    ),
    "busy for ever": attack(
        answering(b"", status="503 Busy", retry_after="99999999999999999999"), HTTP,
        message="no time or try is left",
    ),
    "busy again and again": attack(
        answering(b"", status="429 Busy", retry_after="0"), HTTP, TIMEOUT, time_limit=3.0
    ),
    "busy until a date of thousands of digits": attack(
        answering(b"", status="503 Busy", retry_after="Sun, 06 Nov " + "9" * 7_000), HTTP,
        message="expected 200",
    ),
    "a length and chunks, now and then a byte": attack(
        slowly(OK + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\nX: ", b"y"),
        TIMEOUT,
        time_limit=0.5,
    ),
    "a length and chunks without end": attack(
        flood(
            b"",
            forever(b"10000\r\n" + b" " * CHUNK + b"\r\n"),
            content_length="5",
            transfer_encoding="chunked",
        ),
        TOO_LARGE,
    ),
    "a header of spaces": attack(
        sending(OK + (b"X: " + b" " * 7_000 + b"y\r\n") * 9 + b"Content-Length: 0\r\n\r\n"), XML
    ),
    "a length, chunks and one header of spaces": attack(
        sending(
            OK + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\nX: " + b" " * 65_000
            + b"y\r\n\r\n"
        ),
        HTTP, CONNECT,
    ),
    "a length and headers without end": attack(
        slowly(OK + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"X: y\r\n" * 10_000),
        HTTP,
    ),
    "another protocol": attack(
        sending(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n" + GOOD), HTTP
    ),
}  # fmt: skip


def blank() -> bytes:
    """Return 200 MB of white space, an answer until then."""
    return b"<?xml version='1.0'?><methodResponse>" + b" " * 200 * 2**20


COMPRESSED = {
    "a gzip bomb": made(
        lambda: answering(gzip.compress(blank(), 1), content_encoding="gzip"),
        TOO_LARGE,
        message="bytes",
    ),
    "a zlib bomb": made(
        lambda: answering(zlib.compress(blank(), 1), content_encoding="deflate"),
        TOO_LARGE,
        message="bytes",
    ),
    "a bomb of raw deflate": made(
        lambda: answering(zlib.compress(blank(), 1)[2:-4], content_encoding="deflate"),
        TOO_LARGE,
        message="bytes",
    ),
    "raw deflate that opens to nothing": attack(
        flood(b"", forever(b"\x03\x00" * 10_000), content_encoding="deflate"), TOO_LARGE
    ),
    "raw deflate of empty blocks": attack(
        flood(b"", forever(b"\x00\x00\x00\xff\xff" * 10_000), content_encoding="deflate"),
        TOO_LARGE,
    ),
    "a bomb of small members": made(
        lambda: answering(
            gzip.compress(b"<methodResponse>")
            + gzip.compress(b"<params/>" * 7_000) * 2_000,
            content_encoding="gzip",
        ),
        XML, TOO_LARGE,
    ),
    "a bomb of values": made(
        lambda: answering(
            gzip.compress(VALUE + ARRAY)
            + gzip.compress(b"<value><i4>1</i4></value>" * 2_500) * 2_000,
            content_encoding="gzip",
        ),
        TOO_LARGE,
    ),
    "members that open to nothing": attack(
        flood(b"", forever(gzip.compress(b"") * 1_000), content_encoding="gzip"), TOO_LARGE
    ),
    "gzip in gzip": attack(answering(nested_gzip(2), content_encoding="gzip"), XML),
    "two layers": attack(answering(nested_gzip(2), content_encoding="gzip, gzip"), HTTP),
    "a thousand layers": attack(
        answering(GOOD, content_encoding=", ".join(["gzip"] * 1_000)), HTTP, message="expected gzip"
    ),
    "a layer in each header": attack(
        sending(OK + b"Content-Encoding: gzip\r\n" * 2 + b"\r\n" + nested_gzip(2)), HTTP, XML
    ),
    "an encoding that was not asked for": attack(
        answering(GOOD, content_encoding="br"), HTTP, message="expected gzip"
    ),
}  # fmt: skip

LONG = {
    "a bomb of values",
    "a million values that cannot be read",
    "half a million types that are none",
    "a million namespaces",
    "an array of a million ints",
    "an array of a million structs",
    "an array of three million",
    "a type of a million elements",
    "250,000 hits of one protein",
    "250,000 hits of other types",
    "250,000 hits that are no accessions",
}
"""What takes the hub many seconds, during which it goes on."""

ATTACKS = {**DOCUMENTS, **BODIES, **HEADS, **COMPRESSED}


def named(names: Iterable[str]) -> list[ParameterSet]:
    """Return the names of attacks as parameters: the long ones are nightly."""
    return [pytest.param(one, marks=[pytest.mark.nightly] * (one in LONG)) for one in names]


# Answers that are not the whole of what is sent: what follows must never answer another article.

EVIL = response({"interaction": [False, 0.125]})


def _framed(body: bytes, headers: bytes = b"") -> bytes:
    return OK + headers + b"Content-Length: %d\r\n\r\n" % len(body) + body


_CHUNKED = b"%x\r\n%s\r\n0\r\n\r\n" % (len(GOOD), GOOD)
SPLIT = {
    "two answers at once": _framed(GOOD) + _framed(EVIL),
    "two lengths": OK + b"Content-Length: %d\r\nContent-Length: %d\r\n\r\n" % (
        len(GOOD), len(GOOD) + len(_framed(EVIL))) + GOOD + _framed(EVIL),
    "one length twice": _framed(GOOD, b"Content-Length: %d\r\n" % len(GOOD)) + _framed(EVIL),
    "a list of lengths": OK + b"Content-Length: %d, 5\r\n\r\n" % len(GOOD) + GOOD + _framed(EVIL),
    "length and chunks": OK + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
    + _CHUNKED + _framed(EVIL),
    "chunks and length": OK + b"Transfer-Encoding: chunked\r\nContent-Length: %d\r\n\r\n" % (
        len(_CHUNKED) + len(_framed(EVIL))) + _CHUNKED + _framed(EVIL),
    "chunked twice": OK + b"Transfer-Encoding: chunked, chunked\r\n\r\n" + _CHUNKED + _framed(EVIL),
    "chunked, but not quite": OK + b"Transfer-Encoding: xchunked\r\n\r\n" + _CHUNKED
    + _framed(EVIL),
    "chunked and identity": OK + b"Transfer-Encoding: chunked, identity\r\n\r\n" + _CHUNKED
    + _framed(EVIL),
    "a folded header": OK + b"Content-Length:\r\n %d\r\n\r\n" % len(GOOD) + GOOD + _framed(EVIL),
    "a folded coding": OK + b"Transfer-Encoding:\r\n chunked\r\n\r\n" + _CHUNKED + _framed(EVIL),
    "space before a colon": OK + b"Content-Length : %d\r\n\r\n" % len(GOOD) + GOOD + _framed(EVIL),
    "bare line feeds": _framed(GOOD).replace(b"\r\n", b"\n") + _framed(EVIL),
    "a bare return": OK + b"X: y\rContent-Length: 4\r\nContent-Length: %d\r\n\r\n" % len(GOOD)
    + GOOD + _framed(EVIL),
    "a zero byte": OK + b"X: \0\r\nContent-Length: %d\r\n\r\n" % len(GOOD) + GOOD + _framed(EVIL),
    "a signed length": OK + b"Content-Length: +%d\r\n\r\n" % len(GOOD) + GOOD + _framed(EVIL),
    "no content, and an answer": b"HTTP/1.1 204 No Content\r\n\r\n" + _framed(EVIL),
    "not modified, and an answer": b"HTTP/1.1 304 Not Modified\r\n\r\n" + _framed(EVIL),
    "a chunk's length with a sign": OK + b"Transfer-Encoding: chunked\r\n\r\n+" + _CHUNKED
    + _framed(EVIL),
    "a header in a trailer": OK + b"Transfer-Encoding: chunked\r\n\r\n"
    + _CHUNKED[:-2] + b"Content-Length: 5\r\n\r\n" + _framed(EVIL),
}  # fmt: skip
