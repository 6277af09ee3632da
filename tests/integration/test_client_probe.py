"""Asking whether a server is there."""

from __future__ import annotations

import socket
from xmlrpc.client import Fault

import pytest

from metaserver.wire.xmlrpc import decode_call
from tests.integration.callers import article_caller, server
from tests.integration.peers import GOOD, Connection, Peer, Script, answering, peer, response

NO_METHOD = response(Fault(-32601, "no such method"))
METHODS = response(["Annotator.getAnnotation"])


async def probed(script: Script) -> tuple[str | None, Peer]:
    """Return what is wrong with a server that follows `script`, and what it has seen."""
    async with peer(script) as there, article_caller() as caller:
        return await caller.probe(server(there.url)), there


def asked(there: Peer) -> list[str]:
    return [decode_call(request.body).method for request in there.requests]


@pytest.mark.parametrize("state", ["Running", "Overloaded"])
async def test_a_server_that_says_it_runs_is_there(state: str) -> None:
    failure, there = await probed(answering(response({"state": state})))
    assert failure is None
    assert asked(there) == ["Annotator.getState"]


@pytest.mark.parametrize("state", ["Suspended", "Shutdown"])
async def test_a_server_that_says_it_is_away_is_away(state: str) -> None:
    failure, _ = await probed(answering(response({"state": state})))
    assert failure == f"the server says it is {state}"


async def test_a_server_without_a_state_is_asked_for_its_methods() -> None:
    failure, there = await probed(answering(NO_METHOD, METHODS))
    assert failure is None
    assert asked(there) == ["Annotator.getState", "system.listMethods"]


@pytest.mark.parametrize(
    "script",
    [
        answering(NO_METHOD),
        answering(b"<html>not found</html>", status="404 Not Found"),
        answering(response(Fault(1, "oops")), status="500 Internal Server Error"),
        answering(b"what?"),
        answering(response(17)),
        answering(response({"state": ["odd"]})),
        answering(response({})),
    ],
    ids=["faults", "404", "fault on 500", "no XML", "a number", "an odd state", "no state"],
)
async def test_any_word_of_its_own_says_that_it_is_there(script: Script) -> None:
    failure, _ = await probed(script)
    assert failure is None


@pytest.mark.parametrize("status", ["502 Bad Gateway", "503 Service Unavailable"])
async def test_a_proxys_word_is_not_the_servers(status: str) -> None:
    failure, _ = await probed(answering(b"<html>nginx</html>", status=status))
    assert failure == f"http: HTTP status {status}; expected 200"


async def test_a_server_that_hangs_up_is_not_there() -> None:
    async def hangs_up(connection: Connection) -> None:
        await connection.request()

    failure, there = await probed(hangs_up)
    assert failure == "connect: the server closed the connection without an answer"
    assert there.connections == 1


async def test_a_closed_port_is_nobody() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    async with article_caller() as caller:
        failure = await caller.probe(server(f"http://127.0.0.1:{port}/"))
    assert failure == "connect: Connection refused"


async def test_a_probe_has_a_length() -> None:
    _, there = await probed(answering(GOOD))
    assert all("content-length" in request.headers for request in there.requests)
