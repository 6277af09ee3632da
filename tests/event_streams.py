"""Event streams of pages, read as a browser reads them."""

import json
from typing import Any

from aiohttp import ClientResponse


async def next_event(response: ClientResponse) -> tuple[str, str]:
    """Return the name of the next event and its data, whose lines are joined."""
    text = (await response.content.readuntil(b"\n\n")).decode()
    fields = [line.partition(": ") for line in text.removesuffix("\n\n").split("\n")]
    [name] = [value for field, _, value in fields if field == "event"]
    return name, "\n".join(value for field, _, value in fields if field == "data")


async def next_frame(response: ClientResponse) -> dict[str, Any]:
    """Read up to and with the next frame; return its content."""
    while True:
        name, data = await next_event(response)
        if name == "frame":
            found: dict[str, Any] = json.loads(data)
            return found
