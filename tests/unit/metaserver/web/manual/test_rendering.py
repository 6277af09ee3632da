"""The documentation as pages: links, anchors, parts that scroll."""

import re
from functools import cache
from pathlib import Path

import pytest

from metaserver.web.manual.library import (
    PREFIX,
    STATUSES,
    Library,
    address_of,
    help_of_error,
    help_of_fault,
    library,
)
from metaserver.web.manual.rendering import doors, render
from tests.shared import ROOT

KNOWN = library()


@cache
def anchors(url: str) -> set[str]:
    return set(re.findall(r' id="([^"]+)"', render(KNOWN, url).body))


def small(folder: Path, **pages: str) -> Library:
    """Return documentation with these pages; `README` is the front page."""
    for name, text in pages.items():
        path = folder / "docs" / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Library.of(folder)


@pytest.mark.parametrize("url", KNOWN.pages)
def test_every_link_of_a_page_leads_to_a_page_a_file_or_another_site(url: str) -> None:
    body = render(KNOWN, url).body
    for link in re.findall(r'(?:href|src)="([^"]*)"', body):
        page, _, anchor = link.partition("#")
        if "://" not in link:
            assert page in ("", *KNOWN.pages, *KNOWN.files), link
            assert not anchor or anchor in anchors(page or url), link


def test_every_page_is_reached_from_the_front() -> None:
    reached = {address for door in doors(KNOWN) for _, address in door.links}
    records = {url for url in KNOWN.pages if url.startswith(f"{PREFIX}/adr/")}
    assert set(KNOWN.pages) - reached - records == {PREFIX}
    assert {url for _, url in KNOWN.below(f"{PREFIX}/adr")} == records


def test_a_page_has_its_title_and_headings(tmp_path: Path) -> None:
    text = "# A `title`\n\n## One\n\n```sh\n# no heading\n```\n\n## One\n\n### Three & more\n"
    page = render(small(tmp_path, README="# Front\n", one=text), "/docs/one")
    assert (page.title, page.headings) == ("A title", [("One", "one"), ("One", "one-1")])
    assert '<h3 id="three--more">Three &amp; more</h3>' in page.body


def test_links_lead_to_addresses_of_the_hub_and_to_the_source_not_at_all(tmp_path: Path) -> None:
    text = (
        "[two](two.md#part) [self](#here) [front](README.md) [code](../metaserver/x.py) "
        "[far](https://example.org/) [**bold** code](../Makefile)\n"
    )
    known = small(tmp_path, README="# Front\n", one=text, two="# Two\n")
    assert render(known, "/docs/one").body == (
        '<p><a href="/docs/two#part">two</a> <a href="#here">self</a> <a href="/docs">front</a> '
        'code <a href="https://example.org/">far</a> <strong>bold</strong> code</p>\n'
    )


def test_a_link_that_shows_a_file_shows_its_title(tmp_path: Path) -> None:
    known = small(tmp_path, README="# Front\n", one="[two.md](two.md)\n", two="# Two of `them`\n")
    assert '<a href="/docs/two">Two of them</a>' in render(known, "/docs/one").body


def test_markup_in_a_page_is_text(tmp_path: Path) -> None:
    known = small(tmp_path, README="# Front\n", one="<script>alert(1)</script>\n\n`<b>`\n")
    assert "<script" not in render(known, "/docs/one").body


def test_tables_and_code_scroll_by_themselves(tmp_path: Path) -> None:
    known = small(tmp_path, README="# Front\n", one="|a|\n|-|\n|1|\n\n```\ncode\n```\n\n    more\n")
    body = render(known, "/docs/one").body
    assert body.count('role="group"') == 3
    assert body.count("<div") == body.count("</div>") == 3


def test_an_empty_header_of_a_column_is_a_plain_cell(tmp_path: Path) -> None:
    known = small(tmp_path, README="# Front\n", one="|a||\n|-|-|\n|1|2|\n")
    assert "<th>a</th>\n<td></td>" in render(known, "/docs/one").body


def test_each_page_of_the_hub_is_explained() -> None:
    pages = (ROOT / "metaserver").glob("*/templates/*.html")
    places = [help_of_error(status) for status in (*STATUSES, 404)]
    for path in pages:
        text = path.read_text("utf-8")
        if "extends" in text and path.stem not in ("error", "manual"):
            [place] = re.findall(r'^{% set help = "(.*)" %}$', text, re.MULTILINE)
            places.append(place)
    for url in [*map(address_of, places), help_of_fault(-1), help_of_fault(404)]:
        page, _, anchor = url.partition("#")
        assert not anchor or anchor in anchors(page), url
        assert page in KNOWN.pages, url
