"""Hubs to visit with a browser, and an annotation server that does as a test wants."""

from __future__ import annotations

import asyncio
from pathlib import Path

from annotators.contract import Answer, Context
from annotators.server import Kit
from tests.hubs.inside import plan_phase
from tests.hubs.thread import HubThread
from tests.integration.kits import answer_for, served

ANA = {"role": "organiser", "label": "ana"}
NOBODY = "http://127.0.0.1:9/"


class Annotator:
    """An annotation server; `wrong` makes its answers partial, `waits` holds them back.

    After `enough` wrong answers it holds them back by itself.
    """

    def __init__(self) -> None:
        self.url = ""
        self.wrong = False
        self.markup = "P00000"
        self.enough: int | None = None
        self.answered = 0
        self.waits = asyncio.Event()
        self.waits.set()

    async def annotate(self, text: str, _context: Context) -> Answer:
        if self.wrong and self.answered == self.enough:
            self.waits.clear()
        await self.waits.wait()
        answer = answer_for(text)
        if self.wrong:
            self.answered += 1
            answer["normalizations"][1]["rank"] = 0
            answer["normalizations"][3]["confidence"] = 7.0
            answer["normalizations"][4]["dbid"] = self.markup
        return answer


class BlueHub(HubThread):
    """A hub with a phase that is not open yet, team blue, and an annotation server."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.annotator = Annotator()

    def wait(self, *, held: bool) -> None:
        """Hold the annotation server's answers back, or release them."""
        event = self.annotator.waits
        self.call(event.clear if held else event.set)

    async def fill(self) -> None:
        """Create the hub's initial objects."""
        kit = Kit(self.annotator.annotate)
        self.annotator.url = await self.stack.enter_async_context(served(kit))
        await self.plan()

    async def plan(self) -> None:
        """Plan a phase, and make team blue with a token."""
        await plan_phase(self.running, freezes="2030-01-15T17:00")
        await self.running.do("teams.create", team="blue", title="The blue team")
        issued = await self.running.do("tokens.create", team="blue", role="team", label="browser")
        self.token = issued.token


class EmptyHub(HubThread):
    """A hub with nothing but an organiser."""

    async def fill(self) -> None:
        self.token = (await self.running.do("tokens.create", **ANA)).token


class OrganisedHub(BlueHub):
    """A hub with a phase that is open, a team whose server answers it, and an organiser."""

    async def plan(self) -> None:
        await plan_phase(self.running, title="Test phase", freezes="2030-01-15T17:00")
        await self.running.do("challenges.set", challenge="bc", title="BioCreative 2026")
        await self.running.do("teams.create", team="blue", title="The blue team")
        self.token = (await self.running.do("tokens.create", **ANA)).token

    def at_work(self) -> None:
        """Let blue-1 answer one article, and register one that nobody answers for."""
        self.ask_as_team("servers.register", server="blue-1", url=self.annotator.url)
        self.ask_as_team("servers.register", server="blue-2", url=NOBODY)
        assert self.ask_as_team("servers.test", server="blue-1").passed
        assert not self.ask_as_team("servers.test", server="blue-2").passed
        self.ask("phases.open", phase="test")
        self.ask_as_team("servers.next", server="blue-1")
        watch = self.running.service.phase("test").boards.server_monitor
        self.do(self.running.until(lambda: watch.status("blue-1").done == 1))
