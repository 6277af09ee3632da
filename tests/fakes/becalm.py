"""A real BeCalm server: it acknowledges a request, and calls the hub back with the answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web

from tests.fakes.pubannotation import NAMES
from tests.fakes.web_peer import web_peer

COLUMNS = (
    "document_id", "section", "init", "end", "score", "annotated_text", "type", "database_id",
)  # fmt: skip


def annotated(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what an honest server finds: each name once in the title and once in the rest."""
    parts = {"T": document["title"], "A": document["abstractText"]}
    return [
        {
            "document_id": document["document_id"],
            "section": section,
            "init": at,
            "end": at + len(name),
            "score": 0.5,
            "annotated_text": name,
            "type": "PROTEIN",
            "database_id": accession,
        }
        for section, text in parts.items()
        for name, accession in NAMES.items()
        for at in [text.find(name)]
        if at >= 0
    ]


def as_tsv(found: list[dict[str, Any]], *, header: bool = True) -> str:
    """Return annotations as lines."""
    rows = [[str(one[name]) for name in COLUMNS] for one in found]
    if header:
        rows.insert(0, [name.upper() for name in COLUMNS])
    return "\n".join("\t".join(row) for row in rows)


def as_bioc(found: list[dict[str, Any]], document: Mapping[str, Any]) -> str:
    """Return annotations as BioC in XML."""
    title, rest = document["title"], document["abstractText"]
    starts = {"T": (0, title), "A": (len(title) + 1, rest)}
    passages = []
    for section, (start, text) in starts.items():
        inside = "".join(
            f'<annotation id="{place}"><infon key="type">{one["type"]}</infon>'
            f'<infon key="identifier">{one["database_id"]}</infon>'
            f'<infon key="score">{one["score"]}</infon>'
            f'<location offset="{start + one["init"]}" length="{one["end"] - one["init"]}"/>'
            f"<text>{one['annotated_text']}</text></annotation>"
            for place, one in enumerate(found)
            if one["section"] == section
        )
        passages.append(f"<passage><offset>{start}</offset><text>{text}</text>{inside}</passage>")
    return (
        '<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE collection SYSTEM "BioC.dtd">'
        "<collection><source/><date/><key/><document>"
        f"<id>{document['document_id']}</id>{''.join(passages)}</document></collection>"
    )


@dataclass
class CallbackMade:
    """A callback that was made, and what the hub said to it."""

    status: int
    answer: Any
    headers: Mapping[str, str]


Caller = Callable[["BecalmPeer", dict[str, Any]], Coroutine[Any, Any, None]]


async def honestly(peer: BecalmPeer, parameters: dict[str, Any]) -> None:
    """Call back with all that is found, in the peer's format."""
    (document,) = parameters["documents"]
    await peer.call(parameters, peer.written(document))


@dataclass
class BecalmPeer:
    """A server that calls `hub` back with `key`. `calls` is how it answers.

    It calls before it acknowledges where `first`. `reply` answers in place of the acknowledgement.
    """

    hub: str = ""
    key: str = ""
    becalm_key: str = ""
    form: str = "JSON"
    state: str = "Running"
    first: bool = False
    calls: Caller = honestly
    reply: Callable[[dict[str, Any]], web.Response | None] = lambda _asked: None
    change: Callable[[list[dict[str, Any]]], Any] = lambda found: found
    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    made: list[CallbackMade] = field(default_factory=list)
    _working: set[asyncio.Task[None]] = field(default_factory=set)

    def written(self, document: Mapping[str, Any]) -> str:
        """Return what is found in a document, in the peer's format."""
        found = self.change(annotated(document))
        if self.form == "TSV":
            return as_tsv(found)
        return as_bioc(found, document) if self.form == "BIOC" else json.dumps(found)

    async def handle(self, request: web.Request) -> web.Response:
        """Answer one request."""
        asked = json.loads(await request.read())
        self.asked.append(asked)
        if (said := self.reply(asked)) is not None:
            return said
        if asked["becalm_key"] != self.becalm_key:
            return self._error(401, "wrong becalm_key")
        if asked["method"] == "getState":
            data = {"state": self.state, "version": "1", "max_analyzable_documents": "515"}
            return self._success(data=data)
        parameters = asked["parameters"]
        if not parameters["documents"]:
            return self._error(400, "no documents")
        if self.first:
            await self.calls(self, parameters)
        else:
            task = asyncio.create_task(self.calls(self, parameters))
            self._working.add(task)
            task.add_done_callback(self._working.discard)
        return self._success()

    def _success(self, **members: Any) -> web.Response:
        return web.json_response({"status": 200, "success": True, "key": self.key, **members})

    def _error(self, status: int, message: str) -> web.Response:
        answer = {"status": status, "success": False, "key": self.key, "message": message}
        return web.json_response(answer)

    async def call(
        self,
        parameters: Mapping[str, Any],
        body: str | bytes | AsyncIterator[bytes],
        *,
        form: str = "",
        key: str = "",
        communication: object = None,
        prefix: str = "becalm",
        headers: Mapping[str, str] | None = None,
    ) -> CallbackMade:
        """Call the hub back about a request."""
        query = {
            "apikey": key or self.key,
            "communicationId": str(communication or parameters["communication_id"]),
        }
        url = f"{self.hub}{prefix}/saveAnnotations/{form or self.form}"
        async with (
            aiohttp.ClientSession() as session,
            session.post(url, params=query, data=body, headers=headers) as response,
        ):
            made = CallbackMade(response.status, await response.json(), dict(response.headers))
        self.made.append(made)
        return made

    async def fetch(
        self,
        parameters: Mapping[str, Any],
        article: str,
        *,
        key: str = "",
        communication: object = None,
    ) -> CallbackMade:
        """Fetch an article from the hub."""
        query = {
            "apikey": key or self.key,
            "communicationId": str(communication or parameters["communication_id"]),
        }
        url = f"{self.hub}becalm/documents/{article}"
        async with aiohttp.ClientSession() as session, session.get(url, params=query) as response:
            made = CallbackMade(response.status, await response.json(), dict(response.headers))
        self.made.append(made)
        return made

    async def stop(self) -> None:
        """End the callbacks that are under way."""
        for task in self._working:
            task.cancel()
        await asyncio.gather(*self._working, return_exceptions=True)


@asynccontextmanager
async def becalm_peer(**settings: Any) -> AsyncIterator[BecalmPeer]:
    """Serve as a BeCalm server."""
    peer = BecalmPeer(**settings)
    async with web_peer(peer.handle) as peer.url:
        try:
            yield peer
        finally:
            await peer.stop()
