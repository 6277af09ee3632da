"""The chart of quality against cost: on any screen, in the dark, while the board is live."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from metaserver.model.usage import RunUsage
from tests.browser.test_accessibility import violations
from tests.waiting import PATIENCE

RUNS = ("Team 7 · S01", "Team 13 · S04", "Team 18 · S07")
"""Runs of INT; the last one is below the least coverage."""


def declare(site, **costs):
    """Have runs of INT declare what their answers took."""
    site.source.usages = {
        run: RunUsage(
            articles=61, tokens_in=4_000.0, tokens_out=250.0, cost=cost, currency="USD", priced=61
        )
        for run, cost in zip(RUNS, costs.values(), strict=True)
    }


@pytest.mark.parametrize("scripts", [True, False])
def test_the_chart_has_its_runs_and_its_table(site, visits, scripts):
    declare(site, one=0.002, two=0.05, three=1.2)
    page = visits.open(f"{site.url}/board/INT?chart=all", java_script_enabled=scripts)
    chart = page.locator("#usage")
    expect(chart.get_by_role("heading")).to_contain_text("cost, as declared by the teams")
    expect(chart.get_by_role("img")).to_have_attribute(
        "aria-label",
        "AUC iP/R against Cost of an article, USD (declared by the team) of 3 runs; the figures are"
        " in the table below it",
    )
    expect(chart.locator(".plot .point, .plot .dot")).to_have_count(3)
    expect(chart.locator("tbody tr")).to_have_count(3)
    chart.locator("summary").click()
    expect(chart.locator("table")).to_be_visible()
    expect(chart.locator("table")).to_contain_text("0.002 USD")
    expect(page.locator('#runs td[data-label="Cost"]').first).to_be_visible()


def test_axe_finds_nothing_and_nothing_is_cut_off(site, visits):
    declare(site, one=0.002, two=0.05, three=1.2)
    page = visits.open(f"{site.url}/board/INT")
    page.locator("#usage summary").click()
    assert violations(page) == []
    page.set_viewport_size({"width": 360, "height": 780})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_chart_comes_when_a_run_declares_something(site, visits):
    page = visits.open(f"{site.url}/board/INT")
    expect(page.locator("#usage svg")).to_have_count(0)
    declare(site, one=0.002, two=0.05, three=1.2)
    site.do(site.source.step())
    expect(page.locator("#usage svg.plot")).to_have_count(1, timeout=1000 * PATIENCE)
