"""Work in threads: done elsewhere, counted for its request."""

import threading

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from metaserver.web.access.aside import CHARGE, aside
from tests.integration.gated import burn


def charged_request() -> tuple[web.Request, list[float]]:
    """Return a request, and what is charged for it."""
    request, seconds = make_mocked_request("GET", "/"), []
    request[CHARGE] = seconds.append
    return request, seconds


async def test_small_work_is_done_here_and_large_work_in_a_thread() -> None:
    request, seconds = charged_request()
    assert await aside(request, False, threading.get_ident) == threading.get_ident()
    assert not seconds
    assert await aside(request, True, threading.get_ident) != threading.get_ident()
    assert len(seconds) == 1


async def test_what_threads_worked_is_charged_also_where_they_fail() -> None:
    request, seconds = charged_request()

    def fail() -> None:
        burn(0.02)
        raise KeyError("x")

    await aside(request, True, burn, 0.02)
    with pytest.raises(KeyError):
        await aside(request, True, fail)
    assert sum(seconds) >= 0.04
