"""docs/tutorial-browser.md, walked: its commands are typed, and its links and buttons followed."""

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.conftest import Visits
from tests.browser.visiting import live
from tests.docs.transcript import Session, replay
from tests.shared import ROOT

DOCUMENT = ROOT / "docs" / "tutorial-browser.md"
SIZE = {"viewport": {"width": 1120, "height": 660}}
NAMED = set(re.findall(r"\*\*(.+?)\*\*", DOCUMENT.read_text("utf-8")))


def follow(page: Page, *names: str) -> None:
    """Follow links that the document names, one after the other."""
    for name in names:
        assert name in NAMED, name
        page.get_by_role("link", name=name).first.click()


def press(page: Page, name: str) -> None:
    """Press a button that the document names."""
    assert name in NAMED, name
    page.get_by_role("button", name=name).first.click()


def walk(folder: Path, visits: Visits, keep: Callable[[Page, str], None]) -> None:
    """Do all of the document, and hand over each page of which it has a picture."""
    with Session.begun(folder) as session:
        replay(DOCUMENT, session)
        hub = f"http://127.0.0.1:{session.ports['8020']}"
        ana = visits.open((folder / "hub.log").read_text("utf-8").split()[-1], **SIZE)
        press(ana, "Sign in and show the token")
        follow(ana, "To the organiser console", "Make one from a bundle")
        ana.get_by_label("Or one that ships").select_option("interactions")
        press(ana, "Make it")
        expect(ana.locator("main")).to_contain_text("3 articles")
        ana.get_by_role("heading", name="Challenges and phases").evaluate(
            "one => one.scrollIntoView()"
        )
        keep(ana, "tutorial-console")
        follow(ana, "Training", "Open…")
        press(ana, "Open it now")

        blue = visits.open(f"{hub}/c/interactions", **SIZE)
        follow(blue, "Sign up")
        for label, text in (
            ("Team", "blue"),
            ("People", "Ada Blue"),
            ("E-mail", "ada@example.org"),
        ):
            blue.get_by_label(label).fill(text)
        press(blue, "Sign up")
        follow(ana, "Organise", "Sign-ups")
        press(ana, "Approve")
        press(ana, "Hand out a link")
        [link] = re.findall(rf"{hub}/sign-up/link/\w+", ana.locator("main").inner_text())
        keep(ana, "tutorial-sign-ups")
        blue.goto(link)
        press(blue, "Sign in and show the token")
        follow(blue, "To the team console")

        for link, name, port in (
            ("Register it", "blue-1", "8101"),
            ("Register a server", "blue-2", "8102"),
        ):
            follow(blue, link)
            blue.get_by_label("Name").first.fill(name)
            blue.get_by_label("URL").first.fill(f"http://127.0.0.1:{session.ports[port]}/")
            press(blue, "Register and test it")
            expect(blue.locator("main")).to_contain_text("test passed")
            if name == "blue-1":
                keep(blue, "tutorial-test")
            follow(blue, "Servers of team blue")
        for name in ("blue-1", "blue-2"):
            press(blue, "Start")
            expect(blue.get_by_role("region", name=name)).to_contain_text("3/3 done")
            expect(blue.locator("[data-act]")).to_have_attribute(
                "data-act", ""
            )  # takes presses again
        follow(blue, "My results")
        expect(blue.locator("main")).to_contain_text("of 2")
        keep(blue, "tutorial-results")
        blue.get_by_role("link", name=re.compile(r"^INT\b")).click()
        expect(blue.locator("main")).to_contain_text("[1.00, 1.00]")
        keep(blue, "tutorial-board")

        follow(ana, "Organise", "Training", "Freeze…")
        expect(ana.locator("main")).to_contain_text("Nothing: no server has an article left.")
        press(ana, "Freeze it now")
        follow(ana, "Publish results…")
        while not ana.get_by_role("button", name="Publish the results").count():
            ana.reload()  # the boards are being kept
        press(ana, "Publish the results")
        blue.goto(f"{hub}/results/interactions")
        expect(live(blue).locator("main")).to_contain_text("blue-1")
        keep(blue, "tutorial-published")
        visits.close()
