"""A request as a command of curl, with `***` in the place of each secret."""

from __future__ import annotations

import shlex
from typing import Final

from metaserver.exchange.http.target import HIDDEN, ServerTarget
from metaserver.exchange.protocols.plugin import RenderedBody, Request

SHOWN_BODY: Final = 200_000
"""The maximum characters shown of a body."""


async def curl_command(request: Request, target: ServerTarget, user_agent: str) -> str:
    """Return a request to a server's registered address as a command of a POSIX shell."""
    place, secret_headers = target.at(request.url)
    query = f"?{HIDDEN}" if place.raw_query_string else ""
    headers = {"User-Agent": user_agent, "Accept-Encoding": "gzip"}
    if request.accept:
        headers["Accept"] = request.accept
    if request.content_type:
        headers["Content-Type"] = request.content_type
    headers |= {name: _masked(name, value) for name, value in secret_headers.items()}
    parts = [f"curl --compressed --request {request.method}"]
    parts += [f"--header {shlex.quote(f'{name}: {value}')}" for name, value in headers.items()]
    if request.body is not None:
        body = request.body
        content = await body.render() if isinstance(body, RenderedBody) else body
        text = target.hidden(content).decode("utf-8", "replace")
        more = len(text) - SHOWN_BODY
        text = f"{text[:SHOWN_BODY]}… {more:,} more characters" if more > 0 else text
        parts.append(f"--data-raw {shlex.quote(text)}")
    address = str(place.with_query(None).with_fragment(None)) + query
    parts.append(shlex.quote(address))
    return " \\\n  ".join(parts)


def _masked(name: str, value: str) -> str:
    """Return the value of a header that proves the hub to the server: its scheme alone."""
    scheme, space, _ = value.partition(" ")
    return f"{scheme} {HIDDEN}" if name == "Authorization" and space else HIDDEN
