"""The table of operations: names, order of parameters, and what is checked before one is done."""

from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.records import TeamName
from metaserver.base.states import Role
from metaserver.cli.catalogue import OPERATIONS
from metaserver.operations.caller import Caller
from metaserver.operations.table import Nothing, Operation, operation, perform

TABLE: dict[str, Operation] = {}
NOBODY = Caller()
BLUE = Caller(role=Role.TEAM, team=TeamName("blue"), name="team blue")
ANA = Caller(role=Role.ORGANISER, name="organiser ana")


class Given(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something to weigh."""

    box: str
    number: Annotated[int, Meta(ge=1)] = 1
    inner: dict[str, float] = {}


@operation("BigBoxes.weighAll", "PUT /boxes/{box}/{number}", Role.TEAM, table=TABLE)
async def weigh(hub: list[Any], caller: Caller, given: Given) -> str:
    """Weigh a box."""
    hub.append(given)
    return caller.name


@operation("Boxes.count", "GET /boxes/count", None, table=TABLE)
async def count(hub: list[Any], _caller: Caller, _given: Nothing) -> int:
    """Count what was weighed."""
    return len(hub)


def test_an_operation_is_declared_from_its_function() -> None:
    made = TABLE["big-boxes.weigh-all"]
    assert (made.method, made.path) == ("PUT", "/boxes/{box}/{number}")
    assert made.positional == ("box", "number")
    assert (made.request, made.result, made.doc) == (Given, str, "Weigh a box.")
    assert made.handler is weigh


def test_a_name_is_given_once() -> None:
    with pytest.raises(AssertionError, match=r"boxes\.count"):
        operation("Boxes.count", "GET /boxes", None, table=TABLE)(count)


async def test_it_is_done_with_the_values_as_its_struct() -> None:
    hub: list[Any] = []
    assert await perform(TABLE["big-boxes.weigh-all"], hub, BLUE, {"box": "a"}) == "team blue"
    assert hub == [Given(box="a")]
    assert await perform(TABLE["boxes.count"], hub, NOBODY, {}) == 1


async def test_who_has_no_role_learns_nothing_of_the_values() -> None:
    with pytest.raises(RefusedError) as caught:
        await perform(TABLE["big-boxes.weigh-all"], [], NOBODY, {"colour": 1})
    assert caught.value.refusal is Refusal.TOKEN
    assert "colour" not in str(caught.value)


async def test_an_organiser_may_do_what_a_team_may() -> None:
    assert await perform(TABLE["big-boxes.weigh-all"], [], ANA, {"box": "a"}) == "organiser ana"


def test_each_operation_of_the_hub_has_what_its_interfaces_need() -> None:
    assert len({made.rpc for made in OPERATIONS.values()}) == len(OPERATIONS)
    assert len({(made.method, made.path) for made in OPERATIONS.values()}) == len(OPERATIONS)
    for name, made in OPERATIONS.items():
        assert made.name == name
        assert set(made.positional) <= set(made.request.__struct_fields__), name
        assert made.doc.endswith("."), name
