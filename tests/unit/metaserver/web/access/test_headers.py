"""Errors of pages as their viewers see them."""

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from metaserver.base.errors import UnavailableError
from metaserver.web.access.headers import error_pages
from metaserver.web.ui.assets import Assets
from metaserver.web.ui.templates import Templates


async def test_a_store_that_takes_nothing_is_no_fault_of_the_page() -> None:
    async def fails(_: web.Request) -> web.Response:
        raise UnavailableError("disk is full", "/secret/place")

    app = web.Application(middlewares=[error_pages(Templates.of(Assets.of()))])
    app.router.add_get("/", fails)
    async with TestClient(TestServer(app)) as client, client.get("/") as response:
        text = await response.text()
    assert response.status == 503
    assert "The hub cannot store changes at the moment: disk is full." in text
    assert "/secret/place" not in text
