"""The tutorial in the browser goes as it is written."""

from pathlib import Path

import pytest

from tests.browser.conftest import Visits
from tests.browser.tutorial import DOCUMENT, walk


@pytest.mark.nightly
def test_the_tutorial_in_the_browser(visits: Visits, tmp_path: Path) -> None:
    shown: list[str] = []
    walk(tmp_path, visits, lambda _page, name: shown.append(f"](img/{name}.png)"))
    text = DOCUMENT.read_text("utf-8")
    assert [picture for picture in shown if picture not in text] == []
    assert text.count("](img/") == len(shown)
