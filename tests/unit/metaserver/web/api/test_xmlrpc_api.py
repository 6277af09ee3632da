"""Operations as XML-RPC methods: the standard library's marshalling talks to a real server."""

import xmlrpc.client as stdlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from metaserver.operations.caller import Caller
from metaserver.web.access.addresses import Proxies
from metaserver.web.access.auth import identified
from metaserver.web.api.xmlrpc_api import MAX_CALLS, Rpc, rpc_faults
from tests.unit.metaserver.web.small import SMALL, recognised, who

Client = TestClient[Any, Any]


@pytest.fixture
async def site() -> AsyncIterator[Client]:
    async def read_token(_: web.Request, secret: str) -> Caller:
        return recognised(secret)

    rpc = Rpc(hub={}, operations=SMALL, read_token=read_token, count_call=lambda _: None)
    app = web.Application(
        middlewares=[identified(Proxies([])), rpc_faults, who], client_max_size=200_000
    )
    app.add_routes(rpc.routes())
    async with TestClient(TestServer(app)) as client:
        yield client


async def send(site: Client, body: str | bytes, path: str = "/xmlrpc/") -> Any:
    """Send a body and return the value of the answer; raises `xmlrpc.client.Fault`."""
    async with site.post(path, data=body, headers={"Content-Type": "text/xml"}) as response:
        assert (response.status, response.content_type) == (200, "text/xml")
        assert response.headers["Cache-Control"] == "no-store"
        (value,), _ = stdlib.loads(await response.read(), use_builtin_types=True)
    return value


async def call(site: Client, method: str, *params: Any) -> Any:
    """Call a method and return its value; raises `xmlrpc.client.Fault`."""
    return await send(site, stdlib.dumps(params, method, allow_none=True))


async def fault(site: Client, method: str, *params: Any) -> tuple[int, str]:
    """Call a method that fails, and return the code and the string of its fault."""
    with pytest.raises(stdlib.Fault) as caught:
        await call(site, method, *params)
    return caught.value.faultCode, caught.value.faultString


async def test_token_then_struct(site: Client) -> None:
    fields = {"box": "a", "colour": "green", "weight": 2, "labels": ["x", 7], "lid": True}
    made = await call(site, "Boxes.make", "blue", fields)
    assert made == {
        "box": "a", "colour": "green", "asked": "team blue", "number": 2**40, "weight": 2.0,
        "labels": ["x", "7"], "made": datetime(2026, 11, 21, 12),
    }  # fmt: skip


async def test_token_then_the_fields_of_the_path_in_their_order(site: Client) -> None:
    made = await call(site, "Boxes.fill", "blue", "a", 7, {"content": b"\x00\xff"})
    assert (made["box"], made["number"], made["content"]) == ("a", 7, b"\x00\xff")


async def test_fields_may_follow_one_by_one(site: Client) -> None:
    assert (await call(site, "Boxes.fill", "blue", "a", 7, "text"))["content"] == b"text"


async def test_no_role_takes_no_token(site: Client) -> None:
    await call(site, "Boxes.make", "blue", {"box": "a"})
    assert [box["box"] for box in await call(site, "Boxes.list")] == ["a"]
    assert [box["box"] for box in await call(site, "Boxes.list", {"limit": 1})] == ["a"]


async def test_token_before_the_fields_of_a_public_method_is_taken(site: Client) -> None:
    await call(site, "Boxes.make", "blue", {"box": "a"})
    boxes = await call(site, "Boxes.list", "bcms_tblue", {"limit": 1})
    assert [box["box"] for box in boxes] == ["a"]
    assert (await fault(site, "Boxes.list", "bcms_tstolen"))[0] == 401


async def test_nil_is_a_field_left_out(site: Client) -> None:
    assert "weight" not in await call(site, "Boxes.make", "blue", {"box": "a", "weight": None})


async def test_nothing_returned_is_true(site: Client) -> None:
    assert await call(site, "Boxes.throwAway", "ana", "a") is True


async def test_what_xml_cannot_carry_is_replaced_and_no_number_left_out(site: Client) -> None:
    told = await call(site, "Boxes.fail", "control")
    assert told["box"] == "\ufffd\ufffd"
    assert "weight" not in told


async def test_the_slash_at_the_end_may_be_missing(site: Client) -> None:
    body = stdlib.dumps((), "Boxes.count")
    assert (await send(site, body, "/xmlrpc"))["number"] == 0


@pytest.mark.parametrize(
    ("method", "params", "code", "word"),
    [
        ("Boxes.nothing", (), -32601, "Boxes.nothing"),
        ("Boxes.make", (), -32602, "token"),
        ("Boxes.make", (7, {"box": "a"}), -32602, "token"),
        ("Boxes.make", ("stolen", {"box": "a"}), 401, "has expired"),
        ("Boxes.throwAway", ("blue", "a"), 403, "organiser"),
        ("Boxes.throwAway", ("ana",), -32602, "Boxes.throwAway(token, box)"),
        ("Boxes.throwAway", ("ana", "a", "b"), -32602, "Boxes.throwAway(token, box)"),
        ("Boxes.throwAway", ("ana", ["a"]), -32602, "box: expected string"),
        ("Boxes.get", ("blue", "a", "1"), -32602, "number: expected int"),
        ("Boxes.get", ("blue", "a", True), -32602, "number: expected int"),
        ("Boxes.get", ("blue", "a", 1, {"box": "b"}), -32602, "box is given twice"),
        ("Boxes.get", ("blue", "a", 0), 422, "number"),
        ("Boxes.get", ("blue", "z", 1), 404, "box: there is no box"),
        ("Boxes.make", ("blue", {"box": "taken"}), 409, "box: is taken"),
        ("Boxes.make", ("blue", {}), 422, "box: is required"),
        ("Boxes.make", ("blue", {"box": "a", "paint": 1}), 422, "paint: is not a parameter"),
        ("Boxes.make", ("blue", {"box": "a", "size": {"width": "1"}}), 422, "size.width"),
        ("Boxes.fail", ("busy",), 429, "too many"),
        ("Boxes.fail", ("full",), -32603, "store"),
    ],
)
async def test_faults(site, method, params, code, word):
    found, string = await fault(site, method, *params)
    assert found == code, string
    assert word in string


async def test_a_fault_names_the_page_that_explains_it(site: Client) -> None:
    answers = await call(
        site,
        "system.multicall",
        [
            {"methodName": "Boxes.make", "params": ["stolen", {"box": "a"}]},
            {"methodName": "Boxes.make", "params": ["blue", {"box": 1.5}]},
            {"methodName": "Boxes.nothing", "params": []},
        ],
    )
    places = [one["faultString"].rpartition(" (see ")[2] for one in answers]
    assert places == [
        "/docs/security#tokens)", "/docs/interfaces#errors)", "/docs/interfaces#xml-rpc)",
    ]  # fmt: skip
    assert (await fault(site, "Boxes.nothing"))[1].endswith(places[2])


async def test_a_bug_is_logged_without_the_token_and_not_told(site, caplog):
    code, string = await fault(site, "Boxes.fail", "bug")
    assert (code, "secret" in string) == (-32603, False)
    assert "ZeroDivisionError" in caplog.text


async def test_no_token_is_logged(site: Client, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    await fault(site, "Boxes.make", "a-stolen-token", {"box": "a"})
    await fault(site, "Boxes.make", "blue", {"box": 1.5})
    assert "a-stolen-token" not in caplog.text


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("", -32700),
        ("<methodCall>", -32700),
        ('<?xml version="1.0" encoding="utf-8"?><methodCall>\xff', -32700),
        ("<html/>", -32600),
        ("<methodCall/>", -32600),
        ("<!DOCTYPE methodCall><methodCall/>", -32600),
        (stdlib.dumps((1,), methodresponse=True), -32600),
        (stdlib.dumps(([[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]],), "Boxes.count"), -32600),
        (stdlib.dumps(([1] * 3_000,), "x").replace("<int>", "<i4>" + " " * 60), 413),
    ],
)
async def test_bodies_that_are_no_call(site: Client, body: str, code: int) -> None:
    with pytest.raises(stdlib.Fault) as caught:
        await send(site, body.encode("latin-1"))
    assert caught.value.faultCode == code, caught.value.faultString


async def test_the_gates_refusal_is_a_fault(site: Client) -> None:
    headers = {"Authorization": "Bearer stolen"}
    async with site.post("/xmlrpc/", data=b"", headers=headers) as response:
        assert response.status == 200
        with pytest.raises(stdlib.Fault) as caught:
            stdlib.loads(await response.read())
    assert caught.value.faultCode == 401


async def test_waiting_is_told_in_a_header_too(site: Client) -> None:
    async with site.post("/xmlrpc/", data=stdlib.dumps(("busy",), "Boxes.fail")) as response:
        assert response.headers["Retry-After"] == "3"


async def test_methods_tell_of_themselves(site: Client) -> None:
    names = await call(site, "system.listMethods")
    assert {"Boxes.make", "Boxes.throwAway", "system.multicall"} <= set(names)
    for name in names:
        assert await call(site, "system.methodHelp", name)
        assert await call(site, "system.methodSignature", name)
    signature = await call(site, "system.methodSignature", "Boxes.fill")
    assert signature == [
        ["struct", "string", "string", "int"],
        ["struct", "string", "string", "int", "struct"],
    ]
    found = await call(site, "system.methodSignature", "Boxes.make")
    assert found == [["struct", "string", "struct"]]
    told = await call(site, "system.methodHelp", "Boxes.make")
    assert told.startswith("Boxes.make(token, {box, colour")
    assert "colour: red | green, default red. Its colour" in told


async def test_multicall(site: Client) -> None:
    made, missing, nested, odd = await call(
        site,
        "system.multicall",
        [
            {"methodName": "Boxes.make", "params": ["blue", {"box": "a"}]},
            {"methodName": "Boxes.nothing", "params": []},
            {"methodName": "system.multicall", "params": [[]]},
            "no call",
        ],
    )
    assert made[0]["box"] == "a"
    codes = [one["faultCode"] for one in (missing, nested, odd)]
    assert codes == [-32601, -32600, -32602]


async def test_multicall_is_bounded(site: Client) -> None:
    calls = [{"methodName": "Boxes.count", "params": []}] * (MAX_CALLS + 1)
    assert (await fault(site, "system.multicall", calls))[0] == -32602
    assert len(await call(site, "system.multicall", calls[1:])) == MAX_CALLS


async def test_system_methods_take_what_they_say(site: Client) -> None:
    assert (await fault(site, "system.methodHelp"))[0] == -32602
    assert (await fault(site, "system.methodHelp", 7))[0] == -32602
    assert (await fault(site, "system.methodHelp", "x"))[0] == -32601


async def test_a_date_may_be_one(site: Client) -> None:
    given = {"box": "a", "labels": [datetime(2026, 1, 2, tzinfo=UTC).replace(tzinfo=None)]}
    found = (await call(site, "Boxes.make", "blue", given))["labels"]
    assert found == ["2026-01-02T00:00:00+00:00"]


async def test_an_empty_struct_of_php_is_an_empty_array(site: Client) -> None:
    assert await call(site, "Boxes.list", []) == await call(site, "Boxes.list", {})
