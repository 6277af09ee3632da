"""Every page once by axe (WCAG 2.2 AA), light and wide, dark and narrow; none is too wide."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeAlias

import pytest
from playwright.sync_api import Browser, FilePayload, Page, expect

from annotators.server import Kit
from metaserver.base.records import ServerName, TaskName
from metaserver.base.states import Role
from metaserver.boards.monitor import ServerMonitor
from metaserver.operations.caller import Caller
from tests.browser.conftest import Visits
from tests.browser.console import ANA, FRONT_DOOR, NOBODY, Annotator, EmptyHub
from tests.browser.curating import article
from tests.browser.visiting import (
    MARKUP,
    PHONE,
    WIDE,
    check,
    first_signed_in,
    fits,
    live,
    press,
    signed_in,
)
from tests.hubs.command import DEMO
from tests.hubs.inside import plan_phase
from tests.hubs.thread import HubThread
from tests.integration.curating import curator
from tests.integration.kits import served
from tests.integration.test_curation_sets import ARTICLES, FIRST, SECOND, decide, made
from tests.integration.test_service_gold import run_file

pytestmark = pytest.mark.slow

LONG = "a" * 64
COUNT = 32  # articles
OPEN = {
    "home": "/", "sign in": "/signin", "challenge": "/c/bc", "data": "/c/bc/test/data",
    "sign-up": "/sign-up/bc", "monitor": "/c/bc/test/monitor", "board": "/c/bc/test/board/INT",
    "outcome": "/results/bc",
    "server": "/c/bc/test/servers/blue-1", "articles": "/c/bc/test/board/INT/articles",
    "run": "/c/bc/test/runs/blue-1", "team": "/c/bc/test/teams/blue",
    "compared": "/c/bc/test/board/INT/compare",
    "monitor, no server": "/c/bc/later/monitor", "board, hidden": "/c/bc/later/board/INT",
    "board, frozen": "FROZEN", "methods": "/c/bc/over/methods", "error": "/nope", "docs": "/docs",
    "docs, a page": "/docs/scoring", "docs, search": "/docs?q=frozen+board", "api": "/api/",
    "xmlrpc": "/xmlrpc/",
}  # fmt: skip
TEAM = {
    "results": "/team", "servers": "/team/servers", "upload": "/team/upload",
    "registration": "/team/register", "members": "/team/members",
    "tokens": "/team/tokens", "settings": "/team/settings",
    "snippets": "/team/snippets", "methods": "/team/methods",
    "method": "/team/methods/test/blue-1", "method, over": "/team/methods/over/blue-1",
    "server": "/team/servers/blue-1", "server, long name": f"/team/servers/{LONG}",
    "test": "/team/servers/blue-1/test", "test, failed": "/team/servers/blue-2/test",
    "server, changed": "/team/servers/blue-1/edit", "retired": "/team/servers/blue-1/retire",
    "trial": "TRIAL", "no trial": "/team/servers/blue-2/try",
    "attempts": "/team/servers/blue-1/attempts", "no attempt": "/team/servers/blue-2/attempts",
    "attempt": "/team/servers/blue-1/attempts/sample03/1?phase=test",
    "callbacks": "/team/servers/blue-4/callbacks",
}  # fmt: skip
ORGANISER = {
    "overview": "/organise", "challenge": "/organise/new-challenge",
    "new phase": "/organise/new-phase", "data of a phase": "/organise/new-phase?step=2",
    "dates of a phase": "/organise/new-phase?step=3",
    "launch check": "/organise/new-phase?step=4&phase=new&corpus=demo@1&release=test",
    "phase": "/organise/phases/test",
    "control room": "/organise/phases/test/watch", "extended": "/organise/phases/test/extend",
    "changed": "/organise/phases/test/edit", "closed": "/organise/phases/test/close",
    "published": "/organise/phases/over/publish",
    "bundle": "/organise/bundle", "cloned": "/organise/challenges/bc/clone",
    "challenge, changed": "/organise/challenges/bc",
    "deleted": "/organise/phases/test/delete", "data": "/organise/phases/test/data",
    "data, withdrawn": "/organise/phases/test/data/withdraw",
    "results": "/organise/phases/over/results", "page": "/organise/challenges/bc/page",
    "sign-ups": "/organise/challenges/bc/sign-ups",
    "challenge, deleted": "/organise/challenges/bc/delete",
    "gold": "/organise/phases/test/gold/ACT", "corpora": "/organise/corpora",
    "corpus": "/organise/corpora/demo", "teams": "/organise/teams",
    "team": "/organise/teams/blue", "team, retired": "/organise/teams/blue/retire",
    "people": "/organise/people", "tokens": "/organise/tokens", "servers": "/organise/servers",
    "servers, none": "/organise/servers?state=down",
    "suspension": "/organise/servers/blue-1/suspend?phase=test",
    "requeue": "/organise/servers/blue-1/requeue?phase=test", "uploads": "/organise/uploads",
    "audit": "/organise/audit", "machines": "/organise/machines", "alerts": "/organise/alerts",
    "jobs": "/organise/jobs",
    "server's attempts": "/c/bc/test/servers/blue-1",
}  # fmt: skip
CURATOR = {
    "first page": "/curate", "article": "ARTICLE", "submission": "ARTICLE/submit",
    "experiments": "ARTICLE/experiments/P00533,P62993",
    "set": "/curate/sets/round-1", "rulings": "/curate/sets/round-1/adjudicate?task=INT",
}  # fmt: skip
EMPTY = {path: f"/organise{path}" for path in (
    "", "/new-phase", "/corpora", "/teams", "/servers", "/uploads"
)}  # fmt: skip
PAGES = [
    pytest.param(who, path, id=f"{who}: {name}")
    for who, pages in (
        ("anybody", OPEN), ("team", TEAM), ("organiser", ORGANISER), ("curator", CURATOR),
        ("first organiser", EMPTY),
    )
    for name, path in pages.items()
]  # fmt: skip


def all_answered(watch: ServerMonitor) -> bool:
    return watch.status(ServerName("blue-1")).done == COUNT


class FullHub(HubThread):
    """A hub with something of everything; `tokens` has one for each role."""

    tokens: dict[str, str]
    places: dict[str, str]

    async def fill(self) -> None:
        self.tokens, self.places = {"anybody": ""}, {}
        annotator = Annotator()
        url = await self.stack.enter_async_context(served(Kit(annotator.annotate)))
        do, blue = self.running.do, self.running.team("blue")
        await plan_phase(
            self.running, title=MARKUP, visibility="public", freezes="2030-01-15T17:00"
        )
        for phase, visibility in (("over", "public"), ("later", "hidden")):
            plan: dict[str, Any] = {"challenge": "bc", "corpus": "demo", "release": "test"}
            await do(
                "phases.create", phase=phase, visibility=visibility, tasks=("ACT", "INT"), **plan
            )
            gold = (DEMO / "gold_int.tsv").read_bytes()
            await do("gold.set", phase=phase, task="INT", content=gold, source="gold_int.tsv")
        await do("challenges.set", challenge="bc", title="BioCreative", timezone="Asia/Tokyo")
        await do("challenges.edit", challenge="bc", **FRONT_DOOR)
        await do("challenges.announce", challenge="bc", title="News", text=f"*Soon* {MARKUP}")
        await do("teams.create", team="blue", title=MARKUP)
        for server, address, protocol in (
            ("blue-1", url, "xmlrpc"), ("blue-2", NOBODY, "xmlrpc"), ("blue-4", NOBODY, "becalm"),
            (LONG, f"http://{'long.' * 30}example/", "xmlrpc"),
        ):  # fmt: skip
            await do("servers.register", blue, server=server, url=address, protocol=protocol)
        for server, phase in (("blue-1", "test"), ("blue-1", "over"), ("blue-2", "test")):
            await do("servers.test", blue, server=server, phase=phase)
        annotator.wrong, annotator.markup = True, MARKUP
        tried = {"server": "blue-1", "phase": "test", "text": f"{MARKUP} {LONG}"}
        await do("servers.try", blue, **tried)
        [trial, *_] = self.running.service.jobs.own.list_all("blue")
        self.places["TRIAL"] = f"/team/servers/blue-1/try?job={trial.id}"
        for phase in ("test", "over"):
            await do("phases.open", phase=phase)
            await do("servers.start", blue, server="blue-1", phase=phase)
            watch = self.running.service.phase(phase).boards.server_monitor
            await self.running.until(partial(all_answered, watch))
            about = {"summary": f"A {MARKUP}", "contact": LONG, "link": f"https://{LONG}.example/"}
            await do("methods.describe", blue, phase=phase, run="blue-1", **about)
        await do("runs.upload", blue, phase="test", task="INT", run="file", content=run_file())
        await do("servers.suspend", server="blue-1", reason=f"{MARKUP} {LONG}", phase="test")
        license_ = f"https://{LONG}/"
        await do("data-package.release", phase="test", test_articles=True, license=license_)
        await do("phases.freeze", phase="over")
        [frozen] = await self.running.frozen(1, "over")
        self.places["FROZEN"] = f"/b/{frozen.board}"
        issued = await do("tokens.create", team="blue", role="team", label=MARKUP)
        self.tokens["team"] = issued.token
        self.tokens["organiser"] = (await do("tokens.create", **ANA)).token
        await self.curated()

    async def curated(self) -> None:
        """Ask about an article, and let two curators differ on those of a set."""
        do, blue = self.running.do, self.running.team("blue")
        await do("servers.serve-curators", blue, server="blue-1", serve=True)
        issued = await do("tokens.create", role="curator", label="judge")
        self.tokens["curator"] = issued.token
        pair = [await curator(self.running, name) for name in ("ana", "bob")]
        await made(self.running, pair, adjudicators=(issued.id,))
        for name in ARTICLES:
            for one, items in zip(pair, ([FIRST], [FIRST, SECOND]), strict=True):
                await decide(self.running, one, name, items)
        judge = Caller(role=Role.CURATOR, token_id=issued.id, name="curator judge")
        asked = await do("consensus.ask", judge, text=article(), title=MARKUP, wait=20.0)
        opened = await do("curation.open", judge, request=asked.request)
        self.places["ARTICLE"] = f"/curate/curations/{opened.curation}"


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FullHub]:
    with FullHub(tmp_path_factory.mktemp("full")) as hub:
        yield hub


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmptyHub]:
    with EmptyHub(tmp_path_factory.mktemp("empty")) as hub:
        yield hub


UNFOLD = """() => {
  const folded = document.querySelectorAll("main details:not(tr:nth-child(even) *)");
  for (const one of folded) one.open = true;
}"""
"""Unfolds what is folded, but each other row of a table."""
SHORTER = """() => {
  for (const part of document.querySelectorAll("main *")) {
    for (const child of [...part.children].slice(part.closest("svg") ? 200 : 10)) child.remove();
  }
}"""
"""Takes away what is like ten before it: axe takes a minute for a list of hundreds."""


PRESSED = "button, .button, header a, nav a, summary, select, textarea, input:not([type=hidden])"
SMALL = """wanted => [...document.querySelectorAll(wanted)]
  .map(one => one.matches("[type=checkbox], [type=radio]") ? one.closest("label") : one)
  .filter(one => one.checkVisibility({ visibilityProperty: true }))
  .map(one => [one.outerHTML, one.getBoundingClientRect().height])
  .filter(([, height]) => height > 1 && height < 43.9)"""
"""What is less than 44 px high; a box counts with its label."""


def everybody_can_use(page: Page) -> None:
    """Check a page light and wide, then dark and narrow, with all that it folds away unfolded."""
    live(page)
    page.evaluate(UNFOLD)
    page.set_viewport_size(PHONE)
    fits(page)
    assert all(one.is_visible() for one in page.locator(".plot .tick").all()[:1]), page.url
    assert page.evaluate(SMALL, PRESSED) == [], page.url
    page.set_viewport_size(WIDE)
    fits(page)
    page.evaluate(SHORTER)
    check(page)
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size(PHONE)
    check(page)


Readers: TypeAlias = tuple[Visits, dict[str, Page]]
"""What a browser says, and the page of each reader, in which one address follows another."""


@pytest.fixture(scope="module")
def readers(chromium: Browser) -> Iterator[Readers]:
    visits = Visits(chromium)
    yield visits, {}
    visits.close()


@pytest.mark.parametrize(("who", "path"), PAGES)
def test_everybody_can_use(request, readers, who, path):
    hub = request.getfixturevalue("empty" if who == "first organiser" else "full")
    for place, address in getattr(hub, "places", {}).items():
        path = path.replace(place, address)
    visits, pages = readers
    if who not in pages:
        pages[who] = (
            first_signed_in(hub, visits) if who == "first organiser"
            else signed_in(hub, visits, "/docs", hub.tokens[who]) if who != "anybody"
            else visits.open(f"{hub.url}/docs")
        )  # fmt: skip
    page = pages[who]
    visits.problems.clear()
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(WIDE)
    page.goto(f"{hub.url}{path}")
    everybody_can_use(page)
    assert [said for said in visits.problems if "404" not in said] == []


def wrong_token(page: Page) -> None:
    page.get_by_label("Token").fill("wrong")
    page.locator("main button").click()
    expect(page.locator("[aria-invalid=true]")).to_be_visible()


def wrong_name(page: Page) -> None:
    page.get_by_role("textbox", name="Name", exact=True).fill("a b")
    page.get_by_role("button", name="Add the team").click()
    expect(page.locator("[aria-invalid=true]")).to_be_visible()


def a_secret(page: Page) -> None:
    page.get_by_role("button", name=re.compile("Make a (token|key)")).click()
    expect(page.locator("#secret, #key").first).to_be_visible()


def a_preview(page: Page) -> None:
    other = (DEMO / "gold_act.tsv").read_bytes().replace(b"\t1", b"\t0", 1)
    given: FilePayload = {"name": "gold.tsv", "mimeType": "text/plain", "buffer": other}
    page.get_by_label("Gold file").set_input_files(given)
    page.get_by_role("button", name="Show what it changes").click()
    expect(page.get_by_role("button", name="Set it as version")).to_be_visible()


def a_refusal(page: Page) -> None:
    page.get_by_role("button", name=f"Start blue-2 in {MARKUP}").click()
    expect(page.get_by_role("alert")).to_be_visible()


def a_choice(page: Page) -> None:
    expect(page.locator("#list-INT > li").first).to_be_focused()
    page.keyboard.press("o")
    expect(page.get_by_role("dialog")).to_be_visible()


def the_menu(page: Page) -> None:
    """Open the menu of a phone by the keyboard."""
    page.set_viewport_size(PHONE)
    press(page, "button", "Menu")
    expect(page.get_by_role("link", name="Organise", exact=True)).to_be_visible()


STATES: dict[Callable[[Page], None], tuple[str, str]] = {
    wrong_token: ("anybody", "/signin"), wrong_name: ("organiser", "/organise/teams"),
    a_secret: ("organiser", "/organise/teams/blue"),
    a_preview: ("organiser", "/organise/phases/test/gold/ACT"),
    a_refusal: ("team", "/team/servers"), a_choice: ("curator", "ARTICLE"),
    the_menu: ("organiser", "/organise"),
}  # fmt: skip
"""What comes of an act on a page, and the page."""


@pytest.mark.parametrize("act", STATES, ids=lambda act: act.__name__)
def test_everybody_can_use_what_follows_an_act(full, visits, act):
    who, path = STATES[act]
    path = path.replace("ARTICLE", full.places["ARTICLE"])
    page = (
        signed_in(full, visits, path, full.tokens[who]) if full.tokens[who]
        else visits.open(f"{full.url}{path}")
    )  # fmt: skip
    act(page)
    everybody_can_use(page)
    visits.problems = [said for said in visits.problems if "status of 4" not in said]


MANY = [f"Server {number}" for number in range(150)]
MADE_UP = {
    "monitor": ("/monitor", None), "monitor, empty": ("/monitor", []),
    "monitor, many": ("/monitor?sort=-p95", MANY), "board, many": ("/board/INT?rows=101", MANY),
    "board, sorted": ("/board/ACT?sort=run", None), "board, empty": ("/board/INT", []),
    "board, chosen": ("/board/INT?view=mapped&show=best", None),
    "board without curves": ("/board/NER", None), "board, hidden": ("/board/INT", None),
    "articles": ("/board/INT/articles?sort=-mean", None),
    "articles, none yet": ("/board/ACT/articles", []),
    "articles without levels": ("/board/NER/articles", None), "frozen": ("/b/k7Q2", None),
    "quality and cost": ("/board/INT?chart=all", None),
    "board, embedded": ("/board/INT/embed?show=best", None),
}  # fmt: skip


@pytest.mark.parametrize("shown", MADE_UP)
def test_everybody_can_use_the_pages_of_a_challenge(make_site, visits, shown):
    path, names = MADE_UP[shown]
    site = make_site(names)
    site.source.freeze("k7Q2", TaskName("INT"))
    if shown == "board, hidden":
        site.source.hidden, site.source.note = "They are shown when the phase ends.", "A note."
    if shown == "quality and cost":
        site.declare()
    everybody_can_use(visits.open(f"{site.url}{path}"))
