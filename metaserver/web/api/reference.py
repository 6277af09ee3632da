"""Pages for programmers: everything that can be asked: `/api/` and, for XML-RPC, `/xmlrpc/`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

from aiohttp import web

from metaserver.operations.outline import Outline
from metaserver.operations.table import Operation
from metaserver.web.api.openapi import PATH
from metaserver.web.api.xmlrpc_api import PATHS, Rpc
from metaserver.web.api.xmlrpc_values import method_help, signatures
from metaserver.web.public.boards import page
from metaserver.web.ui.templates import Templates


@dataclass(frozen=True, kw_only=True)
class Method:
    """A method of the XML-RPC interface; the first of a signature is the type of the result."""

    name: str
    help: str
    signatures: list[list[str]]


@dataclass(frozen=True, kw_only=True)
class ReferencePages:
    """The pages about an operation table."""

    operations: Mapping[str, Operation]
    rpc: Rpc
    templates: Templates

    def routes(self) -> list[web.RouteDef]:
        """Return the pages' routes."""
        methods = [web.get(path, self.xmlrpc) for path in PATHS]
        return [web.get("/api", self.to_api), web.get("/api/", self.api), *methods]

    async def to_api(self, _: web.Request) -> web.Response:
        """Send the viewer to the page."""
        raise web.HTTPMovedPermanently("/api/")

    async def api(self, _: web.Request) -> web.Response:
        """Answer with every operation in its three spellings."""
        return self._page("api.html", nouns=self._nouns, document=PATH)

    async def xmlrpc(self, _: web.Request) -> web.Response:
        """Answer with the methods of the XML-RPC interface."""
        return self._page("xmlrpc.html", methods=self._methods)

    def _page(self, name: str, **context: Any) -> web.Response:
        return page(self.templates.page(name, **context))

    @cached_property
    def _nouns(self) -> list[tuple[str, list[Outline]]]:
        outlines = sorted(
            map(Outline.of, self.operations.values()), key=lambda outline: outline.noun
        )
        return [
            (noun, list(group)) for noun, group in groupby(outlines, lambda outline: outline.noun)
        ]

    @cached_property
    def _methods(self) -> list[Method]:
        outlines = sorted(
            map(Outline.of, self.operations.values()), key=lambda outline: outline.rpc
        )
        own_methods = [
            Method(name=outline.rpc, help=method_help(outline), signatures=signatures(outline))
            for outline in outlines
        ]
        return own_methods + [
            Method(name=name, help=method.help, signatures=[list(method.signature)])
            for name, method in self.rpc.system.items()
        ]
