"""A real BioC server of each style: at once, and by session."""

import itertools
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from bioc import biocjson, biocxml  # type: ignore[import-untyped]

from tests.fakes.pubannotation import NAMES, SOON
from tests.fakes.web_peer import web_peer


def annotate(collection: dict[str, Any]) -> dict[str, Any]:
    """Annotate each passage with the names in it, and relate the first two."""
    (document,) = collection["documents"]
    marked: list[dict[str, Any]] = []
    for passage in document["passages"]:
        for name, accession in NAMES.items():
            at = passage["text"].find(name)
            if at < 0:
                continue
            annotation = {
                "id": str(len(marked)),
                "infons": {"type": "Gene", "identifier": accession, "score": "0.5"},
                "text": name,
                "locations": [{"offset": passage["offset"] + at, "length": len(name)}],
            }
            marked.append(annotation)
            passage["annotations"].append(annotation)
    if len(marked) > 1:
        nodes = [{"refid": one["id"], "role": ""} for one in marked[:2]]
        relation = {"id": "R0", "infons": {"type": "ppi", "score": "0.25"}, "nodes": nodes}
        document["relations"].append(relation)
    return collection


@dataclass
class BiocPeer:
    """A server; with `session` a JSON result comes after `looks` looks. `change` alters answers."""

    session: bool = False
    xml: bool = False  # read and written by the package `bioc`
    looks: int = 2
    change: Callable[[dict[str, Any]], Any] = lambda answer: answer
    reply: Callable[[web.Request], web.Response | None] = lambda _request: None
    url: str = ""
    sent: list[Any] = field(default_factory=list)
    _results: dict[str, tuple[int, Any]] = field(default_factory=dict)
    _numbers: Any = field(default_factory=lambda: itertools.count(1000))

    async def handle(self, request: web.Request) -> web.Response:
        """Answer one request."""
        body = await request.read()
        if (said := self.reply(request)) is not None:
            return said
        if request.method == "GET":
            return self._look(request.path.rpartition("/")[2])
        written = biocjson.dumps(biocxml.loads(body.decode())) if self.xml else body
        self.sent.append(json.loads(written))
        answer = self.change(annotate(json.loads(written)))
        if self.xml:
            text = biocxml.dumps(biocjson.loads(json.dumps(answer)))
            return web.Response(text=text, content_type="application/xml")
        if not self.session:
            return web.json_response(answer)
        number = str(next(self._numbers))
        self._results[number] = 0, answer
        return web.Response(text=f"{number}\n", headers=SOON)

    def _look(self, number: str) -> web.Response:
        looked, answer = self._results[number]
        self._results[number] = looked + 1, answer
        if looked < self.looks:
            text = "[Warning] : The Result is not ready."
            return web.Response(status=404, text=text, headers=SOON)
        return web.json_response(answer)


@asynccontextmanager
async def bioc_peer(**settings: Any) -> AsyncIterator[BiocPeer]:
    """Serve annotated collections."""
    peer = BiocPeer(**settings)
    async with web_peer(peer.handle) as peer.url:
        yield peer
