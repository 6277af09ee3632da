"""Servers to start from, in five languages: whole programs that the tests run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from aiohttp import web

from metaserver.web.team.scope import scope_of
from metaserver.web.ui.console import ConsoleContext


@dataclass(frozen=True, kw_only=True, slots=True)
class Snippet:
    """A server in one language: its file, how to run it, what it needs."""

    language: str
    file: str
    run: str
    needs: str
    folder: tuple[str, str] = ("metaserver.web", "snippets")

    @property
    def text(self) -> str:
        """The program."""
        return _text(*self.folder, self.file)


@cache
def _text(package: str, folder: str, file: str) -> str:
    return (files(package) / folder / file).read_text("utf-8")


SNIPPETS: Sequence[Snippet] = (
    Snippet(
        language="Python",
        file="server.py.txt",
        run="python server.py",
        needs="The package annotators, which comes with this hub (annotators new writes this).",
        folder=("annotators", "data/starter"),
    ),
    Snippet(
        language="Perl",
        file="server.pl",
        run="cpan RPC::XML && perl server.pl",
        needs="RPC::XML (Debian: librpc-xml-perl).",
    ),
    Snippet(
        language="Java",
        file="Server.java",
        run="java Server.java",
        needs="Java 11 or newer, no library.",
    ),
    Snippet(
        language="Ruby",
        file="server.rb",
        run="gem install xmlrpc webrick && ruby server.rb",
        needs="xmlrpc and webrick.",
    ),
    Snippet(
        language="Node",
        file="server.js",
        run="npm install xmlrpc && node server.js",
        needs="xmlrpc, from npm.",
    ),
)


@dataclass(frozen=True, kw_only=True)
class SnippetPages:
    """The handler of the page with the servers to start from."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return its route."""
        return [web.get("/team/snippets", self.show)]

    async def show(self, request: web.Request) -> web.Response:
        """Answer with the programs."""
        scope = await scope_of(self.console, request)
        return self.console.answer("team_snippets.html", scope=scope, snippets=SNIPPETS)
