"""Hubs to visit with a browser, and an annotation server that does as a test wants."""

import asyncio
from pathlib import Path
from typing import Any

from aiohttp.test_utils import unused_port

from annotators.contract import Answer, Context
from annotators.server import Kit
from metaserver.config import NoticeSettings, ProviderSettings, WebSettings
from metaserver.operations import first_organiser
from tests.fakes.clock import ShiftedClock
from tests.fakes.mailbox import HOST, Mailbox, mailbox
from tests.fakes.openid import CLIENT, SECRET, FakeProvider, provider
from tests.hubs.command import ARTICLES, DEMO
from tests.hubs.inside import plan_phase
from tests.hubs.thread import HubThread
from tests.integration.kits import answer_for, served
from tests.integration.test_control_room import ANSWERED, MINUTE, SlowServer
from tests.waiting import until

ANA = {"role": "organiser", "label": "ana"}
NOBODY = "http://127.0.0.1:9/"
FRONT_DOOR = {
    "description": "Find **interactions**.\n\n# Why\n\n| task | asks |\n|---|---|\n| INT | names |",
    "evaluation": "By AUC iP/R.", "rules": "Be fair.", "contact": "<ana@example.org>",
    "sign_up": "approve", "terms": "Be *fair*.", "terms_version": "1",
}  # fmt: skip


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
    """A hub with an open phase, an annotation server, and a team blue with a token.

    A test that changes much takes a team of its own, whose servers are named after it.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.annotator = Annotator()
        self.team, self.others = "blue", 0

    def wait(self, *, held: bool) -> None:
        """Hold the annotation server's answers back, or release them."""
        event = self.annotator.waits
        self.call(event.clear if held else event.set)

    def ask_as_team(self, operation: str, **values: Any) -> Any:
        """Call an operation as the team."""
        return self.do(self.running.do(operation, self.running.team(self.team), **values))

    async def fill(self) -> None:
        """Create the hub's initial objects."""
        kit = Kit(self.annotator.annotate)
        self.annotator.url = await self.stack.enter_async_context(served(kit))
        await plan_phase(self.running, title="Test phase", freezes="2030-01-15T17:00")
        await self.running.do("phases.update", phase="test", visibility="public")
        await self.running.do("phases.open", phase="test")
        await self._join("blue")

    async def _join(self, team: str) -> None:
        await self.running.do("teams.create", team=team, title=f"The {team} team")
        issued = await self.running.do("tokens.create", team=team, role="team", label="browser")
        self.team, self.token = team, issued.token

    def join(self) -> None:
        """Make another team with a token, which acts from now on; answers are right again."""
        self.others += 1
        self.do(self._join(f"team{self.others}"))
        self.annotator.wrong = False

    def tested(self, server: str) -> None:
        """Register a server that passes its test."""
        self.ask_as_team("servers.register", server=server, url=self.annotator.url)
        assert self.ask_as_team("servers.test", server=server, phase="test").passed

    def answered(self, server: str) -> None:
        """Let a server go through the phase."""
        self.tested(server)
        self.ask_as_team("servers.start", server=server, phase="test")
        watch = self.running.service.phase("test").boards.server_monitor
        self.do(self.running.until(lambda: watch.status(server).done == ARTICLES))


class JourneyHub(HubThread):
    """A hub with a challenge that teams sign up for, and an annotation server.

    People sign in by its mailbox, or by a provider that knows no address of theirs, as ORCID.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.mail: Mailbox
        self.provider: FakeProvider
        self.annotator = Annotator()

    async def _start(self) -> None:
        self.mail = await self.stack.enter_async_context(mailbox())
        self.provider = await self.stack.enter_async_context(provider())
        self.port = unused_port()
        secret = self._folder / "secret"
        secret.write_text(SECRET)
        self._changes = {
            "notices": NoticeSettings(
                smtp_host=HOST, smtp_port=self.mail.port, smtp_starttls=False
            ),
            "web": WebSettings(url=f"http://127.0.0.1:{self.port}"),
            "sign_in": [
                ProviderSettings(
                    issuer=self.provider.issuer,
                    client_id=CLIENT,
                    client_secret_file=str(secret),
                    label="Sign in with ORCID",
                )
            ],
        }
        await super()._start()

    async def fill(self) -> None:
        """Create the hub's initial objects."""
        kit = Kit(self.annotator.annotate)
        self.annotator.url = await self.stack.enter_async_context(served(kit))
        dates = {"freezes": "2031-01-15T17:00"}
        await plan_phase(self.running, **dates, title="Test phase", visibility="own")
        await self.running.do("challenges.set", challenge="bc", title="BC", timezone="Asia/Tokyo")
        await self.running.do("challenges.edit", challenge="bc", **FRONT_DOOR)
        self.token = (await self.running.do("tokens.create", **ANA)).token

    def mailed(self, count: int) -> str:
        """Wait for so many messages; return the address of the link in the last."""
        self.do(until(lambda: len(self.mail.messages) >= count))
        return f"{self.url}{self.mail.link()}"


class EmptyHub(HubThread):
    """A hub with nothing; `link` signs the first organiser in, as `serve` prints it."""

    async def fill(self) -> None:
        self.link = await first_organiser.make_link(self.running.service)


class SlowHub(HubThread):
    """A hub with nothing but an organiser; a server takes a minute an article by its clock."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.clock = self.shift = ShiftedClock()
        self.slow = SlowServer(self.shift)
        self.url_of_server = ""

    async def fill(self) -> None:
        self.url_of_server = await self.stack.enter_async_context(served(Kit(self.slow.annotate)))
        self.token = (await self.running.do("tokens.create", **ANA)).token

    def work(self) -> None:
        """Let server blue-1 answer some articles of phase `week`, and then none."""
        self.shift.ahead = -MINUTE
        self.ask_as_team("servers.register", server="blue-1", url=self.url_of_server)
        assert self.ask_as_team("servers.test", server="blue-1", phase="week").passed
        self.shift.ahead = 0.0
        self.ask_as_team("servers.start", server="blue-1", phase="week")
        monitor = self.running.service.phase("week").boards.server_monitor
        self.do(self.running.until(lambda: monitor.status("blue-1").done == ANSWERED))


class OrganisedHub(BlueHub):
    """A hub with a team whose server answers in a phase that is open, and an organiser."""

    async def fill(self) -> None:
        await super().fill()
        await self.running.do("challenges.set", challenge="bc", title="BioCreative 2026")
        self.token = (await self.running.do("tokens.create", **ANA)).token

    @staticmethod
    def other_gold(folder: Path) -> Path:
        """Return a file with the gold of ACT, one label of which is turned round."""
        first, *rest = (DEMO / "gold_act.tsv").read_text("utf-8").splitlines(keepends=True)
        turned = first.replace("\t1", "\t0") if "\t1" in first else first.replace("\t0", "\t1")
        path = folder / "gold2.tsv"
        path.write_text("".join([turned, *rest]), "utf-8")
        return path

    def at_work(self) -> None:
        """Let blue-1 answer one article, and register one that nobody answers for."""
        self.ask_as_team("servers.register", server="blue-1", url=self.annotator.url)
        self.ask_as_team("servers.register", server="blue-2", url=NOBODY)
        assert self.ask_as_team("servers.test", server="blue-1").passed
        assert not self.ask_as_team("servers.test", server="blue-2").passed
        self.ask_as_team("servers.next", server="blue-1")
        watch = self.running.service.phase("test").boards.server_monitor
        self.do(self.running.until(lambda: watch.status("blue-1").done == 1))
