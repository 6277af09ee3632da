"""A small table of operations of every shape, and a site that offers it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

import msgspec
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from aiohttp.typedefs import Handler
from msgspec import Meta

from metaserver.base.errors import Refusal, RefusedError, UnavailableError
from metaserver.base.records import TeamName
from metaserver.base.states import Role
from metaserver.operations.caller import Caller
from metaserver.operations.table import Nothing, Operation, operation
from metaserver.web.access.addresses import Origin, Proxies
from metaserver.web.access.auth import REQUEST_ID_HEADER, identified
from metaserver.web.access.visitor import Visitor, remember
from metaserver.web.api.json_api import Api, api_errors
from metaserver.web.api.openapi import Document

SMALL: dict[str, Operation] = {}
CALLERS = {
    "": Caller(),
    "blue": Caller(role=Role.TEAM, team=TeamName("blue"), name="team blue"),
    "ana": Caller(role=Role.ORGANISER, name="organiser ana"),
}
"""Who asks with which token."""


class Colour(StrEnum):
    RED = "red"
    GREEN = "green"


class Size(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How large."""

    width: int
    height: int = 1


Name = Annotated[str, Meta(pattern="^[a-z/ .]{1,20}$", description="What it is called")]


class NewBox(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A box to make."""

    box: Name
    colour: Annotated[Colour, Meta(description="Its colour")] = Colour.RED
    lid: bool = False
    weight: Annotated[float, Meta(ge=0, description="In kg")] | None = None
    labels: tuple[str, ...] = ()
    size: Size | None = None
    notes: dict[str, float] = {}
    places: tuple[tuple[int, float], ...] = ()


class BoxNumber(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A box by name and number."""

    number: Annotated[int, Meta(ge=1)]
    box: Name
    content: bytes = b""


class OneBox(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A box by name."""

    box: Name


class Which(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which boxes."""

    colour: Colour | None = None
    labels: tuple[str, ...] = ()
    limit: Annotated[int, Meta(ge=1, le=9, description="At most so many")] = 5
    lid: bool | None = None
    size: Size | None = None
    above: float = 0.0


class Box(msgspec.Struct, frozen=True, kw_only=True):
    """A box."""

    box: str
    colour: Colour = Colour.RED
    asked: str = ""
    number: int = 2**40
    weight: float | None = None
    labels: tuple[str, ...] = ()
    size: Size | None = None
    content: bytes | None = None
    made: datetime = datetime(2026, 11, 21, 12, tzinfo=UTC)


@operation("Boxes.make", "POST /boxes", Role.TEAM, table=SMALL)
async def make(service: Any, caller: Caller, given: NewBox) -> Box:
    """Make a box.

    It is empty
    at first.
    """
    if given.box == "taken":
        raise RefusedError(Refusal.STATE, "is taken", field="box")
    service[given.box] = given
    return Box(
        box=given.box, colour=given.colour, asked=caller.name, weight=given.weight,
        labels=given.labels, size=given.size,
    )  # fmt: skip


@operation("Boxes.list", "GET /boxes", None, table=SMALL)
async def list_(service: Any, caller: Caller, given: Which) -> Sequence[Box]:
    """Return boxes."""
    told = msgspec.json.encode(given).decode()
    return [Box(box=name, asked=told) for name in service][: given.limit]


@operation("Boxes.get", "GET /boxes/{box}/{number}", Role.TEAM, table=SMALL)
async def get(service: Any, caller: Caller, given: BoxNumber) -> Box:
    """Return a box."""
    if given.box not in service:
        raise RefusedError(Refusal.UNKNOWN, f"there is no box {given.box!r}", field="box")
    return Box(box=given.box, number=given.number, content=given.content)


@operation("Boxes.first", "GET /boxes/{box}/first", Role.TEAM, table=SMALL)
async def first(service: Any, caller: Caller, given: OneBox) -> Box:
    """Return the first."""
    return Box(box=given.box, asked="first")


@operation("Boxes.fill", "PUT /boxes/{box}/{number}", Role.TEAM, table=SMALL)
async def fill(service: Any, caller: Caller, given: BoxNumber) -> Box:
    """Put something into a box."""
    return Box(box=given.box, number=given.number, content=given.content)


@operation("Boxes.throwAway", "DELETE /boxes/{box}", Role.ORGANISER, table=SMALL)
async def throw_away(service: Any, caller: Caller, given: OneBox) -> None:
    """Throw a box away."""
    service.pop(given.box, None)


class Way(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to fail."""

    way: Literal["bug", "busy", "full", "control"]


@operation("Boxes.fail", "POST /fail/{way}", None, table=SMALL)
async def fail(service: Any, caller: Caller, given: Way) -> Box:
    """Fail."""
    match given.way:
        case "bug":
            raise ZeroDivisionError("secret of the hub")
        case "busy":
            raise RefusedError(Refusal.TOO_MANY, "too many", retry_after=2.5)
        case "full":
            raise UnavailableError("the disk is full")
    return Box(box="\x00\ud800", weight=float("nan"))


@operation("Boxes.count", "GET /boxes/count", None, table=SMALL)
async def count(service: Any, caller: Caller, given: Nothing) -> Box:
    """Count them."""
    return Box(box="count", number=len(service))


def recognised(secret: str) -> Caller:
    """Return who has a token."""
    secret = secret.removeprefix("bcms_t")
    if secret not in CALLERS:
        raise RefusedError(
            Refusal.TOKEN, "this token is not valid, or has expired: ask for a new token"
        )
    return CALLERS[secret]


@web.middleware
async def who(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Stand in for the gate: a token is its holder's name."""
    secret = request.headers.get("Authorization", "Bearer ").removeprefix("Bearer ")
    origin = Origin(address="127.0.0.1", secure=False)
    remember(request, Visitor(caller=recognised(secret), origin=origin))
    return await handler(request)


@asynccontextmanager
async def small_site(*routes: web.RouteDef) -> AsyncIterator[TestClient[Any, Any]]:
    """Serve the small table, and other routes."""
    boxes: dict[str, Any] = {}
    app = web.Application(
        middlewares=[identified(Proxies(["127.0.0.1/32"])), api_errors, who], client_max_size=4_096
    )
    app.add_routes([*Api(hub=boxes, operations=SMALL).routes(), Document(SMALL).route()])
    app.add_routes(routes)
    async with TestClient(TestServer(app), headers={REQUEST_ID_HEADER: "request-1"}) as client:
        yield client
