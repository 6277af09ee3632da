"""A challenge from register to results by foreign clients, most with servers of their language."""

import asyncio
import base64
import json
import os
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from metaserver.cli.catalogue import OPERATIONS
from tests.conformance.foreign import Command, Language, param, python, running
from tests.conformance.foreign_clients import GENERATED, PAIRS, Client
from tests.hubs.process import Api, hub_at, new_token, write_config
from tests.unit.metaserver.tasks.offline_samples import CONFIDENCES, LABELS, zipped

ARTICLES = {
    "19661423": "TP53 binds BRCA1 at 4 Ångström.\nA second line: <&>, 中文.",
    "second": "Nothing binds here.",
    "third": "MDM2 binds p53.",
}
GOLD = {
    ("test", "INT"): "19661423\tP04637\nsecond\tP38398\nthird\tP04637\n",
    ("files", "PPI-3D"): LABELS,
}
LARGE = 2_147_483_647  # the largest int that the hub returns anywhere
SIGNATURES = [["struct", "string", "string"], ["struct", "string", "string", "struct"]]
HITS = [["P04637", 0.9], ["P38398", 1.0]]  # what every peer answers, whatever it is sent

EXCEPTIONS: dict[str, dict[str, Any]] = {
    "python": {"large sent": None},  # it sends no int beyond 32 bits
    "php": {"large sent": 0},  # it sends the lower 32 bits of one
}


@dataclass(frozen=True)
class AskedHub:
    """A hub with phases to open, of servers and of files: its address, and two tokens."""

    address: str
    team: str
    organiser: str


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[AskedHub]:
    config = await write_config(tmp_path)
    organiser = await new_token(config)
    async with hub_at(config) as running_hub, aiohttp.ClientSession() as session:
        api = Api(session, running_hub.address, organiser)
        await api("PUT", "/challenges/bc")
        texts = zipped({f"{name}.txt": text for name, text in ARTICLES.items()})
        content = base64.b64encode(texts).decode()
        await api("PUT", "/corpora/small", content=content, source="small.zip")
        await api(
            "POST", "/phases", challenge="bc", phase="test", corpus="small", release="test",
            visibility="public", limits={"answer_bytes": LARGE},
        )  # fmt: skip
        await api(
            "POST", "/phases", challenge="bc", phase="files", tasks=["PPI-3D"], visibility="public"
        )
        for (phase, task), text in GOLD.items():
            gold = base64.b64encode(text.encode()).decode()
            path = f"/phases/{phase}/gold/{task}"
            job = await api("PUT", path, content=gold, source="gold.tsv")
            assert (await api("GET", f"/jobs/{job['job']}", wait=30))["state"] == "done"
        await api("POST", "/teams", team="foreign")
        team = (await api("POST", "/tokens", team="foreign"))["token"]
        yield AskedHub(running_hub.address, team, organiser)


async def told(command: Sequence[str], *arguments: str) -> Any:
    """Run a client to its end; return what it saw."""
    process = await asyncio.create_subprocess_exec(
        *command, *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | {"TZ": "UTC"},  # some libraries read and write local time
    )  # fmt: skip
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode(errors="replace")
    return json.loads(out)


@pytest.mark.slow  # Perl's server holds an idle connection for 10 s before it takes the next
@pytest.mark.parametrize(
    ("language", "client"), [param(one.__name__, one, client) for one, client in PAIRS]
)
async def test_a_foreign_client_leads_its_server_through_a_phase(
    hub: AskedHub, tmp_path: Path, language: Language, client: Client
) -> None:
    command = client(tmp_path)
    address = f"{hub.address}xmlrpc/"
    with running(language, tmp_path) as url:
        saw = await told(command, address, hub.team, hub.organiser, "peer-1", url, "test")
    system = ["listMethods", "methodHelp", "methodSignature", "multicall"]
    names = [*(one.rpc for one in OPERATIONS.values()), *(f"system.{name}" for name in system)]
    assert sorted(saw.pop("methods")) == sorted(names)
    assert saw.pop("help").startswith("Servers.start(token, server[, {phase}])\n\n")
    assert saw.pop("closes").replace("-", "")[:17] == "20300102T03:04:05"
    assert saw == {
        "signature": SIGNATURES,
        "title": 'Ångström 中 <&> "',
        "untested": 409,
        "tested": ["never", "passed"],
        "passed": True,
        "attempts": [["third", "ok"], ["second", "ok"]],
        "raw": True,
        "faults": {
            "wrong token": 401,
            "not theirs": 403,
            "unknown": 404,
            "wrong field": 422,
            "wrong value": 422,
            "no method": -32601,
            "no token": -32602,
        },
        "multicall": ["peer-1", 404],
        "large": LARGE,
        "large sent": 1,
        "annotations": [["19661423", "test", "peer-1"]],
        "the same": True,
        "hits": HITS,
        "servers": ["peer-1"],
        "board": [["peer-1", 1, 0.5]],
    } | EXCEPTIONS.get(language.__name__, {})


@pytest.mark.nightly
@pytest.mark.parametrize("made", GENERATED)
async def test_a_client_made_from_the_openapi_document_leads_a_server_through_a_phase(
    hub: AskedHub, tmp_path: Path, made: Callable[[Path, str], Command]
) -> None:
    document = f"{hub.address}api/v1/openapi.json"
    command = await asyncio.to_thread(made, tmp_path, document)
    with running(python, tmp_path) as url:
        address = hub.address.rstrip("/")
        asked = ("peer-1", url, "test", "files", CONFIDENCES)
        saw = await told(command, address, hub.team, hub.organiser, *asked)
    attempts = saw.pop("attempts")
    assert sorted(attempts) == [[article, "ok"] for article in sorted(ARTICLES)]
    assert saw == {
        "registered": "never",
        "listed": ["peer-1"],
        "untested": 409,
        "wrong": [422, "url"],
        "passed": True,
        "raw": True,
        "hits": HITS,
        "board": [["peer-1", 1, 0.5]],
        "uploaded": ["ours", len(LABELS.splitlines())],
        "uploads": [["ours", 1]],
    }
