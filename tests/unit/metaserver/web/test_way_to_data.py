"""Pages reach data through operations, and the same gate is before these as for a program."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

import metaserver.web
from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.records import TeamName
from metaserver.base.states import Role
from metaserver.cli.catalogue import OPERATIONS
from metaserver.operations import servers, teams
from metaserver.operations.caller import Caller
from metaserver.operations.fields import OneServer
from metaserver.operations.table import Nothing, Operation, declared, perform
from metaserver.web.access.visitor import CALLER
from metaserver.web.ui.console import ConsoleContext

PARTS_OF_A_HUB = {"store", "phases", "servers", "jobs", "part"}
CALLERS = {
    None: Caller(),
    Role.READER: Caller(role=Role.READER),
    Role.TEAM: Caller(role=Role.TEAM, team=TeamName("blue"), team_id=1),
}


class Untouched:
    """A hub that no refused operation may reach."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"the hub's {name} was used")


def console() -> ConsoleContext:
    hub: Any = Untouched()
    return ConsoleContext(hub=hub, templates=cast(Any, None), broadcaster=cast(Any, None))


def request_of(caller: Caller) -> web.Request:
    """Return a web request of a caller who is known."""
    request = make_mocked_request("GET", "/")
    request[CALLER] = caller
    return request


def refused_ones() -> Iterator[Any]:
    """Yield every operation with each role that is too low for it."""
    for operation in OPERATIONS.values():
        for role, caller in CALLERS.items():
            try:
                caller.require_role(operation.role)
            except RefusedError:
                yield pytest.param(operation, caller, id=f"{operation.name} as {role or 'nobody'}")


@pytest.mark.parametrize(("operation", "caller"), [*refused_ones()])
async def test_a_page_is_refused_what_programs_are(operation: Operation, caller: Caller) -> None:
    with pytest.raises(RefusedError) as by_program:
        await perform(operation, Untouched(), caller, {})
    with pytest.raises(RefusedError) as by_page:
        await console().ask(request_of(caller), operation.handler, Nothing())
    assert by_page.value.refusal is by_program.value.refusal
    assert by_page.value.message == by_program.value.message
    assert by_page.value.refusal in (Refusal.TOKEN, Refusal.NOT_YOURS)


@pytest.mark.parametrize(
    ("operation", "given", "refusal", "field"),
    [
        (servers.get, OneServer(server="no name!"), Refusal.INVALID, "server"),
        (teams.get, teams.OneTeam(team="red"), Refusal.UNKNOWN, "team"),
    ],
    ids=["a field", "another team's"],
)
async def test_a_page_is_refused_before_the_hub_is_asked(operation, given, refusal, field):
    with pytest.raises(RefusedError) as refused:
        await console().ask(request_of(CALLERS[Role.TEAM]), operation, given)
    assert (refused.value.refusal, refused.value.field) == (refusal, field)


def test_each_operation_is_found_by_its_function() -> None:
    for operation in OPERATIONS.values():
        assert declared(operation.handler) is operation


def test_no_page_uses_the_parts_of_a_hub() -> None:
    found = [
        f"{path.name}:{node.lineno} {ast.unparse(node)}"
        for path in Path(metaserver.web.__path__[0]).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute)
        and node.attr in PARTS_OF_A_HUB
        and ast.unparse(node.value).lstrip("_").endswith(("hub", "_hub"))
    ]
    assert found == []
