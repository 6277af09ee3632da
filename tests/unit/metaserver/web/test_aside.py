"""Work in threads: done elsewhere, counted for its request."""

from __future__ import annotations

import threading

import pytest
from aiohttp.test_utils import make_mocked_request

from metaserver.web.aside import ASIDE, aside
from tests.integration.gated import burn


async def test_small_work_is_done_here_and_large_work_in_a_thread() -> None:
    request = make_mocked_request("GET", "/")
    assert await aside(request, False, threading.get_ident) == threading.get_ident()
    assert ASIDE not in request
    assert await aside(request, True, threading.get_ident) != threading.get_ident()
    assert ASIDE in request


async def test_what_threads_worked_is_summed_also_where_they_fail() -> None:
    request = make_mocked_request("GET", "/")

    def fail() -> None:
        burn(0.02)
        raise KeyError("x")

    await aside(request, True, burn, 0.02)
    with pytest.raises(KeyError):
        await aside(request, True, fail)
    assert request[ASIDE] >= 0.04
