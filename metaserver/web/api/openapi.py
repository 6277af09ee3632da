"""The OpenAPI 3.1 document of the operations (https://spec.openapis.org/oas/v3.1.0)."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any

import msgspec
from aiohttp import hdrs, web

from metaserver.operations.outline import PREFIX, Outline, Parameter, ValueKind
from metaserver.operations.table import Operation

PATH = f"{PREFIX}/openapi.json"
REFERENCE = "#/components/schemas/{name}"
ERRORS = {
    "400": "The body is not JSON",
    "401": "A token is needed, or this one is invalid or expired",
    "403": "The token's role does not allow it",
    "404": "There is no such thing, or none that the caller may know of",
    "408": "The body did not come in time",
    "409": "Not in this state",
    "413": "The body is too large",
    "415": "The body's type is not application/json",
    "422": "A value does not fit; `field` names the parameter",
    "429": "Too many requests; `Retry-After` says how many seconds to wait",
    "500": "The hub failed; its log has the reason under the request's id",
    "503": "No change can be stored at the moment; `Retry-After` says how many seconds to wait",
}
WITH_BODY = frozenset({"400", "408", "413", "415"})


class ErrorDetail(msgspec.Struct, frozen=True, kw_only=True):
    """An error; `field` is the parameter at fault, if one is."""

    status: int
    message: str
    request_id: str
    field: str = ""


class Error(msgspec.Struct, frozen=True, kw_only=True):
    """Every error's body."""

    error: ErrorDetail


def document(operations: Mapping[str, Operation], server: str = "/") -> dict[str, Any]:
    """Return the document; `server` is the hub's address."""
    all_operations = list(operations.values())
    schemas, components = _schemas(all_operations)
    paths: dict[str, dict[str, Any]] = {}
    for operation in all_operations:
        item = paths.setdefault(PREFIX + operation.path, {})
        item[operation.method.lower()] = _operation(operation, schemas, components)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "BioCreative Meta-Server",
            "version": version("biocreative-metaserver"),
            "description": "The same operations are XML-RPC methods at /xmlrpc/ and commands.",
        },
        "servers": [{"url": server}],
        "tags": [
            {"name": noun}
            for noun in sorted({Outline.of(operation).noun for operation in all_operations})
        ],
        "paths": paths,
        "components": {
            "schemas": components,
            "responses": {f"Error{status}": _error(text) for status, text in ERRORS.items()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _schemas(operations: Iterable[Operation]) -> tuple[dict[Any, Any], dict[str, Any]]:
    """Return each type's schema, and the components that these refer to."""
    types: list[Any] = [Error]
    for operation in operations:
        used = (operation.request, operation.result, operation.report)
        types += [kind for kind in used if kind not in types]
    types = [kind for kind in types if kind not in (None, type(None))]
    schemas, components = msgspec.json.schema_components(types, ref_template=REFERENCE)
    schemas, components = msgspec.to_builtins(
        (schemas, components)
    )  # defaults that are tuples, enums
    return dict(zip(types, schemas, strict=True)), _for_generators(components)


def _for_generators(value: Any) -> Any:
    """Return schemas as generators of clients read them.

    They refuse `"items": false`, which ends a tuple, of which `maxItems` says that already. An
    object whose members are not known is empty to them unless it may have any.
    """
    if isinstance(value, list):
        return [_for_generators(item) for item in value]
    if not isinstance(value, dict):
        return value
    read = {
        name: _for_generators(item)
        for name, item in value.items()
        if not (name == "items" and item is False and "maxItems" in value)
    }
    if read.get("type") == "object" and not {"properties", "additionalProperties"} & read.keys():
        read["additionalProperties"] = True
    return read


def _operation(
    operation: Operation, schemas: Mapping[Any, Any], components: Mapping[str, Any]
) -> dict[str, Any]:
    outline = Outline.of(operation)
    request_schema = components[_name(schemas[operation.request])]
    described: dict[str, Any] = {
        "operationId": outline.rpc,
        "summary": outline.summary,
        "description": outline.doc,
        "tags": [outline.noun],
        "parameters": [*_parameters(outline, request_schema)],
        "responses": _responses(operation, schemas),
        "security": [{"token": []}] if outline.role else [{}, {"token": []}],
        "x-role": outline.role or "none",
        "x-xmlrpc": outline.call,
        "x-command": outline.command,
    }
    if operation.report is not None:
        described["x-job-report"] = schemas[operation.report]
    if outline.method != hdrs.METH_GET and outline.by_name:
        described["requestBody"] = _body(outline, request_schema)
    return described


def _parameters(outline: Outline, request_schema: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    in_query = outline.by_name if outline.method == hdrs.METH_GET else ()
    for parameter in (*outline.in_path, *in_query):
        schema = dict(request_schema["properties"][parameter.name])
        described = {
            "name": parameter.name,
            "in": "path" if parameter.in_path else "query",
            "required": parameter.in_path or parameter.required,
            "description": schema.pop("description", parameter.help),
        }
        yield described | _placed(parameter, _never_null(schema))


def _placed(parameter: Parameter, schema: Any) -> dict[str, Any]:
    if parameter.kind in (ValueKind.STRUCT, ValueKind.ANY):
        return {"content": {"application/json": {"schema": schema}}}
    return {"schema": schema}


def _never_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a text in an address: what is null there is left out."""
    kinds = schema.get("anyOf", ())
    non_null = [kind for kind in kinds if kind != {"type": "null"}]
    if len(non_null) == 1:
        schema = {name: value for name, value in schema.items() if name != "anyOf"} | non_null[0]
    if schema.get("default", "") is None:
        del schema["default"]
    return schema


def _body(outline: Outline, request_schema: Mapping[str, Any]) -> dict[str, Any]:
    in_path = {parameter.name for parameter in outline.in_path}
    required = [name for name in request_schema["required"] if name not in in_path]
    properties = {
        name: schema for name, schema in request_schema["properties"].items() if name not in in_path
    }
    schema = dict(request_schema) | {"properties": properties, "required": required}
    return {"required": bool(required), "content": {"application/json": {"schema": schema}}}


def _responses(operation: Operation, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    schema = schemas.get(operation.result)
    responses: dict[str, Any] = {"204": {"description": "Done"}}
    if schema is not None:
        responses = {
            "200": {"description": "Done", "content": {"application/json": {"schema": schema}}}
        }
    body = operation.method != hdrs.METH_GET
    statuses = [status for status in ERRORS if body or status not in WITH_BODY]
    return responses | {
        status: {"$ref": f"#/components/responses/Error{status}"} for status in statuses
    }


def _error(text: str) -> dict[str, Any]:
    schema = {"$ref": REFERENCE.format(name=Error.__name__)}
    return {"description": text, "content": {"application/json": {"schema": schema}}}


def _name(schema: Mapping[str, str]) -> str:
    return schema["$ref"].rpartition("/")[2]


@functools.cache
def _encoded(operations: tuple[Operation, ...]) -> bytes:
    by_name = {operation.name: operation for operation in operations}
    return msgspec.json.format(msgspec.json.encode(document(by_name)))


class Document:
    """The document, encoded once, served with a validator (ETag)."""

    def __init__(self, operations: Mapping[str, Operation]) -> None:
        self._body = _encoded(tuple(operations.values()))
        self._tag = hashlib.sha256(self._body).hexdigest()[:16]

    def route(self) -> web.RouteDef:
        """Return the document's route."""
        return web.get(PATH, self.serve)

    async def serve(self, request: web.Request) -> web.Response:
        """Answer with the document, or 304 if the client has it."""
        tags = {tag.value for tag in request.if_none_match or ()}
        if self._tag in tags:
            response = web.Response(status=304)
        else:
            response = web.Response(body=self._body, content_type="application/json")
        response.etag = self._tag
        response.headers[hdrs.CACHE_CONTROL] = "no-cache"
        return response
