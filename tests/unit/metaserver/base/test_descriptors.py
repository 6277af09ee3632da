"""Shares of the open files."""

import pytest

from metaserver.base.files import ENOUGH, RESERVED, Descriptors


@pytest.mark.parametrize("allowed", [1, 64, RESERVED, 128, 256, 1_024, ENOUGH, 2**20])
def test_planned_requests_fit(allowed: int) -> None:
    found = Descriptors(allowed)
    assert found.calls >= 1
    assert found.clients >= 1
    if allowed > RESERVED + 3:
        # In flight, as many kept for later, and clients.
        assert RESERVED + 2 * found.calls + found.clients <= allowed


def test_a_shortage_is_reported_with_a_sufficient_limit() -> None:
    message = Descriptors(256).shortage(300)
    assert message is not None
    assert "256 open files are allowed: at most 53 of 300 requests are in flight" in message
    assert "ulimit -n 996" in message
    assert Descriptors(996).shortage(300) is None
    assert Descriptors(256).shortage(53) is None
    assert Descriptors(256).shortage() is not None
    assert Descriptors(ENOUGH).shortage() is None


def test_without_a_bound_there_is_no_shortage() -> None:
    found = Descriptors(None)
    assert (found.calls, found.clients, found.shortage(10**9)) == (None, None, None)
