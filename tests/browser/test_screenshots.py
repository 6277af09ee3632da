"""Screenshots of the README and the docs; they are stored only on request.

`SCREENSHOTS=1` keeps those of the tests' made-up challenge, `SCREENSHOTS=http://127.0.0.1:8000`
those of a running hub: `SCREENSHOTS=1 pytest tests/browser/test_screenshots.py`.
"""

import os

import pytest
from playwright.sync_api import expect

from tests.shared import ROOT

ASKED = os.environ.get("SCREENSHOTS", "")
SHOTS = {
    "monitor": ("/monitor", "light", 900),
    "monitor-dark": ("/monitor", "dark", 900),
    "leaderboard": ("/board/INT", "light", 1000),
    "leaderboard-dark": ("/board/INT", "dark", 1000),
    "articles": ("/board/ACT/articles", "light", 760),
}


def made_up(site):
    """Return the address of the made-up challenge, some of whose teams sent files as well."""
    for team, skill in ((10, 0.7), (42, 0.5), (51, 0.62)):
        site.do(site.source.upload(f"Team {team} · R01", skill))
    return site.url


@pytest.mark.parametrize("name", SHOTS)
def test_screenshot(request, tmp_path, name):
    path, scheme, height = SHOTS[name]
    hub = ASKED if ASKED.startswith("http") else made_up(request.getfixturevalue("site"))
    page = request.getfixturevalue("visits").open(  # closed before the site
        f"{hub}{path}", color_scheme=scheme, viewport={"width": 1360, "height": height}
    )
    if page.locator("#live").count():
        expect(page.locator("#live")).to_have_text("live")
    folder = ROOT / "docs" / "img" if ASKED else tmp_path
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"{name}.png")
    assert (folder / f"{name}.png").stat().st_size > 10_000
