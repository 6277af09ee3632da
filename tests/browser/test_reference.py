"""The pages about the interfaces: readable by everybody, on a phone too."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from axe_playwright_python.sync_playwright import Axe

from metaserver.operations.caller import Caller
from metaserver.operations.catalogue import OPERATIONS
from metaserver.web.access.headers import add_headers
from metaserver.web.api.reference import ReferencePages
from metaserver.web.api.xmlrpc_api import Rpc
from metaserver.web.ui.assets import Assets
from metaserver.web.ui.templates import Templates
from tests.browser.test_accessibility import OPTIONS, SIZES

pytestmark = pytest.mark.slow


async def _nobody(_request: web.Request, _secret: str) -> Caller:
    return Caller()


async def _served() -> TestServer:
    assets = Assets.shipped()
    rpc = Rpc(hub=None, operations=OPERATIONS, read_token=_nobody, count_call=lambda _: None)
    pages = ReferencePages(operations=OPERATIONS, rpc=rpc, templates=Templates.of(assets))
    app = web.Application()
    app.add_routes(pages.routes())
    app.router.add_get(f"{assets.prefix}/{{name}}", assets.serve)
    app.on_response_prepare.append(add_headers)
    server = TestServer(app)
    await server.start_server()
    return server


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(_served(), loop).result(20)
    yield str(server.make_url("")).rstrip("/")
    asyncio.run_coroutine_threadsafe(server.close(), loop).result(20)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/api/", "/xmlrpc/"])
def test_axe_finds_nothing(address, visits, path, scheme, size):
    width, height = SIZES[size]
    page = visits.open(
        f"{address}{path}", color_scheme=scheme, viewport={"width": width, "height": height}
    )
    result = Axe().run(page, options=OPTIONS).response
    assert len(result["passes"]) > 10
    assert [(v["id"], v["nodes"][0]["html"]) for v in result["violations"]] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
