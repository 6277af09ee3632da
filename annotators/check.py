"""A team's self-test: it sends a server the hub's requests and reports what is wrong."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from xml.parsers.expat import ExpatError
from xmlrpc.client import Error, Fault, dumps, loads

import aiohttp

from annotators.contract import malformed, misplaced, problems
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
    "an article in many scripts": "Bindung α-Synuclein–Parkin: 蛋白质 p53 и MDM2 🧬 \n<a & b>",
    "an empty article": "",
    "an article with control characters": CONTROL,
}
STATES = ("Running", "Overloaded", "Suspended", "Shutdown")


class SelfTestStep(NamedTuple):
    """One step of the self-test: the request, its duration in seconds, and the problems found."""

    name: str
    seconds: float
    wrong: tuple[str, ...]
    note: str = ""


async def check(url: str, *, limit: float = 60.0, show: Callable[[str], object] = print) -> bool:
    """Send all test requests to the server at `url`, show each step, and return whether all passed.

    An answer may take `limit` seconds. Raises `BadInputError` where `url` is not a URL.
    """
    url = server_url(url)
    right = True
    deadline = aiohttp.ClientTimeout(total=limit)
    async with aiohttp.ClientSession(timeout=deadline) as session:
        async for step in _steps(session, url):
            right &= not step.wrong
            for line in _lines(step):
                show(line)
    return right


def server_url(url: str) -> str:
    """Return a server's URL; raises `BadInputError` where it is none."""
    try:
        if urlsplit(url).scheme in {"http", "https"} and urlsplit(url).hostname:
            return url
    except ValueError:  # such as half an IPv6 address
        pass
    raise BadInputError("URL", f"{url!r} is no URL; expected http://HOST:PORT/")


def _lines(step: SelfTestStep) -> Iterator[str]:
    verdict = "wrong" if step.wrong else "ok"
    note = f"  ({step.note})" if step.note else ""
    yield f"{verdict:5}  {step.seconds:8.3f} s  {step.name}{note}"
    for line in step.wrong:
        yield f"       {line}"


async def _steps(session: aiohttp.ClientSession, url: str) -> AsyncIterator[SelfTestStep]:
    for name, text in ARTICLES.items():
        yield await _annotate(session, url, name, text)
    context = {"article_id": "check", "tasks": ["INT"], "timeout": 60.0, "attempt": 1}
    yield await _annotate(session, url, "an article with its context", SHORT, context)
    two = [_annotate(session, url, "two articles at once", text) for text in (SHORT, SHORT + " ")]
    first, second = await asyncio.gather(*two)
    yield SelfTestStep(first.name, max(first.seconds, second.seconds), first.wrong + second.wrong)
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
        return _taken(name, start, f"fault {fault.faultCode}: {fault.faultString:.200}")
    except (aiohttp.ClientError, TimeoutError, ValueError, Error) as error:
        return _taken(name, start, reason(error))
    if answer is None or answer == []:  # to the hub as good as an empty struct
        answer = {}
    wrong = (*problems(answer), *malformed(answer), *misplaced(answer, text))
    return _taken(name, start, *wrong, note=_summary(answer))


async def _state(session: aiohttp.ClientSession, url: str) -> SelfTestStep:
    name, start = "the server's state", time.perf_counter()
    try:
        state = await call(session, url, "Annotator.getState")
    except Fault:
        return _taken(name, start, note="no Annotator.getState: the hub will probe otherwise")
    except (aiohttp.ClientError, TimeoutError, ValueError, Error) as error:
        return _taken(name, start, reason(error))
    return _taken(name, start, *_state_problems(state), note=str(state))


def _state_problems(state: Any) -> Iterator[str]:
    if not isinstance(state, dict):
        yield f"state: expected struct, got {type(state).__name__}"
        return
    if state.get("state") not in STATES:
        yield f"state.state: expected one of {', '.join(STATES)}, got {state.get('state')!r}"
    if not isinstance(state.get("version"), str):
        yield f"state.version: expected string, got {state.get('version')!r}"
    if type(state.get("max_concurrent")) is not int or state["max_concurrent"] < 1:
        yield f"state.max_concurrent: expected int >= 1, got {state.get('max_concurrent')!r}"


def _taken(name: str, start: float, *wrong: str, note: str = "") -> SelfTestStep:
    return SelfTestStep(name, time.perf_counter() - start, wrong, note)


async def call(session: aiohttp.ClientSession, url: str, method: str, *params: Any) -> Any:
    """Call a method; raises `Fault`, or `ValueError` with what is wrong with the response."""
    headers = {"Content-Type": "text/xml"}
    body = dumps(params, method).encode()
    async with session.post(url, data=body, headers=headers, allow_redirects=False) as response:
        content = await response.read()
    if response.status != 200 and b"<fault>" not in content:
        raise ValueError(f"HTTP status {response.status}; expected 200")
    if b"<!DOCTYPE" in content:
        raise ValueError("a document type declaration; the hub refuses it")
    try:
        (value,), _ = loads(content.lstrip())  # the hub passes over what a script left before it
    except Fault:
        raise
    except ExpatError as error:
        raise ValueError(f"not XML: {error}") from error
    except Exception as error:  # the standard library raises half a dozen kinds on bad input
        raise ValueError(f"not an XML-RPC response: {error!r}") from error
    return value


def reason(error: Exception) -> str:
    """Say what is wrong with a call that failed."""
    if isinstance(error, TimeoutError):
        return "no answer in time (see --timeout)"
    return str(error) or type(error).__name__


def _summary(answer: Any) -> str:
    if not isinstance(answer, dict):
        return ""
    counts = (f"{key}: {len(value)}" for key, value in answer.items() if isinstance(value, list))
    return ", ".join(counts)
