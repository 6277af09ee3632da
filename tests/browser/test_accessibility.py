"""WCAG 2.2 AA by axe, on every page, light and dark, on a desktop and on a phone."""

from itertools import product

import pytest
from axe_playwright_python.sync_playwright import Axe

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
OPTIONS = {"runOnly": RULES, "resultTypes": ["violations"]}
SIZES = {"desktop": (1360, 900), "phone": (360, 780)}
PAGES = {
    "monitor": ("/monitor", None),
    "monitor, empty": ("/monitor", []),
    "monitor, many": ("/monitor?sort=-p95", [f"Server {number}" for number in range(150)]),
    "board, many": ("/board/INT?rows=101", [f"Server {number}" for number in range(150)]),
    "board": ("/board/INT", None),
    "board, sorted": ("/board/ACT?sort=run", None),
    "board, empty": ("/board/INT", []),
    "board, chosen": ("/board/INT?view=mapped&show=best", None),
    "board without curves": ("/board/NER", None),
    "articles": ("/board/INT/articles?sort=-mean", None),
    "articles, none yet": ("/board/ACT/articles", []),
    "articles without levels": ("/board/NER/articles", None),
    "frozen board": ("/b/k7Q2", None),
    "error": ("/nope", []),
    "docs": ("/docs", []),
    "docs, a page": ("/docs/scoring", []),
    "docs, search": ("/docs?q=frozen+board", []),
}
QUICK = {"monitor", "board", "articles", "error", "docs, a page"}
"""The pages that every run of the tests checks."""


def violations(page, schemes=("light", "dark"), sizes=tuple(SIZES)):
    """Return what axe finds, in each scheme and size."""
    found = []
    for scheme, size in product(schemes, sizes):
        width, height = SIZES[size]
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": height})
        result = Axe().run(page, options=OPTIONS).response
        assert len(result["passes"]) > 10
        found += [(scheme, size, v["id"], v["nodes"][0]["html"]) for v in result["violations"]]
    return found


@pytest.mark.parametrize(
    "shown",
    [pytest.param(shown, marks=[] if shown in QUICK else pytest.mark.slow) for shown in PAGES],
)
def test_axe_finds_nothing(make_site, visits, shown):
    path, names = PAGES[shown]
    site = make_site(names)
    site.source.freeze("k7Q2", "INT")
    assert violations(visits.open(f"{site.url}{path}")) == []
    visits.problems = [told for told in visits.problems if "404" not in told]


def test_axe_finds_nothing_where_scores_are_hidden(site, visits):
    site.source.hidden, site.source.note = "The scores are shown when the phase ends.", "A note."
    page = visits.open(f"{site.url}/board/INT")
    assert violations(page, schemes=["light"], sizes=["desktop"]) == []
