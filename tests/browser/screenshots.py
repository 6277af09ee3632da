"""Screenshots of the README and the docs, made again by `make screenshots`; CI does not run it."""

import io
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from metaserver.config import CurationSettings
from scoring import Task
from scoring.consensus import ConsensusModel, Member
from scoring.consensus.model_files import write_model
from tests.browser.conftest import Site, Visits
from tests.browser.console import NOBODY, BlueHub, JourneyHub, OrganisedHub, SlowHub
from tests.browser.curating import CuratorHub, article, asked
from tests.browser.test_curation_sets import SetHub, visit
from tests.browser.test_organiser import written
from tests.browser.test_team import GOOD, WRONG, choose
from tests.browser.tutorial import walk
from tests.browser.visiting import live, signed_in
from tests.hubs.command import DEMO
from tests.hubs.thread import HubThread
from tests.integration.test_control_room import ANSWERED
from tests.shared import ROOT

IMAGES = ROOT / "docs" / "img"
PAGE = {
    "description": "Find the **proteins** that an article says interact, as curators of"
    " interaction databases do.\n\nThree tasks: classify articles (ACT), name the interactors"
    " (INT), name the pairs (IPT).",
    "evaluation": "By AUC iP/R over all articles; a run has to answer 90 % of them for a place.",
    "rules": "No person may read the test articles before the freeze.",
    "contact": "<ana@example.org>", "sign_up": "approve", "terms": "", "terms_version": "",
}  # fmt: skip
NEWS = "Articles and gold of the training phase can be downloaded now."
MADE_UP = {
    "monitor": ("/monitor", "light", 900), "monitor-dark": ("/monitor", "dark", 900),
    "leaderboard": ("/board/INT", "light", 1000), "leaderboard-dark": ("/board/INT", "dark", 1000),
    "articles": ("/board/ACT/articles", "light", 760),
}  # fmt: skip
ATTEMPT = "/team/servers/blue-1/attempts/sample03/1?phase=test"
TEAM = {
    "team": ("/team/servers", "light", 860),
    "attempt": (f"{ATTEMPT}#answer.normalizations%5B3%5D.confidence", "dark", 1180),
}


@pytest.fixture
def hub(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[HubThread]:
    """A hub of the class that a test names."""
    with request.param(tmp_path) as hub:
        yield hub


def of(kind: Callable[[Path], HubThread]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("hub", [kind], indirect=True)


def sized(height: int, scheme: str = "light", width: int = 1360) -> dict[str, object]:
    return {"viewport": {"width": width, "height": height}, "color_scheme": scheme}


def keep(page: Page, name: str, *, top: bool = True) -> None:
    live(page)
    if top:
        page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=IMAGES / f"{name}.png")


@pytest.mark.parametrize("name", MADE_UP)
def test_a_made_up_challenge(site: Site, visits: Visits, name: str) -> None:
    path, scheme, height = MADE_UP[name]
    for team, skill in ((10, 0.7), (42, 0.5), (51, 0.62)):
        site.do(site.source.upload(f"Team {team} · R01", skill))
    keep(visits.open(f"{site.url}{path}", **sized(height, scheme)), name)


def front_door(hub: JourneyHub) -> None:
    """Give the hub's challenge its texts."""
    challenge = {"challenge": "bc"}
    hub.ask("challenges.set", **challenge, title="BioCreative 2026", timezone="Europe/Madrid")
    hub.ask("challenges.edit", **challenge, **PAGE)
    hub.ask("challenges.announce", **challenge, title="Training data", text=NEWS)


@of(JourneyHub)
def test_the_page_of_a_challenge(hub: JourneyHub, visits: Visits) -> None:
    front_door(hub)
    keep(visits.open(f"{hub.url}/c/bc", **sized(760)), "challenge")


@of(BlueHub)
def test_results_and_an_upload(hub: BlueHub, visits: Visits, tmp_path: Path) -> None:
    hub.ask("challenges.set", challenge="bc", title="BioCreative 2026", timezone="Europe/Madrid")
    hub.ask("phases.update", phase="test", title="Training phase", visibility="own")
    for server in ("blue-1", "blue-2"):
        hub.answered(server)
    hub.ask_as_team("runs.upload", phase="test", task="INT", run="blue-file", content=GOOD.encode())
    page = signed_in(hub, visits, **sized(900))
    expect(page.locator("#results")).to_contain_text("blue-file")
    keep(page, "results")
    page.goto(f"{hub.url}/team/upload")
    choose(page, tmp_path, WRONG)
    expect(page.locator("#looked")).to_contain_text("would be refused")
    keep(page, "upload")
    visits.problems.clear()


@pytest.mark.parametrize("name", TEAM)
@of(BlueHub)
def test_a_team_console(hub: BlueHub, visits: Visits, name: str) -> None:
    path, scheme, height = TEAM[name]
    hub.tested("blue-1")
    hub.ask_as_team("servers.register", server="blue-2", url=NOBODY)
    hub.ask_as_team("servers.test", server="blue-2")
    hub.ask_as_team("servers.register", server="blue-3", url=NOBODY)
    hub.annotator.wrong, hub.annotator.enough = True, 11
    hub.ask_as_team("servers.start", server="blue-1")
    watch = hub.running.service.phase("test").boards.server_monitor
    hub.do(hub.running.until(lambda: watch.status("blue-1").done == hub.annotator.enough))
    page = live(signed_in(hub, visits, "/team/servers", **sized(height, scheme)))
    page.goto(f"{hub.url}{path}")
    keep(page, name)
    hub.wait(held=False)


@of(OrganisedHub)
def test_an_organisers_overview_and_gold(hub: OrganisedHub, visits: Visits, tmp_path: Path) -> None:
    hub.at_work()
    keep(signed_in(hub, visits, "/organise", **sized(900)), "organise")
    page = signed_in(hub, visits, "/organise/phases/test/gold/ACT", **sized(660, "dark"))
    page.get_by_label("Gold file").set_input_files(hub.other_gold(tmp_path))
    page.get_by_role("button", name="Show what it changes").click()
    expect(page.get_by_role("region", name="Runs")).to_be_visible()
    keep(page, "gold", top=False)


@of(SlowHub)
def test_a_phase_that_will_miss_its_deadline(hub: SlowHub, visits: Visits, tmp_path: Path) -> None:
    articles = Path(shutil.make_archive(str(tmp_path / "articles"), "zip", DEMO / "articles"))
    hub.ask("challenges.set", challenge="bc", title="BioCreative 2026")
    hub.ask("teams.create", team="blue")
    hub.ask("corpora.import", corpus="news", content=articles.read_bytes(), source=articles.name)
    hub.ask(
        "phases.create", challenge="bc", phase="week", title="Test week", corpus="news@1",
        release="test", tasks=("ACT",), opens="2021-01-01T09:00", freezes=written(ANSWERED + 5),
    )  # fmt: skip
    gold = (DEMO / "gold_act.tsv").read_bytes()
    hub.ask("gold.set", phase="week", task="ACT", content=gold, source="gold_act.tsv")
    hub.work()
    page = signed_in(hub, visits, "/organise/phases/week/watch", **sized(900, "dark"))
    expect(page.locator("#watch-findings")).to_contain_text("blue-1 needs")
    keep(page, "control-room")
    hub.call(hub.slow.more.set)


@pytest.mark.parametrize(
    ("name", "width", "height"), [("curate", 1360, 900), ("curate-phone", 360, 780)]
)
def test_a_curators_page(
    visits: Visits, tmp_path: Path, name: str, width: int, height: int
) -> None:
    by_server = {"blue-1": range(26), "green": range(4, 30), "red-2": [*range(3, 20, 2), 1]}
    model = ConsensusModel(
        task=Task.INT,
        method="stacked",
        members=tuple(Member(name=name, team=name, weights=(1.5, 3.0, 1.0)) for name in by_server),
        bias=-5.0,
        gold="demo",
    )
    write_model(model, tmp_path / "model.json")
    settings = CurationSettings(models={"INT": str(tmp_path / "model.json")})
    with CuratorHub(tmp_path, [*by_server, "grey"], curation=settings) as hub:
        hub.answers(article(), by_server)
        hub.hold("grey")
        page = asked(hub, visits, article(), **sized(height, width=width))
        expect(page.locator("#left")).to_contain_text("3 of 4 servers")
        page.keyboard.press("g")  # takes in what came after the page was opened
        expect(page.locator("#list-INT > li")).to_have_count(30)
        for key in "aaxjane":
            page.keyboard.press(key)
        expect(page.locator("#told")).to_contain_text("Saved")
        keep(page, name, top=False)
        page.close()
        hub.let_go("grey")


@of(SetHub)
def test_rulings(hub: SetHub, visits: Visits) -> None:
    hub.do(hub.decided("round-1"))
    page = visit(hub, visits, "judge", "/curate/sets/round-1", **sized(640, width=1100))
    page.get_by_role("link", name="Disagreements on INT").click()
    first = page.locator(".rulings > li").first
    expect(first).to_be_focused()  # the page takes keys from now on
    page.keyboard.press("2")
    expect(first).not_to_have_attribute("data-ruling", "")
    keep(page, "rulings", top=False)


def test_the_tutorial(visits: Visits, tmp_path: Path) -> None:
    """Its pictures have 64 colours, so that each is small."""

    def keep_small(page: Page, name: str) -> None:
        page.wait_for_timeout(1_000)
        picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        picture.quantize(64, dither=Image.Dither.NONE).save(IMAGES / f"{name}.png", optimize=True)

    walk(tmp_path, visits, keep_small)
