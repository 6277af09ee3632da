"""A real PubAnnotation server of each dialect: at once, 303, 201 with a task."""

import itertools
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.fakes.web_peer import web_peer

NAMES = {"TP53": "P04637", "p53": "P04637", "BRCA1": "P38398", "MDM2": "Q00987"}
SOON = {"Retry-After": "0"}


def annotated(text: str) -> dict[str, Any]:
    """Return what an honest server finds: names by code points, and a pair of the first two."""
    found = sorted((at, name) for name in NAMES for at in [text.find(name)] if at >= 0)
    denotations = [
        {"id": f"T{place}", "span": {"begin": at, "end": at + len(name)}, "obj": NAMES[name]}
        for place, (at, name) in enumerate(found, start=1)
    ]
    pair = {"id": "R1", "pred": "ppi", "subj": "T1", "obj": "T2"}
    relations = [pair] if len(denotations) > 1 else []
    return {"text": text, "denotations": denotations, "relations": relations}


@dataclass
class PubAnnotationPeer:
    """A server: `dialect` is "sync", "303" or "201"; `looks` at a job find nothing yet.

    `change` alters an answer; `reply` answers in place of everything else.
    """

    dialect: str = "sync"
    looks: int = 2
    change: Callable[[dict[str, Any]], Any] = lambda answer: answer
    reply: Callable[[web.Request], web.Response | None] = lambda _request: None
    url: str = ""
    requests: list[tuple[str, str, Mapping[str, str], bytes]] = field(default_factory=list)
    _jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    _looked: dict[str, int] = field(default_factory=dict)
    _numbers: Any = field(default_factory=lambda: itertools.count(1))

    async def handle(self, request: web.Request) -> web.Response:
        """Answer one request."""
        body = await request.read()
        self.requests.append((request.method, request.path_qs, dict(request.headers), body))
        if (said := self.reply(request)) is not None:
            return said
        if request.method == "GET":
            return self._look(request.path.strip("/").split("/"))
        text = json.loads(body)["text"] if "json" in request.content_type else body.decode()
        answer = self.change(annotated(text))
        if self.dialect == "sync":
            return web.json_response(answer)
        job = str(next(self._numbers))
        self._jobs[job], self._looked[job] = answer, 0
        status = int(self.dialect)
        headers = {"Location": f"/jobs/{job}", **SOON}
        return web.Response(status=status, headers=headers)

    def _look(self, path: list[str]) -> web.Response:
        kind, job = path[0], path[-1]
        if kind == "results" or (self.dialect == "303" and self._looked.get(job) == self.looks):
            answer = self._jobs.pop(job, None)
            return web.Response(status=410) if answer is None else web.json_response(answer)
        self._looked[job] += 1
        if self.dialect == "303":
            return web.Response(status=404, headers=SOON)
        done = self._looked[job] > self.looks
        status = "DONE" if done else "IN_PROGRESS"
        return web.json_response({"status": status, "ETR": 0, "result_location": f"/results/{job}"})


@asynccontextmanager
async def pubannotation_peer(**settings: Any) -> AsyncIterator[PubAnnotationPeer]:
    """Serve annotations."""
    peer = PubAnnotationPeer(**settings)
    async with web_peer(peer.handle) as peer.url:
        yield peer
