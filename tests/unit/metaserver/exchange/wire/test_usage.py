"""What an answer declares in `meta`: read within bounds, never a reason to drop a hit."""

import pytest

from metaserver.base.usage import CURRENCIES, DeclaredUsage, UsageTotals
from metaserver.exchange.wire.contract import MOST_TOKENS, Report, read_usage
from metaserver.exchange.wire.validation import check
from tests.fakes.vocabulary import FakeVocabulary


def test_tokens_cost_and_model_are_read() -> None:
    report = Report()
    declared = {
        "model": "m\n1", "prompt": "abc", "requests": 2, "tokens_in": 900, "tokens_out": 100,
        "cost": 0.25, "currency": "EUR", "seconds": 1.5, "dropped": 3,
    }  # fmt: skip
    assert read_usage(declared, report) == DeclaredUsage(
        tokens_in=900, tokens_out=100, cost=0.25, currency="EUR", model="m 1", prompt="abc",
        requests=2,
    )  # fmt: skip
    assert not report.problem_count


@pytest.mark.parametrize(
    ("declared", "path"),
    [
        ([1, 2], "meta"),
        ({"tokens_in": -1}, "meta.tokens_in"),
        ({"tokens_in": MOST_TOKENS + 1}, "meta.tokens_in"),
        ({"tokens_in": "many"}, "meta.tokens_in"),
        ({"tokens_out": [1]}, "meta.tokens_out"),
        ({"cost": float("nan"), "currency": "USD"}, "meta.cost"),
        ({"cost": float("inf"), "currency": "USD"}, "meta.cost"),
        ({"cost": -0.1, "currency": "USD"}, "meta.cost"),
        ({"cost": 1.0}, "meta.cost"),
        ({"cost": 1.0, "currency": "usd"}, "meta.cost"),
        ({"cost": 1.0, "currency": "USD\n"}, "meta.cost"),
        ({"cost": 1.0, "currency": 7}, "meta.cost"),
        ({"model": {"a": 1}}, "meta.model"),
    ],
)
def test_what_cannot_be_right_is_left_out_with_a_note(declared: object, path: str) -> None:
    checked = check({"meta": declared}, [], FakeVocabulary.of_everything())
    assert checked.outcome == "ok"
    assert checked.usage is None
    assert [problem.path for problem in checked.problems] == [path]


def test_long_names_are_cut() -> None:
    found = read_usage({"model": "m" * 10_000}, Report())
    assert len(found.model) == 100


def test_means_are_of_the_articles_that_declare_something() -> None:
    totals = UsageTotals()
    assert totals.of_run("USD") is None
    totals.add(DeclaredUsage(tokens_in=100, tokens_out=10, cost=0.5, currency="USD"))
    totals.add(DeclaredUsage(tokens_in=300, cost=2.0, currency="EUR"))
    totals.add(DeclaredUsage(model="m"))
    found = totals.of_run("USD")
    assert (found.articles, found.tokens_in, found.tokens_out) == (3, 200.0, 10.0)
    assert (found.cost, found.currency, found.priced, found.tokens) == (0.5, "USD", 1, 210.0)
    other = totals.of_run("CHF")
    assert (other.cost, other.currency, other.tokens) == (None, "", 210.0)


def test_sums_are_kept_and_bounded() -> None:
    totals = UsageTotals()
    for number in range(100):
        currency = f"A{chr(65 + number // 26)}{chr(65 + number % 26)}"
        totals.add(DeclaredUsage(cost=1.0, currency=currency))
    assert len(totals.costs) == CURRENCIES
    kept = totals.copy()
    totals.add(DeclaredUsage(cost=1.0, currency="USD"))
    assert kept != totals
