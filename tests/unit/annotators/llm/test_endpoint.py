"""Waits and budgets of the endpoint; tests/integration/test_llm.py has its faults."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from annotators.llm.endpoint import Budget, retry_after
from annotators.llm.errors import BudgetError


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("", 0),
        ("2", 2),
        (" 30 ", 30),
        ("9" * 400, 10**6),
        ("-1", 0),
        ("soon", 0),
        ("1.5", 1.5),
        ("1.5e9", 0),
        ("²", 0),
    ],
)
def test_seconds_to_wait(value: str, seconds: float) -> None:
    assert retry_after(value) == seconds


def test_a_date_to_wait_for() -> None:
    now = datetime.now(UTC)
    assert 50 < retry_after(format_datetime(now + timedelta(seconds=60), usegmt=True)) <= 60
    assert retry_after(format_datetime(now - timedelta(days=1))) == 0
    assert retry_after("Mon, 01 Jan 99999 00:00:00 GMT") == 0


def test_what_is_set_aside_counts_until_it_is_settled() -> None:
    budget = Budget(100)
    budget.reserve(60)
    with pytest.raises(BudgetError, match="0 of 100"):
        budget.reserve(50)
    budget.settle(60, 10)
    budget.reserve(90)
    with pytest.raises(BudgetError, match="10 of 100"):
        budget.reserve(1)


def test_no_budget_is_no_limit() -> None:
    budget = Budget(0)
    budget.reserve(10**12)
    assert not budget.used
