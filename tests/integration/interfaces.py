"""Clients of the hub's three interfaces: an OpenAPI document, a proxy, a command."""

import asyncio
import base64
import json
import os
import tempfile
import xmlrpc.client
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import aiohttp

from tests.hubs.command import metaserver


class Interface(Protocol):
    """A client that calls operations by XML-RPC name; results are plain values."""

    async def do(self, token: str, name: str, **values: Any) -> Any:
        """Call an operation as the token's holder; raises `RefusedError`."""


class RefusedError(Exception):
    """A refusal of the hub: its status, and its message."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


class Json:
    """A client that follows the OpenAPI document, and knows nothing else of the hub."""

    def __init__(self, address: str) -> None:
        self._address = address.rstrip("/")
        self._known: dict[str, tuple[str, str, Mapping[str, Any]]] = {}

    async def do(self, token: str, name: str, **values: Any) -> Any:
        async with aiohttp.ClientSession(
            self._address, headers={"Authorization": f"Bearer {token}"}
        ) as session:
            if not self._known:
                await self._learn(session)
            method, path, operation = self._known[name]
            for parameter in operation["parameters"]:
                if parameter["in"] == "path":
                    path = path.replace(
                        f"{{{parameter['name']}}}", str(values.pop(parameter["name"]))
                    )
            body = {key: _plain(value) for key, value in values.items()}
            given = {"params": body} if method == "get" else {"json": body}
            async with session.request(method, path, **given) as response:
                if response.status == 204:
                    return None
                answer = await response.json()
                if response.status >= 400:
                    raise RefusedError(response.status, answer["error"]["message"])
                return answer

    async def _learn(self, session: aiohttp.ClientSession) -> None:
        async with session.get("/api/v1/openapi.json") as response:
            document = await response.json()
        prefix = document["servers"][0]["url"].rstrip("/")
        self._known = {
            operation["operationId"]: (method, prefix + path, operation)
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
            if method != "parameters"
        }


class XmlRpc:
    """The standard library's XML-RPC client; the fields of the path are the first parameters."""

    PLACED: Mapping[str, tuple[str, ...]] = {
        "Challenges.set": ("challenge",),
        "Corpora.import": ("corpus",),
        "Gold.set": ("phase", "task"),
        "Boards.get": ("phase", "task"),
        "Runs.upload": ("phase", "task", "run"),
    }

    def __init__(self, address: str) -> None:
        self._address = f"{address}xmlrpc/"

    async def do(self, token: str, name: str, **values: Any) -> Any:
        return await asyncio.to_thread(self._do, token, name, values)

    def _do(self, token: str, name: str, values: dict[str, Any]) -> Any:
        noun = name.split(".")[0][:-1].lower()
        placed = self.PLACED.get(name, (noun,) if noun in values else ())
        if name in {"Servers.register", "Phases.create", "Teams.create"}:
            placed = ()
        first = [] if name in {"Boards.get", "Phases.get"} else [token]
        given = [*first, *(values.pop(field) for field in placed)]
        if values:
            given.append(values)
        with xmlrpc.client.ServerProxy(self._address, use_builtin_types=True) as proxy:
            try:
                return getattr(proxy, name)(*given)
            except xmlrpc.client.Fault as fault:
                raise RefusedError(fault.faultCode, fault.faultString) from fault


class Command:
    """The `metaserver NOUN VERB` command, with the token in the environment."""

    def __init__(self, address: str) -> None:
        self._address = address

    async def do(self, token: str, name: str, **values: Any) -> Any:
        noun, verb = name.lower().split(".")
        os.environ["METASERVER_URL"] = self._address
        os.environ["METASERVER_TOKEN"] = token
        with tempfile.TemporaryDirectory() as folder:
            words: list[str] = []
            for field in XmlRpc.PLACED.get(name, (noun[:-1],)):
                if field in values and name not in {
                    "Servers.register", "Phases.create", "Teams.create",
                }:  # fmt: skip
                    words.append(str(values.pop(field)))
            for field, value in values.items():
                words += [f"--{field.replace('_', '-')}", *_words(value, Path(folder))]
            ended = await metaserver(noun, verb, *words, "--json")
        if ended.status:
            raise RefusedError(ended.status, ended.stderr)
        return json.loads(ended.stdout) if ended.stdout.strip() else None


def _words(value: Any, folder: Path) -> list[str]:
    if isinstance(value, bytes):
        path = folder / "content"
        path.write_bytes(value)
        return [str(path)]
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]


def _plain(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value
