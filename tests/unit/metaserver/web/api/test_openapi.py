"""The OpenAPI document: valid, complete, and true of the small table."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from metaserver.cli.catalogue import OPERATIONS
from metaserver.operations.table import Operation
from metaserver.web.api.openapi import document
from tests.unit.metaserver.web.small import SMALL, small_site


def read(operations: dict[str, Operation]) -> dict[str, Any]:
    """Return the document as a client reads it."""
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(document(operations)))
    return found


@pytest.mark.parametrize(
    "operations",
    [pytest.param(SMALL, id="small"), pytest.param(OPERATIONS, id="real", marks=pytest.mark.slow)],
)
def test_it_is_valid(operations: dict[str, Operation]) -> None:
    OpenAPIV31SpecValidator(read(operations)).validate()


def _schemas(value: object, kind: str) -> Iterator[dict[str, Any]]:
    """Yield every part of the document that is a schema of this type."""
    if isinstance(value, dict):
        if value.get("type") == kind:
            yield value
        for one in value.values():
            yield from _schemas(one, kind)
    elif isinstance(value, list):
        for one in value:
            yield from _schemas(one, kind)


@pytest.mark.parametrize("operations", [SMALL, OPERATIONS], ids=["small", "real"])
def test_generators_of_clients_read_every_array(operations: dict[str, Operation]) -> None:
    """They take no Boolean for a schema; a tuple has its members and its length."""
    found = list(_schemas(read(operations), "array"))
    tuples = [one for one in found if "prefixItems" in one]
    assert tuples
    assert all(isinstance(one.get("items", {}), dict) for one in found)
    assert all("items" in one or "prefixItems" in one for one in found)
    assert all(one["maxItems"] == len(one["prefixItems"]) for one in tuples)


def test_object_with_unknown_members_is_not_read_as_empty() -> None:
    found = list(_schemas(read(OPERATIONS), "object"))
    assert {"type": "object", "additionalProperties": True} in found  # an answer of a server
    assert all({"properties", "additionalProperties"} & one.keys() for one in found)


def test_schema_is_named_as_its_type() -> None:
    """Two types of one name get their modules' names too, which generators of clients drop."""
    assert [name for name in read(OPERATIONS)["components"]["schemas"] if "." in name] == []


def test_it_has_every_operation_with_its_texts() -> None:
    told = read(OPERATIONS)
    for operation in OPERATIONS.values():
        found = told["paths"][f"/api/v1{operation.path}"][operation.method.lower()]
        assert found["summary"]
        assert (found["x-role"], found["operationId"]) == (operation.role or "none", operation.rpc)


def test_parameters_are_where_they_are_sent() -> None:
    told = read(SMALL)["paths"]
    fill = told["/api/v1/boxes/{box}/{number}"]["put"]
    found = [(one["name"], one["in"]) for one in fill["parameters"]]
    assert found == [("box", "path"), ("number", "path")]
    schema = fill["requestBody"]["content"]["application/json"]["schema"]
    assert list(schema["properties"]) == ["content"]
    assert not fill["requestBody"]["required"]
    listed = told["/api/v1/boxes"]["get"]
    assert {one["in"] for one in listed["parameters"]} == {"query"}
    assert "requestBody" not in listed
    limit = next(one for one in listed["parameters"] if one["name"] == "limit")
    assert (limit["description"], limit["schema"]["maximum"]) == ("At most so many", 9)


def test_no_text_in_an_address_is_null() -> None:
    listed = read(SMALL)["paths"]["/api/v1/boxes"]["get"]
    assert "null" not in str(listed["parameters"])


def test_who_needs_a_token() -> None:
    paths = read(SMALL)["paths"]
    assert paths["/api/v1/boxes"]["post"]["security"] == [{"token": []}]
    assert {} in paths["/api/v1/boxes"]["get"]["security"]


def test_errors_have_one_shape() -> None:
    told = read(SMALL)
    responses = told["paths"]["/api/v1/boxes"]["post"]["responses"]
    assert {"200", "401", "413", "422", "429", "500"} <= set(responses)
    assert "204" in told["paths"]["/api/v1/boxes/{box}"]["delete"]["responses"]


async def test_it_is_served_with_a_validator() -> None:
    async with small_site() as site:
        async with site.get("/api/v1/openapi.json") as response:
            assert await response.json() == read(SMALL)
            tag = response.headers["ETag"]
        headers = {"If-None-Match": tag}
        async with site.get("/api/v1/openapi.json", headers=headers) as response:
            assert (response.status, await response.read()) == (304, b"")
