"""Bodies that would keep the hub busy: forms, JSON and XML-RPC made to be slow or large to read.

Each is sent at several sizes. Meanwhile the hub answers others; what it takes grows no more than
the body does, and stays under what docs/security.md says. Times are the process's own, so that a
loaded machine changes nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from xmlrpc.client import dumps

import pytest
from aiohttp import ClientSession, ClientTimeout, CookieJar

from metaserver.config import WebSettings
from metaserver.exchange.wire.xmlrpc import encode_response
from metaserver.web.access import throttle
from tests.hubs.inside import Running, at_work, settings
from tests.hubs.sites import organiser_token, site_of
from tests.integration.gated import browser, gated_site
from tests.integration.hostile import heart
from tests.integration.test_hostile_clients import MIB, memory, status
from tests.integration.test_limits import token, with_raw_answers
from tests.waiting import patience

KIB = 2**10
URLENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=B"
JSON = "application/json"
XML = "text/xml"
NEVER = 1_000_000  # requests a minute
SILENCE = 1.0
"""The most seconds of work between two beats of the loop."""
GROWTH = 4.0
"""How many times more than in proportion a larger body may take: the machine is not quiet."""
TRIES = 3
"""Times that something is measured of which the least counts: others share the machine."""
LEAST = 0.1
"""Seconds below which work is not compared."""


@dataclass(kw_only=True)
class Work:
    """Work of the hub meanwhile, in seconds of this process: in all, and between two beats."""

    total: float = 0.0
    silence: float = 0.0


@asynccontextmanager
async def at_most(silence: float = SILENCE) -> AsyncIterator[Work]:
    """Fail if the loop did not beat while work was done."""
    seen, begun = Work(), time.process_time()
    task = asyncio.create_task(heart(seen))
    try:
        yield seen
    finally:
        task.cancel()
    seen.total = time.process_time() - begun
    assert seen.silence < silence


@dataclass(frozen=True, kw_only=True)
class AttackedHub:
    """A whole hub, and the tokens of who may send it something."""

    running: Running
    address: str
    tokens: dict[str, str]

    def browser(self) -> ClientSession:
        """Return a client that keeps cookies."""
        jar = CookieJar(unsafe=True)
        return ClientSession(self.address, cookie_jar=jar, timeout=ClientTimeout(total=100))

    async def signed_in(self, client: ClientSession, who: str) -> None:
        async with client.post("/signin", data={"token": self.tokens[who]}) as response:
            assert response.status == 200

    async def send(
        self, attack: BodyAttack, size: int, who: str, *, session: bool
    ) -> tuple[int, Work]:
        """Send an attack; return the status of the answer (0: cut off), and the work of all."""
        body = attack.body(size)
        headers = {"Content-Type": attack.kind}
        if who and not session:
            headers["Authorization"] = f"Bearer {self.tokens[who]}"
        async with self.browser() as client:
            if session:
                await self.signed_in(client, who)
            async with at_most() as seen:
                asked = client.request(
                    attack.method, attack.path, data=_sent(body), headers=headers
                )
                try:
                    async with asked as response:
                        text = await response.text()
                except ConnectionError:
                    return 0, seen
        assert len(text) < 64 * KIB  # nothing of what was sent comes back
        return _fault(text) or response.status, seen


async def _sent(body: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(body), 64 * KIB):
        yield body[start : start + 64 * KIB]


def _fault(text: str) -> int:
    """Return the code of an XML-RPC fault, 0 for anything else."""
    _, _, after = text.partition("<name>faultCode</name><value><int>")
    return int(after.partition("<")[0] or 0)


@pytest.fixture
async def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[AttackedHub]:
    monkeypatch.setattr(throttle, "LOOP_BURST", NEVER)  # one client tries all attacks in a row
    web = WebSettings(requests_a_minute=NEVER, anonymous_requests_a_minute=NEVER)
    async with at_work(await settings(tmp_path, web=web)) as running:
        await running.do("teams.create", team="blue")
        tokens = {"team": await token(running), "organiser": await organiser_token(running)}
        server = site_of(running)
        await server.start_server(auto_decompress=False)
        try:
            yield AttackedHub(running=running, address=str(server.make_url("/")), tokens=tokens)
        finally:
            await server.close()


@dataclass(frozen=True, kw_only=True)
class BodyAttack:
    """A body of about so many bytes, and where it is sent to."""

    name: str
    body: Callable[[int], bytes]
    path: str
    kind: str
    method: str = "POST"

    def __str__(self) -> str:
        return self.name


def attacks(
    path: str, kind: str, method: str = "POST", **bodies: Callable[[int], bytes]
) -> list[BodyAttack]:
    return [
        BodyAttack(name=name, body=body, path=path, kind=kind, method=method)
        for name, body in bodies.items()
    ]


async def try_out(
    hub: AttackedHub, attacks: Iterable[BodyAttack], sizes: Sequence[int],
    expected: Collection[int], who: str = "", *, session: bool = False,
) -> None:  # fmt: skip
    """Send attacks in each size; what they take grows with the size and no more."""
    for attack in attacks:
        took: list[float] = []
        for size in sizes:
            before = memory()
            found, work = await hub.send(attack, size, who, session=session)
            assert found in expected, (attack, size)
            assert memory() - before < 4 * size + 48 * MIB, (attack, size)
            took.append(max(work.total, LEAST) / size)
        assert took[-1] < GROWTH * took[0], (attack, took)


# -- forms -----------------------------------------------------------------------------------------

PART = b'--B\r\nContent-Disposition: form-data; name="%s"\r\n'
FILE = b'--B\r\nContent-Disposition: form-data; name="content"; filename="a.txt"\r\n\r\n'
END = b"\r\n--B--\r\n"


def lines(line: bytes, before: bytes = b"", after: bytes = END) -> Callable[[int], bytes]:
    """Return what makes a body of one line again and again."""
    return lambda size: before + line * (size // len(line)) + after


FORMS = {
    "lf_before": lines(b"\n"),
    "crlf_before": lines(b"\r\n"),
    "cr_before": lines(b"\r"),
    "crlf_in_headers": lines(b"\r\n", b"--B\r\n"),
    "lf_in_headers": lines(b"\n", b"--B\r\n"),
    "headers": lines(b"A: b\r\n", PART % b"a"),
    "folded": lines(b" a\r\n", PART % b"a"),
    "header": lines(b"a", PART % b"a" + b"A: "),
    "lf_in_file": lines(b"\n", FILE),
    "crlf_in_file": lines(b"\r\n", FILE),
    "almost_ends": lines(b"\r\n--", FILE),
    "lf_in_field": lines(b"\n", PART % b"a" + b"\r\n"),
    "crlf_after": lines(b"\r\n", FILE + END, b""),
    "parts": lines(PART % b"a" + b"\r\n\r\n"),
    "folded_parts": lines(PART % b"a" + b"A: b\r\n" + b" \r\n" * 1_000 + b"\r\n\r\n"),
}  # fmt: skip
FIELDS = {
    "fields": lines(b"a&"),
    "encoded": lines(b"%41", b"token="),
    "equals": lines(b"=", b"token"),
    "one": lines(b"a", b"token="),
}


async def test_sign_in_takes_a_small_plain_form_alone(hub: AttackedHub) -> None:
    ways = [
        *attacks("/signin", MULTIPART, **FORMS),
        *attacks("/signin", URLENCODED, **FIELDS),
        *attacks("/signin", f"{URLENCODED}; charset=punycode", puny=lines(b"a", b"token=", b"-b")),
        *attacks("/signin", f"{URLENCODED}; charset=nonsense", unknown=lines(b"a", b"token=")),
        *attacks("/signin", f"{URLENCODED}; charset*=utf-8''x", tuple=lines(b"a", b"token=")),
        *attacks("/signin", "text/plain", text=lines(b"a", b"token=")),
    ]
    await try_out(hub, ways, (64 * KIB, 4 * MIB), {0, 401, 413, 415})


@pytest.mark.slow
async def test_uploaded_forms_are_for_organisers(hub: AttackedHub) -> None:
    ways = attacks("/organise/corpora", MULTIPART, **FORMS)
    sizes = (64 * KIB, MIB, 8 * MIB)
    await try_out(hub, ways, sizes, {0, 401})
    await try_out(hub, ways, sizes, {0, 403}, "team", session=True)
    await try_out(hub, ways, sizes, {0, 400, 403, 413}, "organiser", session=True)


@pytest.mark.slow
async def test_uploaded_forms_are_read_in_proportion(hub: AttackedHub) -> None:
    ways = attacks("/organise/corpora", MULTIPART, **FORMS)
    await try_out(hub, ways, (MIB, 8 * MIB, 32 * MIB), {0, 400, 413, 422}, "organiser")


@pytest.mark.parametrize(
    "kind", ["charset=punycode", "charset=utf-16", "charset*=punycode''utf-8", "charset=nonsense"]
)
async def test_a_part_of_a_form_is_utf8(tmp_path: Path, kind: str) -> None:
    part = PART % b"a" + f"Content-Type: text/plain; {kind}\r\n\r\n".encode()
    async with gated_site(tmp_path) as site, ClientSession(site.url) as client:
        for size in (KIB, 256 * KIB):
            body = part + b"a" * size + b"-b" + END
            headers = {"Content-Type": MULTIPART}
            async with at_most(), client.post("/bring", data=body, headers=headers) as response:
                expected = 200 if "*" in kind else 415  # an extended parameter is not looked at
                assert response.status == expected


# -- what is asked before a body is read -----------------------------------------------------------


async def asked(port: int, path: str, head: str, body: bytes) -> int:
    """Send the beginning of a large body; return the status of what is answered to that."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        lines = f"POST {path} HTTP/1.1\r\nHost: hub\r\n{head}Content-Length: {MIB}\r\n\r\n"
        writer.write(lines.encode() + body)
        async with patience():
            return status(await reader.readuntil(b"\r\n\r\n"))
    finally:
        writer.close()


async def test_who_may_not_is_told_before_the_body_has_come(tmp_path: Path) -> None:
    """No answer waits for bytes that never come: `body_seconds` are longer than the test."""
    async with gated_site(tmp_path, body_seconds=3_600.0) as site, browser(site) as web:
        await web.sign_in(await site.token())
        csrf, cookie = await web.csrf(), f"Cookie: session={web.cookie()}\r\n"
        right, wrong = (
            PART % b"csrf" + b"\r\n" + value.encode() + b"\r\n" + FILE for value in (csrf, "no")
        )
        later = PART % b"a" + b"\r\n\r\n" + right
        many, plain = f"Content-Type: {MULTIPART}\r\n", f"Content-Type: {URLENCODED}\r\n"
        for path, head, body, expected in (
            ("/organise", many, b"", 401),
            ("/organise", many + cookie, right, 403),
            ("/bring", many + cookie, wrong, 403),
            ("/bring", many + cookie, later, 403),
            ("/bring", many + cookie, b"x" * 9_000, 403),
            ("/bring", plain + cookie, b"csrf=no&", 403),
            ("/send", plain + cookie, f"a=b&csrf={csrf}&".encode(), 403),
            ("/send", many + cookie, right, 415),
            ("/send", f"Content-Type: {JSON}\r\n" + cookie, b"{", 415),
            ("/api/v1/send", plain + cookie, f"csrf={csrf}&".encode(), 403),
            ("/send", plain + cookie + "Content-Encoding: gzip\r\n", b"", 415),
            ("/signin", many, b"", 415),
            ("/signin", plain, b"", 413),
        ):
            assert await asked(site.port, path, head, body) == expected, (path, head, body[:80])
        assert site.entered == 1  # the page with the value


async def test_a_form_with_a_file_is_read_after_its_csrf_value(tmp_path: Path) -> None:
    content = bytes(range(256)) * 9_000
    async with gated_site(tmp_path) as site, browser(site) as web:
        await web.sign_in(await site.token())
        body = (
            PART % b"csrf" + b"\r\n" + (await web.csrf()).encode() + b"\r\n" + FILE + content + END
        )
        headers = {"Content-Type": MULTIPART}
        async with web.client.post("/bring", data=_sent(body), headers=headers) as response:
            assert response.status == 200
            assert (await response.json())["content"] == [len(content), "a.txt"]


# -- JSON ------------------------------------------------------------------------------------------


def inside(name: bytes, value: bytes, end: bytes = b"0]}") -> Callable[[int], bytes]:
    """Return what makes a body with one value again and again in a field."""
    return lines(value, b'{"%s": [' % name, end)


BODIES = {
    "lists": inside(b"content", b"[],"),
    "objects": inside(b"content", b"{},"),
    "numbers": inside(b"partial", b"1,"),
    "texts": inside(b"source", b'"",'),
    "unknown": inside(b"paint", b"[],"),
    "unknown_text": lines(b"a", b'{"paint": "', b'"}'),
    "unknown_name": lines(b"a", b'{"', b'": 1}'),
    "names": lines(b'"a": 1,', b"{", b'"b": 1}'),
    "deep": lines(b"[", b'{"content": ', b""),
    "deep_objects": lines(b'{"a":', b'{"content": ', b""),
    "integer": lines(b"9", b'{"source": ', b"}"),
    "fraction": lines(b"9", b'{"source": 0.', b"}"),
    "exponent": lines(b"9", b'{"source": 1e', b"}"),
    "text": lines(b"a", b'{"source": "', b'"}'),
    "escapes": lines(b"\\u0041", b'{"source": "', b'"}'),
    "file": lines(b"QUJD", b'{"content": "', b'"}'),
    "no_file": lines(b"!", b'{"content": "', b'"}'),
    "spaces": lines(b" ", b"{", b"}"),
    "no_object": lines(b"[],", b"[", b"0]"),
    "no_json": lines(b"\n", b"", b"x"),
}


async def test_json_of_teams_is_small(hub: AttackedHub) -> None:
    ways = attacks("/api/v1/servers", JSON, **BODIES)
    await try_out(hub, ways, (64 * KIB, MIB - KIB), {400, 413, 422}, "team")
    await try_out(hub, ways, (2 * MIB,), {0, 413}, "team")


@pytest.mark.slow
async def test_json_with_a_file_is_read_in_proportion(hub: AttackedHub) -> None:
    ways = attacks("/api/v1/corpora/a", JSON, "PUT", **BODIES)
    await try_out(hub, ways, (MIB, 8 * MIB, 48 * MIB), {400, 413, 422}, "organiser")


# -- XML-RPC ---------------------------------------------------------------------------------------

CALL = b"<?xml version='1.0'?><methodCall><methodName>%s</methodName><params><param><value>"
CALLED = b"</value></param></params></methodCall>"
LIST = CALL % b"Phases.list"


CALLS = {
    "values": lines(b"<value/>", LIST + b"<array><data>", b"</data></array>" + CALLED),
    "members": lines(
        b"<member><name>a</name><value/></member>", LIST + b"<struct>", b"</struct>" + CALLED
    ),
    "deep": lines(b"<array><data><value>", LIST, b""),
    "text": lines(b"a", LIST, CALLED),
    "line_ends": lines(b"\n", LIST, CALLED),
    "entities": lines(b"&amp;", LIST, CALLED),
    "comments": lines(b"<!---->", LIST, CALLED),
    "tags": lines(b"<a", LIST, b""),
    "base64": lines(b"QUJD", LIST + b"<base64>", b"</base64>" + CALLED),
    "base64_lines": lines(b"QU\nJD\n", LIST + b"<base64>", b"</base64>" + CALLED),
    "int": lines(b"9", LIST + b"<int>", b"</int>" + CALLED),
    "double": lines(b"9", LIST + b"<double>", b"</double>" + CALLED),
    "encoding": lines(b"a", b"<?xml version='1.0' encoding='punycode'?><methodCall>", b""),
    "method_name": lines(b"a", b"<methodCall><methodName>", b"</methodName></methodCall>"),
    "calls": lines(
        b"<value><struct><member><name>methodName</name><value>system.multicall</value></member>"
        b"</struct></value>",
        CALL % b"system.multicall" + b"<array><data>",
        b"</data></array>" + CALLED,
    ),
}
FAULTS = {413, 422, -32700, -32600, -32601, -32602, 0}


async def test_calls_of_anybody_are_small(hub: AttackedHub) -> None:
    ways = attacks("/xmlrpc/", XML, **CALLS)
    await try_out(hub, ways, (64 * KIB, MIB - KIB), FAULTS | {200})
    await try_out(hub, ways, (2 * MIB,), {0, 413})


@pytest.mark.slow
async def test_large_calls_are_read_in_proportion(hub: AttackedHub) -> None:
    """And for nothing, where the method takes no file."""
    ways = attacks("/xmlrpc/", XML, **CALLS)
    await try_out(hub, ways, (2 * MIB, 8 * MIB, 48 * MIB), FAULTS, "team")


@pytest.mark.slow
async def test_a_large_answer_is_encoded_beside_the_loop(hub: AttackedHub) -> None:
    """The loop beats while that is done: no silence is as long as encoding it in one go."""
    await with_raw_answers(hub.running, 1, 48 * MIB)
    begun = time.process_time()
    encode_response({"raw": bytes(48 * MIB)})
    encoding = time.process_time() - begun
    article = hub.running.service.phase("test").corpus.ids[0]
    params = [hub.tokens["team"], "blue-1", article, 1]
    calls = [{"methodName": "Servers.answer", "params": params}]
    for call in (dumps(tuple(params), "Servers.answer"), dumps((calls,), "system.multicall")):
        silences = [await _silence_while_read(hub, call) for _ in range(TRIES)]
        assert min(silences) < 0.75 * encoding, silences


async def _silence_while_read(hub: AttackedHub, call: str) -> float:
    """Return the longest silence of the loop while the answer to a call is made and read."""
    async with (
        hub.browser() as client,
        at_most() as seen,
        client.post("/xmlrpc/", data=call) as response,
    ):
        async for _ in response.content.iter_any():
            pass
    return seen.silence
