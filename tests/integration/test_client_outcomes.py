"""Every outcome code, caused by a real server that goes wrong in its way."""

import asyncio
import gzip
import shutil
import socket
import ssl
import subprocess
import zlib
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from xmlrpc.client import Fault

import pytest

from metaserver.base.compression import unpack
from metaserver.base.records import Access, Attempt
from metaserver.base.states import Outcome
from metaserver.exchange.http.client import HttpLimits
from metaserver.exchange.wire.values import Limits
from metaserver.exchange.wire.xmlrpc import decode_call
from tests.integration.callers import article_caller, call, call_in_another_process, server
from tests.integration.peers import (
    ANSWER,
    GOOD,
    PAYLOADS,
    Connection,
    Script,
    answering,
    peer,
    response,
    sending,
)


async def attempt(script: Script, *, limits: HttpLimits | None = None) -> Attempt:
    """Return how one article ended with a server that follows `script`."""
    async with peer(script) as there:
        ended, answer = await call(there.url, limits=limits)
    assert (answer is None) is (ended.outcome not in (Outcome.OK, Outcome.PARTIAL))
    return ended


# No answer


async def test_a_name_that_does_not_resolve_is_dns() -> None:
    ended, _ = await call("http://annotator.invalid:8100/")  # RFC 6761: never resolves
    assert (ended.outcome, "'annotator.invalid'" in ended.message) == (Outcome.DNS, True)


async def test_a_port_that_accepts_nobody_is_connect() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        address = listener.getsockname()
        with socket.create_connection(address):  # fills the queue; the kernel drops what follows
            ended, _ = await call(f"http://127.0.0.1:{address[1]}/", limits=HttpLimits(connect=0.2))
    assert (ended.outcome, ended.message) == (
        Outcome.CONNECT,
        "no connection within 0.2 s (limits.connect)",
    )
    ended, _ = await call(f"http://127.0.0.1:{address[1]}/")  # closed
    assert (ended.outcome, ended.message) == (Outcome.CONNECT, "Connection refused")


async def hang_up_at_once(connection: Connection) -> None:
    connection.writer.close()


async def hang_up_after_the_request(connection: Connection) -> None:
    await connection.request()


async def reset_after_the_request(connection: Connection) -> None:
    await connection.request()
    connection.reset()


def half(head: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\n{head}\r\n\r\n".encode() + GOOD[: len(GOOD) // 2]


async def reset_within_the_answer(connection: Connection) -> None:
    await connection.request()
    await connection.send(half(f"Content-Length: {len(GOOD)}"))
    connection.reset()


async def test_drips_do_not_put_off_the_deadline() -> None:
    async def drip(connection: Connection) -> None:
        await connection.request()
        await connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            await connection.send(b"1\r\n \r\n")
            await asyncio.sleep(0.01)

    async with peer(drip) as there:
        ended, _ = await call(there.url, time_limit=1.0)
    assert ended.outcome is Outcome.TIMEOUT
    assert ended.bytes_in > 1


# TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1, with its key in the same file, that nobody vouches for."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not here to make a certificate")
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    options = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(path), "-out", "-"]
    run = subprocess.run([openssl, *options, *names], check=True, capture_output=True)
    path.write_bytes(path.read_bytes() + run.stdout)
    return path


@pytest.fixture(scope="module")
def self_signed(certificate: Path) -> ssl.SSLContext:
    """A real TLS server's side, with that certificate."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(certificate)
    return made


async def test_a_certificate_that_nobody_vouches_for_is_tls(self_signed: ssl.SSLContext) -> None:
    async with peer(answering(GOOD), tls=self_signed) as there:
        ended, _ = await call(there.url)
    assert ended.outcome is Outcome.TLS
    assert ended.message.startswith("certificate: ")
    assert "self-signed certificate" in ended.message
    assert there.requests == []  # the article went to nobody


@pytest.mark.slow
async def test_a_certificate_that_the_system_trusts_is_ok(self_signed, certificate):
    async with peer(answering(GOOD), tls=self_signed) as there:
        said = await call_in_another_process(there.url, SSL_CERT_FILE=str(certificate))
    assert said == "ok"


async def test_a_certificate_of_the_hubs_own_file_is_ok(self_signed, certificate):
    trusting = article_caller(ca_file=certificate)
    async with peer(answering(GOOD), tls=self_signed) as there, trusting as caller:
        ended, _ = await caller.call(server(there.url), 0, 1)
    assert ended.outcome is Outcome.OK


async def test_a_registered_certificate_is_trusted_and_no_other(self_signed, certificate):
    pem = certificate.read_text().partition("-----BEGIN CERTIFICATE")
    digest = sha256(ssl.PEM_cert_to_DER_cert("".join(pem[1:]))).hexdigest()
    async with peer(answering(GOOD), tls=self_signed) as there, article_caller() as caller:
        ended, _ = await caller.call(server(there.url, access=Access(certificate=digest)), 0, 1)
        assert ended.outcome is Outcome.OK
        other = Access(certificate="00" * 32)
        ended, _ = await caller.call(server(there.url, access=other), 0, 1)
    assert ended.outcome is Outcome.TLS
    assert digest in ended.message
    assert len(there.requests) == 1


async def test_a_request_in_ascii_has_the_same_text() -> None:
    text = "α-Synuclein & 𝛽 < Parkin\n\n\n\nEnd"
    async with peer(answering(GOOD)) as there, article_caller(text) as caller:
        ended, _ = await caller.call(server(there.url, encoding="ascii"), 0, 1)
    assert ended.outcome is Outcome.OK
    body = there.requests[0].body
    assert body.isascii()
    assert b"\n\n" not in body
    assert ended.bytes_out == len(body)
    assert decode_call(body).params == [text]


async def test_plain_http_where_https_is_expected_is_tls() -> None:
    async def plain(connection: Connection) -> None:
        await connection.reader.read(1)
        await connection.respond(GOOD)

    async with peer(plain) as there:
        ended, _ = await call(there.url.replace("http:", "https:"))
    assert ended.outcome is Outcome.TLS
    assert "wrong version number" in ended.message.lower()


# HTTP


@pytest.mark.parametrize("place", ["/x?key=secret", "https://me:secret@example.org/?a=secret"])
async def test_a_redirect_gives_no_secret_away(place: str) -> None:
    ended = await attempt(answering(b"", status="301 Moved", location=place))
    assert ended.message.startswith("HTTP status 301 Moved to ")
    assert "secret" not in ended.message
    assert "?***" in ended.message


@pytest.mark.parametrize("body", [gzip.compress(GOOD), zlib.compress(GOOD)], ids=["gzip", "zlib"])
@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "GZIP", "deflate"])
async def test_a_compressed_answer_is_opened(body: bytes, encoding: str) -> None:
    async with peer(answering(body, content_encoding=encoding)) as there:
        ended, _ = await call(there.url)
    assert ended.outcome is Outcome.OK
    assert unpack(ended.raw) == GOOD
    assert ended.bytes_in == len(body)


# What comes back


FAULT = response(Fault(17, "out of <memory> & Ärger 𝔸"))
STRING_FIRST = b"""<methodResponse><fault><value><struct>
    <member><name>faultString</name><value>out of &lt;memory&gt; &amp; \xc3\x84rger
    </value></member><member><name>faultCode</name><value><i4>17</i4></value></member>
    </struct></value></fault></methodResponse>"""
NAMED = STRING_FIRST.replace(b"<i4>17</i4>", b"<string>Server.NoModel</string>")
LAUGHS = b"".join(
    b'<!ENTITY e%d "%s">' % (at, b"&e%d;" % (at - 1) * 10 if at else b"lol") for at in range(10)
)
DEEP = b"<value><array><data>" * 5_000 + b"</data></array></value>" * 5_000
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
PACKED = gzip.compress(GOOD, mtime=0)
UNKNOWN = {"dbid": "Q0ZZZ9", "rank": 1, "confidence": 0.5}
CLOSED = "the server closed the connection without an answer"
LOST = "the connection was lost during the answer"


def endless(head: bytes, more: bytes) -> Script:
    """Return a script that never stops to send."""

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(OK + head)
        while True:
            await connection.send(more)

    return script


OUTCOMES: Mapping[str, tuple[Script, Outcome, str]] = {
    "hangs up at once": (hang_up_at_once, Outcome.CONNECT, CLOSED),
    "hangs up after the request": (hang_up_after_the_request, Outcome.CONNECT, CLOSED),
    "resets after the request": (reset_after_the_request, Outcome.CONNECT, CLOSED),
    "cut by length": (sending(half(f"Content-Length: {len(GOOD)}")), Outcome.CONNECT, LOST),
    "cut chunk": (sending(CHUNKED + b"%x\r\n" % len(GOOD) + GOOD[:99]), Outcome.CONNECT, LOST),
    "reset within": (reset_within_the_answer, Outcome.CONNECT, LOST),
    "no content": (sending(b"HTTP/1.1 204 No Content\r\n\r\n"), Outcome.HTTP,
                   "HTTP status 204 No Content; expected 200"),
    **{
        f"{status} {body[:1]!r}": (answering(body, status=status, content_type="text/html"),
                                   Outcome.HTTP, f"HTTP status {status}; expected 200")
        for status, body in (
            ("404 Not Found", b"<html><body>nothing here</body></html>"),
            ("500 Internal Server Error", b"Traceback (most recent call last):"),
            ("502 Bad Gateway", b"<!DOCTYPE html><html><br><p>nginx</html>"),
            ("503 Service Unavailable", b""),
            ("201 Created", GOOD),
            ("500 Internal Server Error", GOOD),
        )
    },
    "bytes that are no text": (sending(b"HTTP/1.1 500 \xff no\nContent-Length: 0\r\n\r\n"),
                               Outcome.HTTP, "\\udcff no"),
    **{
        name: (sending(said), Outcome.HTTP, "not HTTP: ")
        for name, said in {
            "another protocol": b"220 mail.example.org ESMTP\r\n",
            "bytes": b"\x15\x03\x01\x00\x02\x02\x50",
            "length is no number": OK + b"Content-Length: many\r\n\r\n" + GOOD,
            "two lengths": OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n" + GOOD,
            "a long header": OK + b"X-Padding: " + b"x" * 100_000 + b"\r\n\r\n" + GOOD,
            "many headers": OK + b"X-Padding: x\r\n" * 100_000 + b"\r\n" + GOOD,
            "chunk without size": CHUNKED + b"many\r\n" + GOOD,
            "chunk of another size": CHUNKED + b"5\r\n<?xmlTOO MUCH\r\n",
        }.items()
    },
    **{
        encoding: (answering(GOOD, content_encoding=encoding), Outcome.HTTP,
                   f"Content-Encoding {encoding!r}; expected gzip, deflate or none")
        for encoding in ("br", "zstd", "gzip, br")
    },
    **{
        f"fault on {status} {number}": (answering(body, status=status), Outcome.FAULT,
                                        "17: out of <memory> & Ärger")
        for status in ("200 OK", "500 Internal Server Error", "400 Bad Request")
        for number, body in enumerate((FAULT, STRING_FIRST))
    },
    "fault code that is a string": (answering(NAMED), Outcome.FAULT, "Server.NoModel: out of"),
    "a long fault": (answering(response(Fault(1, "x" * 100_000))), Outcome.FAULT,
                     "1: " + "x" * 2_000),
    "endless": (endless(b"\r\n<?xml version='1.0'?><methodResponse>", b" " * 65_536),
                Outcome.TOO_LARGE, "more than 200,000 bytes"),
    "gzip bomb": (answering(gzip.compress(b"<?xml version='1.0'?><methodResponse>" + b" " * 2**26),
                            content_encoding="gzip"), Outcome.TOO_LARGE, "more than 200,000 bytes"),
    "nothing, compressed without end": (
        endless(b"Content-Encoding: gzip\r\n\r\n", gzip.compress(b"") * 1_000),
        Outcome.TOO_LARGE, "more than 1,000 gzip streams"),
    "many values": (answering(response({"x": [1] * 2_000})), Outcome.TOO_LARGE,
                    "more than 1,000 values"),
    **{
        name: (answering(body), Outcome.SYNTAX, "")
        for name, body in {
            "empty": b"",
            "text": b"Hello, world",
            "a page": b"<html><body>Welcome!<br></body></html>",
            "half": GOOD[: len(GOOD) // 2],
            "something behind": GOOD + b"<!-- --><methodResponse/>",
            "bare ampersand": GOOD.replace(b"P04637", b"P04637 & P38398"),
            "not UTF-8": GOOD.replace(b"P04637", b"\xff\xfe"),
            "forbidden character": GOOD.replace(b"P04637", b"&#1;"),
            "billion laughs": b"<!DOCTYPE methodResponse [" + LAUGHS + b"]>"
                              + GOOD.replace(b"P04637", b"&e9;"),
            "external entity": b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>' + GOOD,
            "a call": b"<methodCall><methodName>x</methodName></methodCall>",
            "no value": b"<methodResponse><params/></methodResponse>",
            "nested": GOOD.partition(b"<value>")[0] + DEEP,
        }.items()
    },
    **{
        f"gzip: {name}": (answering(body, content_encoding="gzip"), Outcome.SYNTAX, "")
        for name, body in {"cut": PACKED[:-20], "cut early": PACKED[:40], "other": b"not gzip",
                           "not compressed": GOOD}.items()
    },
    "other types": (answering(response(ANSWER | {"interaction": "yes", "pairs": {}})),
                    Outcome.SHAPE, "interaction: expected array, got string 'yes' (and 1 more)"),
    "no struct": (answering(response("P04637")), Outcome.SHAPE,
                  "expected struct, got string 'P04637'"),
    "no valid hit": (answering(response({"normalizations": [UNKNOWN]})), Outcome.NO_VALID_HIT,
                     "Q0ZZZ9 is not in the release"),
}  # fmt: skip


@pytest.mark.parametrize(("script", "outcome", "said"), OUTCOMES.values(), ids=OUTCOMES)
async def test_what_is_no_answer_has_its_outcome(script, outcome, said):
    limits = HttpLimits(answer=Limits(bytes=200_000, values=1_000))
    async with peer(script) as there:
        ended, answer = await call(there.url, limits=limits)
        assert there.connections == 1  # a new connection that fails is an attempt
    assert (ended.outcome, answer) == (outcome, None), ended.message
    assert said in ended.message
    assert 0 < len(ended.message) <= 2_003
    assert "root:" not in ended.message
    assert said != "not HTTP: " or ("\n" not in ended.message and len(ended.message) < 600)
    assert ended.message.encode()  # it can be stored
    kept = unpack(ended.raw)
    if said == LOST:
        assert GOOD.startswith(kept)
    elif "200,000 bytes" in said:
        assert len(kept) == 200_000


async def test_what_another_status_brings_is_kept() -> None:
    ended = await attempt(answering(GOOD, status="500 Internal Server Error"))
    assert (ended.outcome, unpack(ended.raw)) == (Outcome.HTTP, GOOD)


def with_member(name: str, value: str) -> bytes:
    """Return the good answer with one more member before its others."""
    member = f"<struct><member><name>{name}</name><value>{value}</value></member>"
    return GOOD.replace(b"<struct>", member.encode(), 1)


FOREIGN: Mapping[str, tuple[Script, str]] = {
    "a member that nobody reads": (answering(with_member("extra", "<decimal>1.5</decimal>")),
                                   "extra: <decimal> is no type of XML-RPC"),
    "a member twice": (answering(with_member("normalizations", "<array><data/></array>")),
                       "normalizations: a second member of this name; the last one counts"),
    "no encoding": (answering(GOOD, content_encoding="Identity "), ""),
    "space and a mark around it": (answering(b"\n\xef\xbb\xbf\n" + GOOD + b"\r\n\0\0"), ""),
    "HTTP/1.0": (sending(b"HTTP/1.0 200 OK\r\n\r\n" + GOOD), ""),
    "without a reason": (sending(b"HTTP/1.1 200\r\nConnection: close\r\n\r\n" + GOOD), ""),
    "bare line feeds": (sending(b"HTTP/1.1 200 OK\nContent-Type: text/plain\n\n" + GOOD), ""),
}  # fmt: skip


@pytest.mark.parametrize(("script", "said"), FOREIGN.values(), ids=FOREIGN)
async def test_what_foreign_servers_do_costs_nothing(script: Script, said: str) -> None:
    """What is within an answer is tested with its decoder."""
    async with peer(script) as there:
        ended, answer = await call(there.url)
    assert (ended.outcome, ended.message) == (Outcome.OK, said)
    assert answer.payloads == PAYLOADS


async def test_the_charset_of_the_header_counts() -> None:
    body = GOOD.replace(b"P04637", "é".encode("latin-1"))
    ended = await attempt(answering(body, content_type="text/xml; charset=ISO-8859-1"))
    assert "é is not in the release" in ended.message
    assert unpack(ended.raw) == body
