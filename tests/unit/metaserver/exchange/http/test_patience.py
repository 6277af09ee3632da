"""Waits of a busy server's `Retry-After`, in both forms and in invalid ones."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from metaserver.exchange.protocols.polling import requested_wait

DATE = "Sun, 06 Nov 1994 08:49:37 GMT"


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 7.0),
        ("007", 7.0),
        (" 7 ", 7.0),
        ("2.5", 2.5),
        ("0", 1.0),
        ("0.001", 1.0),
        ("9" * 40, float("9" * 40)),
        ("Sun, 06 Nov 1994 08:50:07 GMT", 30.0),
        ("Sunday, 06-Nov-94 08:50:07 GMT", 30.0),
        ("Sun Nov  6 08:50:07 1994", 30.0),
        ("Sun, 06 Nov 1994 08:50:07 -0000", 30.0),
        ("Sun, 06 Nov 1994 09:50:07 +0100", 30.0),
        ("Sun, 06 Nov 1994 08:00:00 GMT", 1.0),
    ],
)
def test_retry_after_is_a_number_or_a_date(status: int, text: str, seconds: float) -> None:
    assert requested_wait(status, {"Retry-After": text, "Date": DATE}) == seconds


@pytest.mark.parametrize(
    "text",
    ["", "soon", "-1", "+1", "1e9", "inf", "nan", "1 2", "0x10", "٧", "1,5", "9" * 41, "1" * 8_000,
     "Sun, 99 Nov 1994 08:50:07 GMT", "Sun, 06 Nov 99999999 08:50:07 GMT", " ", "\x00",
     "Sun, 06 Nov 0000 00:00:00 +9999", ", " * 20, "Mon" * 13, "1994-11-06T08:50:07Z"],
)  # fmt: skip
def test_an_invalid_retry_after_is_ignored(text: str) -> None:
    assert requested_wait(503, {"Retry-After": text}) is None


@pytest.mark.parametrize("status", [200, 301, 400, 404, 500, 502, 504])
def test_other_statuses_do_not_ask(status: int) -> None:
    assert requested_wait(status, {"Retry-After": "7"}) is None


def test_nothing_asked_is_nothing_heeded() -> None:
    assert requested_wait(503, {}) is None


@pytest.mark.parametrize("date", [None, "soon", "x" * 8_000])
def test_a_date_without_the_servers_own_is_compared_with_our_clock(date: str | None) -> None:
    until = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    wait = requested_wait(429, {"Retry-After": until} | ({"Date": date} if date else {}))
    assert 3_000 < wait <= 3_600
