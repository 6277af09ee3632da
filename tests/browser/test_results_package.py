"""Results packages in a browser: made, watched and fetched; the report on any screen."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.conftest import Visits
from tests.browser.test_organiser_console import OrganisedHub, check, hub, signed_in  # noqa: F401
from tests.waiting import PATIENCE

SCREENS = {"desktop": (1360, 900), "phone": (360, 720)}


def freeze(hub: OrganisedHub) -> None:  # noqa: F811
    hub.ask("phases.update", phase="test", ranking={"min_coverage": 0.0})  # one article is enough
    hub.at_work()
    hub.ask("phases.freeze", phase="test")


@pytest.mark.slow
def test_a_package_is_made_and_its_report_is_read(
    hub: OrganisedHub,  # noqa: F811
    visits: Visits,
    tmp_path: Path,
) -> None:
    freeze(hub)
    page = signed_in(hub, visits, "/organise/phases/test")
    page.get_by_role("link", name="Results package").click()
    page.wait_for_url("**/results")
    expect(page.locator("#package")).to_contain_text("No package yet")
    check(page, page.viewport_size["width"] if page.viewport_size else 1280)
    page.get_by_role("button", name="Make the package").click()
    link = page.get_by_role("link", name="Download the package")
    expect(link).to_be_visible(timeout=1000 * PATIENCE)
    check(page, page.viewport_size["width"] if page.viewport_size else 1280)
    with page.expect_download() as fetched:
        link.click()
    assert fetched.value.suggested_filename == "results-test.zip"
    with zipfile.ZipFile(fetched.value.path()) as package:
        package.extractall(tmp_path)
    for scheme in ("light", "dark"):
        for width, height in SCREENS.values():
            viewport = {"width": width, "height": height}
            report = visits.open(
                (tmp_path / "report.html").as_uri(), color_scheme=scheme, viewport=viewport
            )
            for details in report.locator("details").all():
                details.evaluate("element => element.open = true")
            found = [one["id"] for one in Axe().run(report).response["violations"]]
            assert found == []
            assert report.evaluate("document.documentElement.scrollWidth") <= width
            assert report.locator("figure svg").count() > 3
