"""Operations as JSON over HTTP: a small table on a real server."""

import base64
import encodings
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp.test_utils import TestClient

from tests.unit.metaserver.web.small import small_site

Client = TestClient[Any, Any]
BLUE = {"Authorization": "Bearer blue"}
ANA = {"Authorization": "Bearer ana"}


@pytest.fixture
async def site() -> AsyncIterator[Client]:
    async with small_site() as client:
        yield client


async def ask(site, method, path, token="blue", **given):
    """Return the status and the JSON of an answer."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with site.request(method, f"/api/v1{path}", headers=headers, **given) as response:
        text = await response.text()
        return response.status, json.loads(text) if text else None


async def refused(site: Client, status: int, *args: Any, **given: Any) -> dict[str, Any]:
    """Return an error, which has the status and the request's id."""
    found, told = await ask(site, *args, **given)
    error: dict[str, Any] = told["error"]
    assert (found, error["status"], error["request_id"]) == (status, status, "request-1"), told
    return error


async def test_a_body_is_the_parameters_by_name(site: Client) -> None:
    body = {"box": "a", "colour": "green", "weight": 2, "labels": ["x"], "size": {"width": 3}}
    status, made = await ask(site, "POST", "/boxes", json=body)
    assert status == 200
    assert made == {
        "box": "a", "colour": "green", "asked": "team blue", "number": 2**40, "weight": 2.0,
        "labels": ["x"], "size": {"width": 3, "height": 1}, "content": None,
        "made": "2026-11-21T12:00:00Z",
    }  # fmt: skip


async def test_a_query_is_read_by_type(site: Client) -> None:
    await ask(site, "POST", "/boxes", json={"box": "a"})
    query = [
        ("colour", "green"), ("labels", "1"), ("labels", "null"), ("limit", "3"), ("lid", "true"),
        ("size", '{"width": 2}'), ("above", "1e-3"),
    ]  # fmt: skip
    status, [box] = await ask(site, "GET", "/boxes", token="", params=query)
    assert status == 200
    assert json.loads(box["asked"]) == {
        "colour": "green", "labels": ["1", "null"], "limit": 3, "lid": True,
        "size": {"width": 2, "height": 1}, "above": 0.001,
    }  # fmt: skip


async def test_the_path_is_read_by_type_and_may_hold_any_character(site: Client) -> None:
    await ask(site, "POST", "/boxes", json={"box": "a/b c"})
    status, box = await ask(site, "GET", "/boxes/a%2Fb%20c/7")
    assert (status, box["box"], box["number"]) == (200, "a/b c", 7)


async def test_of_two_routes_the_one_with_the_word_is_taken(site: Client) -> None:
    assert (await ask(site, "GET", "/boxes/a/first"))[1]["asked"] == "first"
    assert (await ask(site, "GET", "/boxes/count"))[1]["box"] == "count"


async def test_bytes_are_base64(site: Client) -> None:
    content = base64.b64encode(b"\x00\xff").decode()
    status, box = await ask(site, "PUT", "/boxes/a/1", json={"content": content})
    assert (status, box["content"]) == (200, content)


async def test_no_result_is_204(site: Client) -> None:
    assert await ask(site, "DELETE", "/boxes/a", token="ana") == (204, None)


async def test_nothing_is_kept_by_caches(site: Client) -> None:
    for path in ("/boxes", "/boxes/a/first"):
        async with site.get(f"/api/v1{path}") as response:
            assert response.headers["Cache-Control"] == "no-store"


async def test_head_is_answered_as_get_without_its_body(site: Client) -> None:
    async with site.head("/api/v1/boxes") as response:
        assert (response.status, await response.read()) == (200, b"")


async def test_roles(site: Client) -> None:
    assert "ask an organiser" in (await refused(site, 401, "POST", "/boxes", token=""))["message"]
    assert "role organiser" in (await refused(site, 403, "DELETE", "/boxes/a"))["message"]
    error = await refused(site, 401, "GET", "/boxes", token="stolen")
    assert "not valid, or has expired" in error["message"]


async def test_who_may_not_is_told_before_the_body_is_read(site: Client) -> None:
    await refused(site, 401, "POST", "/boxes", token="", data=b"no JSON")


@pytest.mark.parametrize(
    ("body", "field", "word"),
    [
        ({}, "box", "required"),
        ({"box": 7}, "box", "Expected `str`"),
        ({"box": "A"}, "box", "not allowed"),
        ({"box": "a", "size": {"width": "1"}}, "size.width", "Expected `int`"),
        ({"box": "a", "labels": ["x", 1]}, "labels[1]", "Expected `str`"),
        ({"box": "a", "colour": "blue"}, "colour", "blue"),
        ({"box": "a", "weight": -1}, "weight", ">= 0"),
        ({"box": "a", "paint": 1}, "paint", "not a parameter"),
    ],
)
async def test_a_value_that_does_not_fit_names_its_field(site, body, field, word):
    error = await refused(site, 422, "POST", "/boxes", json=body)
    assert error["field"] == field
    assert word in error["message"]


@pytest.mark.parametrize(
    ("path", "field", "word"),
    [
        ("/boxes?limit=x", "limit", "not an integer"),
        ("/boxes?limit=10", "limit", "<= 9"),
        (f"/boxes?limit={'9' * 30}", "limit", "not an integer"),
        ("/boxes?limit=1&limit=2", "limit", "more than once"),
        ("/boxes?above=nan", "above", "not a number"),
        ("/boxes?lid=maybe", "lid", "true or false"),
        ("/boxes?size=width", "size", "not JSON"),
        ("/boxes?size=" + "[" * 2000, "size", "not JSON"),
        ("/boxes?paint=1", "paint", "not a parameter"),
        ("/boxes/a/x", "number", "not an integer"),
        ("/boxes/a/0", "number", ">= 1"),
    ],
)
async def test_a_text_in_the_address_that_does_not_fit(site, path, field, word):
    error = await refused(site, 422, "GET", path)
    assert error["field"] == field
    assert word in error["message"]


async def test_each_parameter_has_one_place(site: Client) -> None:
    error = await refused(site, 422, "PUT", "/boxes/a/1", json={"box": "b"})
    assert (error["field"], error["message"]) == ("box", "is in the path already")
    error = await refused(site, 422, "PUT", "/boxes/a/1?content=x")
    assert (error["field"], error["message"]) == ("content", "belongs into the body, as JSON")


@pytest.mark.parametrize(
    "body",
    [
        b"{", b"\xff", b'{"labels": ' + b"[" * 4000, b'{"weight": 1' + b"0" * 40 + b"}",
        b'{"weight": 1e999}', b'{"box": "\xff"}', b"NaN",
    ],
)  # fmt: skip
async def test_a_body_that_is_no_json(site: Client, body: bytes) -> None:
    headers = BLUE | {"Content-Type": "application/json"}
    async with site.post("/api/v1/boxes", data=body, headers=headers) as response:
        assert response.status == 400
        assert (await response.json())["error"]["message"].startswith("The body is ")


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/json; charset=latin-1", "application/json; charset=punycode", ""],
)
async def test_a_body_of_another_type(site: Client, kind: str) -> None:
    headers = BLUE | {"Content-Type": kind}
    async with site.post("/api/v1/boxes", data=b'{"box": "a"}', headers=headers) as response:
        assert response.status == 415
        assert "application/json" in (await response.json())["error"]["message"]


async def test_no_encoding_is_looked_for(site: Client) -> None:
    """Python remembers each name that it did not find, for ever."""
    before = set(encodings._cache)  # type: ignore[attr-defined]
    for kind in ("application/json; charset=x-none-1", "application/json; charset*=x-none-2''a"):
        headers = BLUE | {"Content-Type": kind}
        async with site.post("/api/v1/boxes", data=b'{"box": "a"}', headers=headers):
            pass
    assert set(encodings._cache) == before  # type: ignore[attr-defined]


async def test_of_what_was_sent_little_is_repeated(site: Client) -> None:
    error = await refused(site, 422, "POST", "/boxes", json={"x" * 3_000: 1})
    assert len(error["field"]) == 80
    error = await refused(site, 422, "POST", "/boxes", json={"box": "a", "colour": "x" * 3_000})
    assert len(error["message"]) == 2_000
    error = await refused(site, 422, "POST", "/boxes", json={"size": {"x" * 3_000: 1}, "box": "a"})
    assert len(error["field"]) == 2_000


@pytest.mark.parametrize(
    ("status", "body", "word"),
    [
        (422, ["a"], "JSON object"),
        (413, {"box": "a" * 5000}, "larger"),
        (409, {"box": "taken"}, "is taken"),
    ],
)
async def test_what_is_no_object_too_large_or_refused_by_the_operation(site, status, body, word):
    assert word in (await refused(site, status, "POST", "/boxes", json=body))["message"]
    assert (await refused(site, 404, "GET", "/boxes/z/1"))["field"] == "box"


async def test_waiting_is_told_in_a_header(site: Client) -> None:
    for way, status, seconds in (("busy", 429, "3"), ("full", 503, "10")):
        async with site.post(f"/api/v1/fail/{way}") as response:
            assert (response.status, response.headers["Retry-After"]) == (status, seconds)


async def test_a_bug_is_logged_and_not_told(site: Client, caplog: pytest.LogCaptureFixture) -> None:
    error = await refused(site, 500, "POST", "/fail/bug")
    assert "secret" not in str(error)
    assert "ZeroDivisionError" in caplog.text
    assert "blue" not in caplog.text


async def test_addresses_and_methods_that_are_not_there(site: Client) -> None:
    await refused(site, 404, "GET", "/nothing")
    await refused(site, 405, "PATCH", "/boxes")
    async with site.patch("/api/v1/boxes") as response:
        assert response.headers["Allow"] == "GET,HEAD,POST"
