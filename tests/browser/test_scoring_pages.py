"""Pages of `scoring plot --html`: opened from a file, without network."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from scoring import pages
from scoring.charts import Chart, Panel, Scale, Series


@pytest.mark.slow
def test_a_page_draws_itself_without_network(chromium: Browser, tmp_path: Path) -> None:
    panel = Panel(
        x=Scale(label="minutes", low=0.1, high=20.0, logarithmic=True),
        y=Scale(label="recall", low=0.0, high=1.0),
        series=[
            Series(name="run1", x=[0.2, 1.0], y=[0.1, 0.4], style=0),
            Series(name="points", x=[5.0], y=[0.5], kind="points", style=1, ends=[(0.4, 0.6)]),
            Series(name="grey", x=[0.2, 1.0], y=[0.0, 0.2]),
        ],
    )
    pages.save(Chart(title="A < B", signature="s", panels=[panel, panel]), tmp_path / "p.html")
    context = chromium.new_context(offline=True)
    page = context.new_page()
    problems: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto((tmp_path / "p.html").as_uri())
    page.wait_for_selector(".main-svg")
    assert page.title() == "A < B"
    legend = page.locator(".legendtext").all_text_contents()
    assert legend == ["run1", "points", "grey"]
    assert problems == []
    assert [url for url in requests if not url.startswith("data:")] == [page.url]
    context.close()
