"""The documentation as a hub serves it, and links to it from pages and errors."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient

from metaserver.web.manual.library import library
from tests.hubs.inside import at_work, settings
from tests.hubs.sites import client_of


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[TestClient[Any, Any]]:
    async with at_work(await settings(tmp_path)) as running, client_of(running) as client:
        yield client


@pytest.mark.slow
async def test_every_page_and_file_of_the_documentation_is_served(client):
    for url in library().pages:
        async with client.get(url) as response:
            assert response.status == 200, url
            assert "<h1" in await response.text()
    for url, name in library().files.items():
        async with client.get(url) as response:
            assert await response.read() == (library().folder / name).read_bytes()
            assert response.content_type != "application/octet-stream"


async def test_the_documentation_is_searched(client: TestClient[Any, Any]) -> None:
    text = await (await client.get("/docs", params={"q": "secondary accession"})).text()
    assert 'href="/docs/uniprot' in text
    assert "<mark>" in text
    text = await (await client.get("/docs", params={"q": "<script>"})).text()
    assert "<script>&#34;" not in text
    assert "“&lt;script&gt;”" in text
    long = await (await client.get("/docs", params={"q": "x" * 5_000})).text()
    assert f'value="{"x" * 100}"' in long


async def test_nothing_but_the_documentation_is_served(client: TestClient[Any, Any]) -> None:
    for path in (
        "/docs/nope",
        "/docs/..%2fconfig.yaml",
        "/docs/%2e%2e/config.yaml",
        "/docs/../pyproject.toml",
        "/docs/site/conf.py",
        "/docs//etc/passwd",
    ):
        assert (await client.get(path)).status == 404, path


async def test_an_address_with_a_slash_or_as_a_file_leads_to_the_page(client):
    for path, place in (
        ("/docs/", "/docs"),
        ("/docs/?q=rank", "/docs?q=rank"),
        ("/organise/?a=b", "/organise?a=b"),
        ("/docs/wire.md", "/docs/wire"),
        ("/docs/deploy/README.md", "/docs/deploy"),
        ("/docs/README.md", "/docs"),
    ):
        async with client.get(path, allow_redirects=False) as response:
            assert (response.status, response.headers["Location"]) == (
                301 if ".md" in path else 308,
                place,
            )
    for path in (
        "/nothing/",
        "/api/v1/challenges/",
        "/docs//example.org/",
        "/docs/nothing.md",
        "/docs/../pyproject.md",
    ):
        async with client.get(path, allow_redirects=False) as response:
            assert response.status == 404, path
    async with client.post("/docs/", allow_redirects=False) as response:
        assert response.status == 404


async def test_files_that_texts_name_are_links(client: TestClient[Any, Any]) -> None:
    api = await (await client.get("/api/")).text()
    found = set(re.findall(r'<a href="(/docs/[^"]+)">docs/[a-z-]+\.md</a>', api))
    assert "/docs/scoring" in found
    for link in found:
        assert (await client.get(link)).status == 200, link


async def test_pages_and_errors_lead_to_what_explains_them(client: TestClient[Any, Any]) -> None:
    home = await (await client.get("/")).text()
    [link] = re.findall(r'<a href="([^"]+)">About this page</a>', home)
    assert (await client.get(link)).status == 200
    async with client.get("/nope") as response:
        assert 'href="/docs/interfaces#errors"' in await response.text()
    async with client.get("/api/v1/nope") as response:
        assert response.headers["Link"] == '</docs/interfaces#errors>; rel="help"'
    async with client.get("/api/v1/tokens") as response:
        assert response.status == 401
        assert response.headers["Link"] == '</docs/security#tokens>; rel="help"'
