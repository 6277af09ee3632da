"""Faults that the faulty server plays: its responses, and the outcomes that a hub should record."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from aiohttp import web

from annotators.protocol import encode_answer, encode_fault

OVERSIZED = 2**30  # bytes at most; a client is expected to hang up long before
BLOCK = b" " * 2**20

Play: TypeAlias = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse]]
"""Sends a bad (or odd) response, given the honest answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FaultyAnswer:
    """One kind of answer: the outcome that a hub should record, and the function that sends it.

    After `heals_after` failures the same article is answered honestly; 0 is never.
    """

    name: str
    outcome: str
    play: Play
    heals_after: int = 0


def _xml(body: bytes, **options: Any) -> web.Response:
    return web.Response(body=body, content_type="text/xml", charset="utf-8", **options)


def _altered(change: Callable[[dict[str, Any]], object]) -> Play:
    """Return a play that sends the answer after `change`."""

    async def play(_: web.Request, answer: dict[str, Any]) -> web.StreamResponse:
        return _xml(encode_answer(change(answer)))

    return play


def _sent(body: bytes, **options: Any) -> Play:
    """Return a play that sends fixed bytes."""

    async def play(_: web.Request, __: dict[str, Any]) -> web.StreamResponse:
        return _xml(body, **options)

    return play


def _first(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the best INT hit as a template; the honest answer may be empty."""
    hits = answer.get("normalizations") or [{"dbid": "P04637", "rank": 1, "confidence": 0.5}]
    return dict(hits[0])


def _wrong_types(answer: dict[str, Any]) -> object:
    hit = _first(answer) | {"rank": "first", "confidence": "high"}
    wrong = {"interaction": "yes", "normalizations": [hit], "pairs": {"dbid_a": "P04637"}}
    return answer | wrong | _spoilt(answer, {"offset": "first"})


def _unknown_only(answer: dict[str, Any]) -> object:
    hit = _first(answer) | {"dbid": "Q0ZZZ9"}  # well-formed, never assigned
    pair = {"dbid_a": "Q0ZZZ9", "dbid_b": "A0A999ZZZ9", "rank": 1, "confidence": 0.9}
    return {"normalizations": [hit], "pairs": [pair]}


def _some_bad(answer: dict[str, Any]) -> object:
    """Add a gene symbol, an entry name, an isoform, an unknown accession and a bad offset."""
    names = ("TP53", "P53_HUMAN", "P04637-2", "Q0ZZZ9")
    hits = list(answer.get("normalizations") or [_first(answer)])
    hits += [
        {"dbid": name, "rank": len(hits) + 1 + place, "confidence": 0.1}
        for place, name in enumerate(names)
    ]
    return answer | {"normalizations": hits} | _spoilt(answer, {"offset": -1})


def _spoilt(answer: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Return the mentions and a copy of the first with bad values; nothing without mentions."""
    sent = answer.get("mentions")
    return {"mentions": [*sent, sent[0] | values]} if sent else {}


def _bad_ranks(answer: dict[str, Any]) -> object:
    """Give hits rank 0, a rank twice, confidence 1.5 and 0, and one accession twice."""
    wrong = [("Q00987", 0, 0.5), ("P38398", 1, 0.5), ("P10415", 3, 1.5), ("P00533", 4, 0.0)]
    good = _first(answer) | {"rank": 1}
    hits = [good] + [
        {"dbid": a, "rank": r, "confidence": c} for a, r, c in wrong if a != good["dbid"]
    ]
    return answer | {"normalizations": [*hits, good | {"rank": 9}], "pairs": []}


def _untyped(answer: dict[str, Any]) -> object:
    """Send the types of an untyped language: a rank as double, a confidence of 1 as int."""
    best = _first(answer) | {"rank": 1.0, "confidence": 1}
    return answer | {"normalizations": [best], "pairs": []}


def _unranked(answer: dict[str, Any]) -> object:
    hits = [
        {"dbid": hit["dbid"], "confidence": hit["confidence"]}
        for hit in answer.get("normalizations", [])
    ]
    return answer | {"normalizations": hits}


def _no_hits(_: dict[str, Any]) -> object:
    return {"interaction": [False, 0.5], "normalizations": [], "pairs": []}


async def _gzip(_: web.Request, answer: dict[str, Any]) -> web.StreamResponse:
    return _xml(gzip.compress(encode_answer(answer)), headers={"Content-Encoding": "gzip"})


@cache
def _bomb() -> bytes:
    return gzip.compress(BLOCK * 256, 1)


async def _gzip_bomb(_: web.Request, __: dict[str, Any]) -> web.StreamResponse:
    body = await asyncio.to_thread(_bomb)
    return _xml(body, headers={"Content-Encoding": "gzip"})


async def _oversized(request: web.Request, _: dict[str, Any]) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/xml"})
    await response.prepare(request)
    await response.write(b"<?xml version='1.0'?>\n<methodResponse>")
    for _block in range(OVERSIZED // len(BLOCK)):
        await response.write(BLOCK)
    return response


async def _hang_up(request: web.Request, _: dict[str, Any]) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


async def _not_http(request: web.Request, _: dict[str, Any]) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.write(b"220 this is not the server you are looking for\r\n")
        request.transport.close()
    return web.Response()


async def _truncated(request: web.Request, answer: dict[str, Any]) -> web.StreamResponse:
    body = encode_answer(answer)
    response = web.StreamResponse(
        headers={"Content-Length": str(len(body)), "Content-Type": "text/xml"}
    )
    await response.prepare(request)
    await response.write(body[: len(body) // 2])
    if request.transport is not None:
        request.transport.close()
    return response


async def _closes_after(request: web.Request, answer: dict[str, Any]) -> web.StreamResponse:
    """Answer, then close the kept-alive connection without `Connection: close`."""
    response = _xml(encode_answer(answer))
    await response.prepare(request)
    await response.write_eof()
    if request.transport is not None:
        request.transport.close()
    return response


async def _silent(_: web.Request, __: dict[str, Any]) -> web.StreamResponse:
    await asyncio.Event().wait()  # cancelled when the client hangs up
    return web.Response()


async def _drip(request: web.Request, _: dict[str, Any]) -> web.StreamResponse:
    """Send a byte every 0.1 s, so that only a total deadline ends it."""
    response = web.StreamResponse(headers={"Content-Type": "text/xml"})
    await response.prepare(request)
    while True:
        await response.write(b" ")
        await asyncio.sleep(0.1)


async def _honest(_: web.Request, answer: dict[str, Any]) -> web.StreamResponse:
    return _xml(encode_answer(answer))


RESPONSE = (
    b"<?xml version='1.0'?>\n<methodResponse><params><param>%s</param></params></methodResponse>"
)
ENTITIES = b"".join(
    b'<!ENTITY e%d "%s">' % (level, b"&e%d;" % (level - 1) * 10 if level else b"lol")
    for level in range(10)
)
ATTACK = (
    b"<?xml version='1.0'?>\n<!DOCTYPE methodResponse [" + ENTITIES + b"]>\n"
    b"<methodResponse><params><param><value>&e9;</value></param></params></methodResponse>"
)
NESTED = b"<value><array><data>" * 5000 + b"</data></array></value>" * 5000
# What peers in other languages send (XML-RPC implementations for PHP, Java and Perl)
QUIRKS = b"""<value><struct>
<member><name>interaction</name><value><array><data><value><boolean>true</boolean></value>
<value><double>0.9</double></value></data></array></value></member>
<member><name>normalizations</name><value><array><data><value><struct>
<member><name>rank</name><value><i8>1</i8></value></member>
<member><name>dbid</name><value>P04637</value></member>
<member><name>confidence</name><value><double> 0.75 </double></value></member>
</struct></value></data></array></value></member></struct></value>"""

FAULTS: tuple[FaultyAnswer, ...] = (
    FaultyAnswer(name="honest", outcome="ok", play=_honest),
    FaultyAnswer(
        name="fault", outcome="fault", play=_sent(encode_fault(17, "out of memory")), heals_after=1
    ),
    FaultyAnswer(
        name="malformed", outcome="syntax", play=_sent(b"<methodResponse><params><param><value>")
    ),
    FaultyAnswer(name="http 500", outcome="http", play=_sent(b"oops", status=500), heals_after=2),
    FaultyAnswer(name="wrong types", outcome="shape", play=_altered(_wrong_types)),
    FaultyAnswer(
        name="unknown accessions only", outcome="no_valid_hit", play=_altered(_unknown_only)
    ),
    FaultyAnswer(name="some bad hits", outcome="partial", play=_altered(_some_bad)),
    FaultyAnswer(name="hangs up", outcome="connect", play=_hang_up, heals_after=2),
    FaultyAnswer(name="silent", outcome="timeout", play=_silent, heals_after=1),
    FaultyAnswer(name="oversized", outcome="too_large", play=_oversized, heals_after=1),
    FaultyAnswer(name="gzip", outcome="ok", play=_gzip),
    FaultyAnswer(name="truncated", outcome="connect", play=_truncated, heals_after=2),
    FaultyAnswer(name="entity attack", outcome="syntax", play=_sent(ATTACK)),
    FaultyAnswer(name="bad ranks", outcome="partial", play=_altered(_bad_ranks)),
    FaultyAnswer(name="untyped", outcome="ok", play=_altered(_untyped)),
    FaultyAnswer(
        name="fault on 500", outcome="fault", play=_sent(encode_fault(500, "internal"), status=500)
    ),
    FaultyAnswer(
        name="web page", outcome="syntax", play=_sent(b"<html><body>Welcome!<br></body></html>")
    ),
    FaultyAnswer(name="unranked", outcome="ok", play=_altered(_unranked)),
    FaultyAnswer(name="drips", outcome="timeout", play=_drip, heals_after=1),
    FaultyAnswer(
        name="not a struct", outcome="shape", play=_altered(lambda _: "P04637"), heals_after=1
    ),
    FaultyAnswer(
        name="redirect",
        outcome="http",
        play=_sent(b"", status=302, headers={"Location": "http://127.0.0.1:9/"}),
    ),
    FaultyAnswer(name="nested", outcome="syntax", play=_sent(RESPONSE % NESTED)),
    FaultyAnswer(name="not HTTP", outcome="http", play=_not_http, heals_after=1),
    FaultyAnswer(name="gzip bomb", outcome="too_large", play=_gzip_bomb, heals_after=1),
    FaultyAnswer(name="quirks", outcome="ok", play=_sent(RESPONSE % QUIRKS)),
    FaultyAnswer(name="closes after", outcome="ok", play=_closes_after),
    FaultyAnswer(name="no hits", outcome="ok", play=_altered(_no_hits)),
)
"""All faults, in the order in which articles get them; a few of them are valid answers."""
