"""A team's self-test: it sends a server the hub's requests and reports what is wrong.

A step is wrong if the hub's own test of the server fails there, or mentions are misplaced, which
no hub looks up; what the hub's test only warns of is a warning here.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from xml.parsers.expat import ExpatError
from xmlrpc.client import Error, ExpatParser, Fault, Unmarshaller, dumps

import aiohttp

from annotators.contract import checked, misplaced
from annotators.errors import BadInputError
from annotators.protocol import FORBIDDEN

SHORT = (
    "MDM2 binds p53.\nThe E3 ligase MDM2 interacts with the tumour suppressor p53, as shown by "
    "co-immunoprecipitation and by a yeast two-hybrid screen."
)
# Control characters cannot travel in XML 1.0: the hub sends U+FFFD in their place.
CONTROL = FORBIDDEN.sub("\ufffd", "A form feed \x0c and a null \x00 in an abstract about p53.")
ARTICLES = {
    "a short article": SHORT,
    "a long article (300 KB)": (SHORT + " ") * (300_000 // len(SHORT)),
    "an article in many scripts": "Bindung α-Synuclein–Parkin: 蛋白质 p53 и MDM2 \n<a & b>",
    "an article beyond 16 bits": "𝛼-Synuclein binds Parkin 🧬 and p53.",
    "an empty article": "",
    "an article with control characters": CONTROL,
}
FORGIVEN = frozenset(
    {"an article beyond 16 bits", "an empty article", "an article with control characters"}
)
"""The articles that a server may answer with a fault: a hub counts it, and its test warns."""
UNAVAILABLE = ("Suspended", "Shutdown")
STATES = ("Running", "Overloaded", "Suspended", "Shutdown")
BUSY = frozenset({429, 503})
MOST_WAITS = 30
MAX_ANSWER_BYTES = 2**26
SCALARS = frozenset(
    {"int", "i1", "i2", "i4", "i8", "biginteger", "double", "float", "bigdecimal", "base64"}
    | {"dateTime.iso8601"}
)
BOM = b"\xef\xbb\xbf"


SHOWN = 20
"""The lines of a step that are shown; the others are counted."""


class SelfTestStep(NamedTuple):
    """One step of the self-test: the request, its duration in seconds, and the problems found.

    The hub's test fails for what is `wrong`, and does not for `warnings`. A server that is not
    `reached` is asked no more.
    """

    name: str
    seconds: float
    wrong: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    note: str = ""
    reached: bool = True


async def check(url: str, *, limit: float = 60.0, show: Callable[[str], object] = print) -> bool:
    """Send all test requests to the server at `url`, show each step, return whether none failed.

    An answer may take `limit` seconds. Raises `BadInputError` where `url` is not a URL.
    """
    url = server_url(url)
    right = True
    deadline = aiohttp.ClientTimeout(total=limit)
    # A server may close a connection that is not in use, which costs a hub nothing.
    connections = aiohttp.TCPConnector(force_close=True)
    async with aiohttp.ClientSession(timeout=deadline, connector=connections) as session:
        async for step in _steps(session, url):
            right &= not step.wrong
            for line in _lines(step):
                show(line)
            if not step.reached:
                break
    return right


def server_url(url: str) -> str:
    """Return a server's URL; raises `BadInputError` where it is none."""
    try:
        if urlsplit(url).scheme in {"http", "https"} and urlsplit(url).hostname:
            return url
    except ValueError:  # such as half an IPv6 address
        pass
    raise BadInputError(
        "URL", f"{url!r} is not a URL; expected http://HOST:PORT/ or https://HOST/PATH"
    )


def _lines(step: SelfTestStep) -> Iterator[str]:
    verdict = "wrong" if step.wrong else "warn" if step.warnings else "ok"
    note = f"  ({step.note})" if step.note else ""
    yield f"{verdict:5}  {step.seconds:8.3f} s  {step.name}{note}"
    lines = (*step.wrong, *step.warnings)
    for line in lines[:SHOWN]:
        yield f"       {line}"
    if len(lines) > SHOWN:
        yield f"       and {len(lines) - SHOWN} more"


async def _steps(session: aiohttp.ClientSession, url: str) -> AsyncIterator[SelfTestStep]:
    for name, text in ARTICLES.items():
        yield await _annotate(session, url, name, text)
    context = {"article_id": "check", "tasks": ["INT"], "timeout": 60.0, "attempt": 1}
    yield await _annotate(session, url, "an article with its context", SHORT, context)
    two = [_annotate(session, url, "two articles at once", text) for text in (SHORT, SHORT + " ")]
    first, second = await asyncio.gather(*two)
    both = dict.fromkeys(first.warnings + second.warnings)
    yield SelfTestStep(
        first.name,
        max(first.seconds, second.seconds),
        tuple(dict.fromkeys(first.wrong + second.wrong)),
        tuple(both),
    )
    yield await _state(session, url)


async def _annotate(
    session: aiohttp.ClientSession, url: str, name: str, text: str, *context: dict[str, Any]
) -> SelfTestStep:
    start = time.perf_counter()
    try:
        answer = await call(session, url, "Annotator.getAnnotation", text, *context)
    except Fault as fault:
        if context:
            return _taken(name, start, note=f"fault {fault.faultCode}: register with `text` only")
        message = f"fault {fault.faultCode}: {fault.faultString!s:.200}"
        if name in FORGIVEN:
            return _taken(
                name, start, warnings=[f"{message}; a hub counts this as a failed attempt"]
            )
        return _taken(name, start, message)
    except (aiohttp.ClientError, TimeoutError, ValueError, Error) as error:
        reached = not isinstance(error, aiohttp.ClientConnectorError)
        return _taken(name, start, reason(error))._replace(reached=reached)
    found = checked(answer)
    wrong = [*found.broken, *misplaced(answer, text)]
    dropped = [f"{line}; a hub drops the hit" for line in found.dropped]
    if found.refused:
        wrong, dropped = wrong + dropped, []
    return _taken(name, start, *wrong, warnings=dropped + found.notes, note=_summary(answer))


async def _state(session: aiohttp.ClientSession, url: str) -> SelfTestStep:
    name, start = "the server's state", time.perf_counter()
    try:
        state = await call(session, url, "Annotator.getState")
    except Fault:
        return await _without_state(session, url, start)
    except (aiohttp.ClientError, TimeoutError) as error:
        return _taken(name, start, reason(error))
    except (ValueError, Error) as error:
        missing = f"{reason(error)}; expected a fault if the server has no such method"
        return _taken(name, start, warnings=[missing])
    said = state.get("state") if isinstance(state, dict) else None
    away = [f"the server reports the state {said}"] if said in UNAVAILABLE else []
    return _taken(name, start, *away, warnings=_state_problems(state), note=f"{state!s:.200}")


async def _without_state(session: aiohttp.ClientSession, url: str, start: float) -> SelfTestStep:
    """Ask a server without a state for its methods, as a hub does."""
    name = "the server's state"
    try:
        methods = await call(session, url, "system.listMethods")
    except (aiohttp.ClientError, TimeoutError) as error:
        return _taken(name, start, reason(error))
    except (ValueError, Error):
        neither = "neither Annotator.getState nor system.listMethods is answered"
        return _taken(name, start, warnings=[neither])
    if isinstance(methods, list) and "Annotator.getAnnotation" in methods:
        return _taken(name, start, note="no Annotator.getState, which is optional")
    unlisted = "system.listMethods does not list Annotator.getAnnotation"
    return _taken(name, start, warnings=[unlisted])


def _state_problems(state: Any) -> Iterator[str]:
    if not isinstance(state, dict):
        yield f"state: expected struct, got {type(state).__name__}"
        return
    if state.get("state") not in STATES:
        yield f"state.state: expected one of {', '.join(STATES)}, got {state.get('state')!r}"
    if not isinstance(state.get("version"), str):
        yield f"state.version: expected string, got {state.get('version')!r}"
    if type(state.get("max_concurrent")) is not int or state["max_concurrent"] < 1:
        yield "state.max_concurrent: expected an int of 1 or more, got"
        f" {state.get('max_concurrent')!r}"


def _taken(
    name: str, start: float, *wrong: str, warnings: Iterable[str] = (), note: str = ""
) -> SelfTestStep:
    return SelfTestStep(name, time.perf_counter() - start, wrong, tuple(warnings), note)


async def call(session: aiohttp.ClientSession, url: str, method: str, *params: Any) -> Any:
    """Call a method; raises `Fault`, or `ValueError` with what is wrong with the response."""
    body = dumps(params, method).encode()
    response, content = await _sent(session, url, body)
    if response.status != 200 and b"<fault>" not in content:
        raise ValueError(f"HTTP status {response.status}; expected 200")
    content = _plain(content)
    if b"<!DOCTYPE" in content.partition(b"<methodResponse")[0]:
        raise ValueError(
            "the answer has a document type declaration; expected none, since a hub refuses it"
        )
    try:
        return _value(content, response.charset)
    except Fault:
        raise
    except ExpatError as error:
        raise ValueError(f"not XML: {error}") from error
    except Exception as error:  # the standard library raises half a dozen kinds on bad input
        raise ValueError(f"not an XML-RPC response: {error!r}") from error


async def _sent(
    session: aiohttp.ClientSession, url: str, body: bytes
) -> tuple[aiohttp.ClientResponse, bytes]:
    """Return the answer to a request; it is sent again where the server asks to wait, as by a hub.

    Raises `TimeoutError` for waits beyond the session's time limit.
    """
    headers = {"Content-Type": "text/xml; charset=utf-8"}
    left = session.timeout.total or 0.0
    for _ in range(MOST_WAITS):
        async with session.post(url, data=body, headers=headers, allow_redirects=False) as response:
            content = await _read(response)
        wait = response.headers.get("Retry-After", "")
        if response.status not in BUSY or not re.fullmatch("[0-9]{1,6}", wait):
            break
        left -= max(1, int(wait))
        if left < 0:
            raise TimeoutError
        await asyncio.sleep(max(1, int(wait)))
    return response, content


async def _read(response: aiohttp.ClientResponse) -> bytes:
    """Return the body of an answer; raises `ValueError` if a hub would not read it to its end."""
    content = bytearray()
    async for piece in response.content.iter_any():
        content += piece
        if len(content) > MAX_ANSWER_BYTES:
            raise ValueError(
                f"more than {MAX_ANSWER_BYTES:,} bytes, a hub's default limit (limits.answer_bytes)"
            )
    return bytes(content)


class UnreadableValue:
    """A value of no type of the contract, in the place of one that could not be read."""

    def __repr__(self) -> str:
        return "unreadable"


def _lenient(read: Callable[[Unmarshaller, str], None]) -> Callable[[Unmarshaller, str], None]:
    """Return a reader of scalars by which only the value is lost, as for a hub."""

    def end(values: Unmarshaller, data: str) -> None:
        try:
            read(values, data)
        except Exception:  # the standard library raises several kinds
            values.append(UnreadableValue())
            values._value = False  # noqa: SLF001

    return end


def _boolean(values: Unmarshaller, data: str) -> None:
    """Read a boolean, which may be a word."""
    words = {"false": "0", "true": "1"}
    plain = data.strip().lower()
    Unmarshaller.dispatch["boolean"](values, words.get(plain, plain))


def _plain_value(content: bytes | str) -> Any:
    target = Unmarshaller(use_builtin_types=True)
    readers = {tag: _lenient(target.dispatch[tag]) for tag in SCALARS}
    target.dispatch = {**target.dispatch, **readers, "boolean": _lenient(_boolean)}
    parser = ExpatParser(target)
    parser.feed(content)
    parser.close()
    (value,) = target.close()
    return value


def _plain(content: bytes) -> bytes:
    """Return an answer without what a hub passes over before and behind it."""
    found = content.lstrip().removeprefix(BOM).lstrip()
    return found.rstrip(b"\0 \t\r\n") if found.startswith(b"<") and found[1:2] != b"\0" else content


def _value(content: bytes, charset: str | None) -> Any:
    """Return the value of an answer in its own encoding, or in the one that the header names."""
    try:
        return _plain_value(content)
    except ExpatError:
        if charset is None or b"encoding" in content.partition(b"?>")[0]:
            raise
        return _plain_value(content.decode(charset))


def reason(error: Exception) -> str:
    """Say what is wrong with a call that failed."""
    if isinstance(error, TimeoutError):
        return "no complete answer within the time limit (--timeout)"
    if isinstance(error, aiohttp.ClientConnectorError) and not isinstance(
        error, aiohttp.ClientSSLError
    ):
        number = error.os_error.errno or 0  # none for several addresses, negative for a name
        why = os.strerror(number) if number > 0 else str(error.os_error)
        return f"no connection to {error.host}:{error.port}: {why}; has the server been started?"
    return str(error) or type(error).__name__


def _summary(answer: Any) -> str:
    if not isinstance(answer, dict):
        return ""
    counts = (f"{key}: {len(value)}" for key, value in answer.items() if isinstance(value, list))
    return ", ".join(counts)
