"""Content encodings: which a client prefers, and answers compressed in it.

Whole answers are compressed here and nowhere else. Answers that could reveal a secret by their
length (BREACH) must not be: see docs/security.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from aiohttp import ETag, hdrs, web
from aiohttp.typedefs import Handler

from metaserver.base.compression import gzipped, pack
from metaserver.web.access.aside import LARGE, aside

LEAST = 1_000
"""Bytes below which an answer fits into a packet or two as it is."""
COMPRESSED = frozenset(
    {
        "application/json", "application/xml", "image/svg+xml", "text/css", "text/csv",
        "text/html", "text/javascript", "text/plain", "text/tab-separated-values", "text/xml",
    }
)  # fmt: skip
"""Types of content that are compressed."""
MOST_CHOICES = 20


class Encoding(StrEnum):
    """Names of encodings in HTTP."""

    ZSTD = "zstd"
    GZIP = "gzip"
    IDENTITY = "identity"


PACKERS: Mapping[Encoding, Callable[[bytes], bytes]] = {Encoding.ZSTD: pack, Encoding.GZIP: gzipped}
"""Functions that compress, the preferred one first."""


def preferred(request: web.BaseRequest, offered: Sequence[Encoding] = tuple(PACKERS)) -> Encoding:
    """Return which of the `offered` encodings a client takes, in that order; else `IDENTITY`.

    Example: for `Accept-Encoding: gzip` it is gzip, if offered.
    """
    accepted = _taken(request.headers.get(hdrs.ACCEPT_ENCODING, ""))
    everything = accepted.get("*", False)
    for encoding in offered:
        if accepted.get(encoding, everything):
            return encoding
    return Encoding.IDENTITY


def _taken(header: str) -> Mapping[str, bool]:
    """Return which encodings an `Accept-Encoding` takes and refuses (RFC 9110, 12.5.3)."""
    accepted = {}
    for choice in header.lower().split(",")[:MOST_CHOICES]:
        name, _, weight = choice.partition(";")
        key, _, value = weight.strip().partition("=")
        accepted[name.strip()] = not (key.strip() == "q" and _is_zero(value.strip()))
    return accepted


def _is_zero(text: str) -> bool:
    try:
        return not float(text) > 0
    except ValueError:
        return True  # what cannot be read is not taken


@web.middleware
async def compressed(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Compress an answer that is whole, large enough and of a type that gains by it.

    A large answer is compressed in a thread. What was sent already, or encodes itself, stays as it
    is.
    """
    response = await handler(request)
    if isinstance(response, web.Response) and _gains(response):
        await _compress(request, response)
    return response


def _gains(response: web.Response) -> bool:
    return (
        not response.prepared
        and response.status == 200
        and response.content_type in COMPRESSED
        and hdrs.CONTENT_ENCODING not in response.headers
        and isinstance(response.body, bytes | bytearray)
        and len(response.body) >= LEAST
    )


async def _compress(request: web.Request, response: web.Response) -> None:
    response.headers.add(hdrs.VARY, hdrs.ACCEPT_ENCODING)
    encoding = preferred(request)
    if encoding is Encoding.IDENTITY:
        return
    body = bytes(response.body)  # type: ignore[arg-type]
    large = len(body) > LARGE
    response.body = await aside(request, large, PACKERS[encoding], body)
    response.headers[hdrs.CONTENT_ENCODING] = encoding
    if response.etag is not None:  # of the same content in other bytes
        response.etag = ETag(value=response.etag.value, is_weak=True)
