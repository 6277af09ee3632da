"""Texts of requests that are PDFs, and places of candidates that servers did not show."""

from __future__ import annotations

import asyncio
import base64
import xmlrpc.client
from pathlib import Path
from typing import Any

import pytest

from metaserver.config import CurationSettings
from metaserver.curation import pdf
from metaserver.model.errors import Refusal, RefusedError
from metaserver.model.requests import RequestState
from metaserver.uniprot.build import build_release
from tests.fakes import pdf as made
from tests.hubs.command import metaserver
from tests.hubs.inside import at_work, plan_phase, settings
from tests.hubs.release import ACCESSIONS, NAMES
from tests.hubs.sites import client_of
from tests.integration.curating import TEXT, curator, register, scripted

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
        shown = await running.do("curation.get", ana, curation=opened.curation)
        assert shown.notice == NOTICE
        plain = await running.do("consensus.ask", ana, text=TEXT, wait=20.0)
        assert plain.notice == ""


async def test_pdfs_that_cannot_be_read_count_as_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = await settings(tmp_path, curation=CurationSettings(requests_a_day=2))
    async with at_work(given) as running:
        ana = await curator(running)

        async def refusal(content: bytes) -> RefusedError:
            with pytest.raises(RefusedError) as caught:
                await running.do("consensus.ask", ana, content=content, source="a.pdf")
            return caught.value

        monkeypatch.setattr(pdf, "find_spec", lambda name: None)
        for _ in range(3):  # no work was done
            assert "pip install" in (await refusal(PDF)).message
        monkeypatch.undo()
        for _ in range(2):
            error = await refusal(made.image_alone())
            assert (error.refusal, error.field) == (Refusal.INVALID, "content")
        assert (await refusal(PDF)).refusal is Refusal.TOO_MANY


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
        done = await metaserver("consensus", "ask", "--content", file)
        assert NOTICE in done.stdout


async def test_candidates_that_no_server_shows_are_found_by_evidence_or_name(
    tmp_path: Path,
) -> None:
    text = "MDM2 and p53.\n\nWe show that TP53  binds MDM4 in living cells. BRCA1-like, BRCA1."
    build_release([NAMES], name="test", out=tmp_path / "releases" / "test", names=True)
    p53, mdm2, mdm4, brca1 = ACCESSIONS[:4]
    hits: list[dict[str, Any]] = [
        {"dbid": accession, "rank": rank, "confidence": 0.9 / rank}
        for rank, accession in enumerate((p53, mdm2, mdm4, brca1), 1)
    ]
    hits[2]["evidence"] = "TP53 binds MDM4"
    hits[3]["evidence"] = "words that are not in the text"
    async with scripted(["a"]) as servers, at_work(await settings(tmp_path)) as running:
        await plan_phase(running)
        await register(running, servers)
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
        live = await running.service.requests.get(asked.request)
        assert live is not None
        places = live.named.places
        await running.do("consensus.get", ana, request=asked.request)
        assert live.named.places is places  # the text was not searched again
