"""Requests of curators through every interface: one outcome, any form of text, over kills."""

import asyncio
import base64
import json
import xmlrpc.client
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from metaserver.base.curations import RequestState
from metaserver.base.errors import Refusal, RefusedError
from metaserver.config import CurationSettings
from metaserver.curation import pdf
from metaserver.curation.parts import CurationParts
from metaserver.uniprot.build import build_release
from scoring import Task
from scoring.consensus import ConsensusModel, Member, write_model
from tests.event_streams import next_event
from tests.fakes import pdf as made
from tests.hubs.command import metaserver
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.hubs.release import ACCESSIONS, NAMES
from tests.hubs.sites import client_of
from tests.integration.curating import TEXT, Scripted, asked_hub, curator, register, scripted

SEVEN = ("fast", "slow", "faulty", "busy", "late", "suspended", "unseen")
EXPECTED = {
    "fast": "answered",
    "slow": "answered",
    "faulty": "failed",
    "busy": "not asked",
    "late": "answered",
    "suspended": "not asked",
    "unseen": "answered",
}


def model_file(folder: Path) -> Path:
    """Write a model of all servers but one."""
    members = tuple(
        Member(name=name, team=name, weights=(0.5, 1.0, 0.25)) for name in SEVEN if name != "unseen"
    )
    model = ConsensusModel(
        task=Task.INT,
        method="stacked",
        members=members,
        panel=(1.0, 0.5, 0.25, 1.0, 0.5, 0.5, 0.75),
        bias=-2.0,
    )
    write_model(model, folder / "int.json")
    return folder / "int.json"


def script(servers: dict[str, Scripted]) -> None:
    """Let each server name other proteins."""
    for number, (name, one) in enumerate(servers.items()):
        found = (ACCESSIONS[0], ACCESSIONS[number + 1])
        one.answer = {
            "normalizations": [
                {"dbid": accession, "rank": rank, "confidence": 0.9 / rank}
                for rank, accession in enumerate(found, 1)
            ]
        }
        if name in ("slow", "late"):
            one.open.clear()


async def streamed(client: Any, path: str, head: dict[str, str]) -> list[dict[str, Any]]:
    """Return all that a stream has of a request."""
    seen: list[dict[str, Any]] = []
    async with client.get(path, headers=head) as response:
        while True:
            name, data = await next_event(response)
            if name == "request":
                seen.append(json.loads(data))
            elif name == "done":
                return seen


async def polled(client: Any, path: str, head: dict[str, str]) -> list[dict[str, Any]]:
    """Return all that long polls see of a request."""
    seen: list[dict[str, Any]] = []
    since = 0
    while not (seen and seen[-1]["settled"]):
        async with client.get(f"{path}?since={since}&wait=20", headers=head) as response:
            seen.append(await response.json())
        since = seen[-1]["version"]
    return seen


def called(address: str, token: str, request: str) -> list[dict[str, Any]]:
    """Return all that XML-RPC sees of a request."""
    seen: list[dict[str, Any]] = []
    since = 0
    with xmlrpc.client.ServerProxy(f"{address}xmlrpc/", use_builtin_types=True) as hub:
        while not (seen and seen[-1]["settled"]):
            found: Any = hub.Consensus.get(token, request, {"since": since, "wait": 20.0})
            seen.append(found)
            since = found["version"]
    return seen


async def prepared(running: Running, servers: dict[str, Scripted]) -> None:
    await plan_phase(running)
    await register(running, servers)
    script(servers)
    await running.do("phases.open", phase="test")
    for name in ("busy", "suspended"):
        servers[name].open.clear()
        await running.do("servers.start", running.team(name), server=name, phase="test")
    await running.do("servers.suspend", server="suspended", phase="test", reason="misbehaves")
    servers["faulty"].faulty = True


def comparable(found: Any) -> Any:
    """Return a request without nulls, which XML-RPC leaves out."""
    if isinstance(found, dict):
        return {name: comparable(one) for name, one in found.items() if one is not None}
    return [comparable(one) for one in found] if isinstance(found, list) else found


@pytest.mark.slow
async def test_four_interfaces_see_the_same_versions_of_seven_servers(tmp_path: Path) -> None:
    curation = CurationSettings(models={"INT": str(model_file(tmp_path))})
    async with (
        scripted(SEVEN) as servers,
        at_work(await settings(tmp_path, curation=curation)) as running,
        client_of(running) as client,
    ):
        await prepared(running, servers)
        token = (await running.do("tokens.create", role="curator", label="ana")).token
        (tmp_path / "token").write_text(token)
        head, address = {"Authorization": f"Bearer {token}"}, str(client.make_url("/"))
        hub = ("--hub", address, "--token-file", tmp_path / "token")
        followed = asyncio.create_task(
            metaserver("consensus", "ask", "--text", TEXT, "--tasks", "INT", "--deadline", "15",
                       "--follow", *hub)
        )  # fmt: skip
        await running.until(lambda: bool(servers["late"].texts and servers["slow"].texts))
        async with client.get("/api/v1/requests", headers=head) as response:
            [listed] = await response.json()
        key = listed["request"]
        path = f"/api/v1/requests/{key}"
        watching = asyncio.gather(
            streamed(client, f"/requests/{key}/events", head),
            polled(client, path, head),
            asyncio.to_thread(called, address, token, key),
        )
        live = await running.service.part(CurationParts).requests.get(key)
        await running.until(lambda: "fast" in {one.server for one in live.answers})
        servers["slow"].open.set()
        await running.until(lambda: live.state == "expired")
        servers["late"].open.set()
        by_stream, by_poll, by_rpc = await watching
        shown = await followed
        servers["busy"].open.set()

        for seen in (by_stream, by_poll, by_rpc):
            versions = [one["version"] for one in seen]
            assert versions == sorted(set(versions))
        last = comparable(by_stream[-1])
        assert last == comparable(by_poll[-1])
        assert last == comparable(by_rpc[-1])
        assert {one["server"]: one["state"] for one in last["servers"]} == EXPECTED
        assert [one["server"] for one in last["servers"] if one["late"]] == ["late"]
        told = {one["server"]: one for one in last["servers"]}
        assert told["busy"]["message"] == "busy with the challenge"
        assert told["suspended"]["message"] == "suspended by the organisers"  # and no more
        assert (told["faulty"]["outcome"], told["faulty"].get("message", "")) == ("fault", "")
        seen = await running.do("consensus.get", request=key)
        assert [one.message for one in seen.servers if one.server == "faulty"] != [""]
        assert len(servers["faulty"].texts) == 2
        assert (servers["fast"].texts, servers["fast"].contexts[0]["article_id"]) == ([TEXT], key)
        assert TEXT not in servers["busy"].texts
        assert last["methods"] == {"INT": "stacked"}
        assert last["differences"]["INT"]["unknown"] == ["unseen"]
        first = last["candidates"][0]
        assert first["item"] == [ACCESSIONS[0]]
        parts = sum(vote["part"] for vote in first["votes"]) + first["bias"]
        assert abs(parts) < 20

        printed = await metaserver("consensus", "get", key, "--json", *hub)
        assert comparable(json.loads(printed.stdout)) == last
        assert shown.status == 0, shown.stderr
        lines = shown.stdout.splitlines()
        assert "fast: answered" in lines
        assert "suspended: not asked: suspended by the organisers" in lines
        assert "faulty: failed: fault" in lines
        assert any("4 of 7 servers answered" in line for line in lines)
        first_row = next(line.split() for line in lines if ACCESSIONS[0] in line)
        assert first_row[4] == "100%"  # no probability before it: a server is unknown


async def test_a_request_that_nobody_answered_is_a_failure_of_the_command(tmp_path: Path) -> None:
    async with at_work(await settings(tmp_path)) as running, client_of(running) as client:
        token = (await running.do("tokens.create", role="curator", label="ana")).token
        (tmp_path / "token").write_text(token)
        for more in (("--follow",), ("--wait", "20"), ("--wait", "20", "--only", "state")):
            ended = await metaserver(
                "consensus", "ask", "--text", TEXT, *more,
                "--hub", client.make_url("/"), "--token-file", tmp_path / "token",
            )  # fmt: skip
            assert ended.status == 1, ended.stderr
            assert "failed" in ended.stdout


async def test_a_stream_has_each_change_until_the_last(tmp_path: Path) -> None:
    async with (
        asked_hub(tmp_path, ["a", "b"]) as (running, servers),
        client_of(running) as client,
    ):
        servers["b"].open.clear()
        tokens = {
            name: (await running.do("tokens.create", role=role, label=name, team=team)).token
            for name, role, team in (
                ("ana", "curator", None), ("bob", "curator", None), ("team", "team", "a")
            )
        }  # fmt: skip
        heads = {name: {"Authorization": f"Bearer {token}"} for name, token in tokens.items()}
        given = {"text": TEXT, "deadline": 20}
        async with client.post("/api/v1/requests", json=given, headers=heads["ana"]) as response:
            asked = await response.json()
        path = f"/requests/{asked['request']}/events"
        for name, status in (("bob", 404), ("team", 403)):
            async with client.get(path, headers=heads[name]) as response:
                assert response.status == status
        versions: list[int] = []
        async with client.get(path, headers=heads["ana"]) as response:
            assert response.content_type == "text/event-stream"
            found: dict[str, Any] = {"candidates": []}
            while not found["candidates"]:
                found = await _request(response, versions)
            assert {vote["server"] for vote in found["candidates"][0]["votes"]} == {"a"}
            servers["b"].open.set()
            while not found["settled"]:
                found = await _request(response, versions)
            assert (await next_event(response))[0] == "done"
            assert found["state"] == "answered"
        assert versions == sorted(set(versions))
        last = heads["ana"] | {"Last-Event-ID": str(versions[-1])}
        async with client.get(path, headers=last) as response:
            assert [(await next_event(response))[0] for _ in range(2)] == ["beat", "done"]


async def _request(response: aiohttp.ClientResponse, versions: list[int]) -> dict[str, Any]:
    """Return the next event of a request; its version is added."""
    while True:
        name, data = await next_event(response)
        if name == "request":
            found: dict[str, Any] = json.loads(data)
            versions.append(found["version"])
            return found


NOTICE = "text from a PDF, check columns"
PDF = made.pdf([["EGFR binds GRB2", "We show that EGFR phosphory-", "lates GRB2."]])
READ = "EGFR binds GRB2\nWe show that EGFR phosphorylates GRB2."


async def test_a_pdf_is_asked_about_and_its_notice_stays(tmp_path: Path) -> None:
    async with scripted(["a"]) as servers, at_work(await settings(tmp_path)) as running:
        await register(running, servers)
        ana = await curator(running)
        asked = await running.do("consensus.ask", ana, content=PDF, source="a.pdf", wait=20.0)
        assert (asked.state, asked.notice) == (RequestState.ANSWERED, NOTICE)
        assert servers["a"].texts == [READ]
        again = await running.do("consensus.get", ana, request=asked.request)
        assert again.notice == NOTICE
        opened = await running.do("curation.open", ana, request=asked.request)
        shown = await running.do("curation.get", ana, curation=opened.curation)
        assert (shown.text, shown.notice) == (READ, NOTICE)
        await running.do("consensus.forget", ana, request=asked.request)
        assert (await running.do("curation.get", ana, curation=opened.curation)).notice == NOTICE
        plain = await running.do("consensus.ask", ana, text=TEXT, wait=20.0)
        assert plain.notice == ""


async def test_pdfs_that_cannot_be_read_count_as_requests(tmp_path, monkeypatch):
    given = await settings(tmp_path, curation=CurationSettings(requests_a_day=2))
    async with at_work(given) as running:
        ana = await curator(running)

        async def refusal(content: bytes) -> RefusedError:
            return await running.refused("consensus.ask", ana, content=content, source="a.pdf")

        monkeypatch.setattr(pdf, "find_spec", lambda name: None)
        for _ in range(3):  # no work was done
            assert "pip install" in (await refusal(PDF)).message
        monkeypatch.undo()
        for _ in range(2):
            error = await refusal(made.image_alone())
            assert (error.refusal, error.field) == (Refusal.INVALID, "content")
        assert (await refusal(PDF)).refusal is Refusal.TOO_MANY


@pytest.mark.slow
async def test_every_interface_takes_a_pdf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with at_work(await settings(tmp_path)) as running, client_of(running) as client:
        await running.do("challenges.set", challenge="other")
        issued = await running.do("tokens.create", role="curator", label="ana")
        head = {"Authorization": f"Bearer {issued.token}"}
        given = {"content": base64.b64encode(PDF).decode(), "source": "a.pdf"}
        async with client.post("/api/v1/requests", json=given, headers=head) as response:
            asked = await response.json()
            assert (response.status, asked["notice"], asked["length"]) == (200, NOTICE, len(READ))
        address = str(client.make_url("/"))
        (tmp_path / "a.pdf").write_bytes(PDF)

        def called() -> Any:
            with xmlrpc.client.ServerProxy(f"{address}xmlrpc/", use_builtin_types=True) as hub:
                return hub.Consensus.ask(issued.token, {"content": PDF, "source": "a.pdf"})

        assert (await asyncio.to_thread(called))["notice"] == NOTICE
        monkeypatch.setenv("METASERVER_URL", address)
        monkeypatch.setenv("METASERVER_TOKEN", issued.token)
        file = tmp_path / "a.pdf"
        done = await metaserver("consensus", "ask", "--content", file, "--only", "notice")
        assert done.stdout.strip() == NOTICE, done
        assert NOTICE in (await metaserver("consensus", "ask", "--content", file)).stdout


async def test_candidates_that_no_server_shows_are_found_by_evidence_or_name(tmp_path):
    text = "MDM2 and p53.\n\nWe show that TP53  binds MDM4 in living cells. BRCA1-like, BRCA1."
    build_release([NAMES], name="test", out=tmp_path / "releases" / "test", names=True)
    p53, mdm2, mdm4, brca1 = ACCESSIONS[:4]
    hits: list[dict[str, Any]] = [
        {"dbid": accession, "rank": rank, "confidence": 0.9 / rank}
        for rank, accession in enumerate((p53, mdm2, mdm4, brca1), 1)
    ]
    hits[2]["evidence"] = "TP53 binds MDM4"
    hits[3]["evidence"] = "words that are not in the text"
    async with asked_hub(tmp_path, ["a"]) as (running, servers):
        servers["a"].answer = {
            "normalizations": hits,  # type: ignore[typeddict-item]
            "mentions": [{"offset": 9, "mention": "p53", "dbid": p53}],
        }
        ana = await curator(running)
        asked = await running.do("consensus.ask", ana, text=text, tasks=("INT",), wait=20.0)
        shown = {
            one.item[0]: [(text[at.start : at.end], at.origin, at.servers) for at in one.mentions]
            for one in asked.candidates
        }
        assert shown == {
            p53: [("p53", "server", ("a",))],
            mdm2: [("MDM2", "names", ())],
            mdm4: [("TP53  binds MDM4", "evidence", ("a",))],
            brca1: [("BRCA1", "names", ()), ("BRCA1", "names", ())],
        }
        told = await running.do("consensus.explain", ana, request=asked.request, item=mdm2)
        assert told.mentions == asked.candidates[1].mentions
        live = await running.service.part(CurationParts).requests.get(asked.request)
        places = live.named.places
        await running.do("consensus.get", ana, request=asked.request)
        assert live.named.places is places  # the text was not searched again
