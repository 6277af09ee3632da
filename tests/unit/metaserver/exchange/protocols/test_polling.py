"""Waits between looks at a job, and the places where a job may be."""

import pytest

from metaserver.base.errors import PeerError
from metaserver.exchange.protocols.polling import LEAST, MOST, Pauses, job_address, retry_after


def test_pauses_grow_unless_the_server_says_another() -> None:
    pauses = Pauses()
    assert [pauses.next({}) for _ in range(5)] == [1.0, 2.0, 4.0, 8.0, MOST]
    assert pauses.next({"Retry-After": "30"}) == 30.0
    assert pauses.next({"Retry-After": "0"}) == LEAST
    assert pauses.next({}, 7) == 7.0
    assert pauses.next({}, "soon") == MOST
    assert Pauses().next({}, float("nan")) == 1.0


def test_a_date_is_compared_with_the_servers_clock() -> None:
    date = "Wed, 21 Oct 2015 07:28:00 GMT"
    later = "Wed, 21 Oct 2015 07:28:30 GMT"
    assert retry_after({"Date": date, "Retry-After": later}) == 30.0
    assert retry_after({"Date": later, "Retry-After": date}) == 0.0
    assert retry_after({"Retry-After": "x" * 50}) is None


HERE = "https://a.example/annotate"


@pytest.mark.parametrize(
    ("location", "place"),
    [
        ("/jobs/1", "https://a.example/jobs/1"),
        ("jobs/1", "https://a.example/jobs/1"),
        ("https://a.example:443/x", "https://a.example/x"),
        ("https://b.example/x", "https://b.example/x"),
    ],
)
def test_a_job_may_be_at_known_origins(location: str, place: str) -> None:
    assert job_address(location, HERE, HERE, ["https://b.example"]) == place


@pytest.mark.parametrize(
    "location",
    [
        None, "", 7, "http://a.example/x", "https://a.example:444/x", "https://user@a.example/x",
        "//c.example/x", "https://a.example.c.example/x", "ftp://a.example/x", "file:///etc/passwd",
        "http://[::1", "/" + "x" * 3_000, "http://169.254.169.254/latest",
    ],
)  # fmt: skip
def test_a_job_may_be_nowhere_else(location: object) -> None:
    with pytest.raises(PeerError):
        job_address(location, HERE, HERE, ["https://b.example"])
