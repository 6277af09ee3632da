"""Servers of BioCreative V.5's TIPS task work with nothing changed but addresses and keys."""

import asyncio
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from metaserver.base.conformance import StepState
from metaserver.base.states import Outcome
from metaserver.exchange.protocols.becalm_answers import BecalmOptions
from metaserver.exchange.protocols.options import read_options
from tests.fakes.becalm import BecalmPeer, annotated, as_tsv, becalm_peer
from tests.integration.callers import conformance_of
from tests.integration.calling import KEY, TEXT, calling_hub
from tests.waiting import until

SOURCE = "PATENT SERVER"
FOUND = {"INT": [["P04637", 1, 0.5], ["P38398", 2, 0.5]], "IPT": []}


async def _posted(url: str, body: str, kind: str) -> tuple[int, str]:
    """Post as curl does."""
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, data=body, headers={"Content-Type": kind}) as response,
    ):
        return response.status, await response.text()


def _silent_if_wrong(peer: BecalmPeer) -> Any:
    """Answer a wrong key as IBELight does: with nothing."""
    return lambda asked: web.Response() if asked["becalm_key"] != peer.becalm_key else None


async def _ibelight(peer: BecalmPeer, parameters: dict[str, Any]) -> None:
    """Behave as IBELight (2017): documents by their source, quotes lost, one TSV."""
    ids = [one["document_id"] for one in parameters["documents"] if one["source"] == SOURCE]
    url = f"{peer.hub}patentserver/json?apikey={peer.key}"
    status, fetched = await _posted(url, json.dumps({"patents": ids}), "application/json")
    assert status == 200, fetched
    rows = []
    for document in json.loads(fetched):
        plain = {name: " ".join(text.replace('"', "").split()) for name, text in document.items()}
        rows += annotated({"document_id": plain["externalId"], **plain})
    heading, *lines = as_tsv(rows).split("\n")
    await peer.call(
        parameters,
        "\n".join([heading, "", *lines]),
        form="TSV",
        prefix="api",
        headers={"Content-Type": "text/tab-separated-values"},
    )


async def test_ibelight_passes_the_whole_test_and_finds_the_proteins(tmp_path: Path) -> None:
    async with calling_hub(tmp_path) as hub, becalm_peer(becalm_key="k", calls=_ibelight) as peer:
        peer.reply = _silent_if_wrong(peer)
        registered = await hub.register(peer, options=f"documents = fetch\nsource = {SOURCE}")
        test = await conformance_of(registered, hub.client)
        ended, answer = await hub.caller().call(registered, 0, 1)
    assert [step.name for step in test.steps if step.state is StepState.FAILED] == []
    assert ended.outcome is Outcome.OK
    assert {task: answer.payloads[task] for task in FOUND} == FOUND


async def _tagger(peer: BecalmPeer, parameters: dict[str, Any]) -> None:
    """Behave as JensenLab's tagger: key and address from the request, documents as TSV."""
    custom = peer.asked[-1]["custom_parameters"]
    url = f"{peer.hub}patentserver/tsv?apikey={custom['apikey']}"
    ids = [one["document_id"] for one in parameters["documents"] if one["source"] == SOURCE]
    _, fetched = await _posted(url, json.dumps({"patents": ids}), "application/json")
    rows = []
    for line in fetched.rstrip("\n").split("\n"):
        name, title, abstract = line.split("\t", 2)
        rows += annotated({"document_id": name, "title": title, "abstractText": abstract})
    query = f"apikey={custom['apikey']}&communicationId={parameters['communication_id']}"
    address = f"{custom['apiurl']}/saveAnnotations/JSON?{query}"
    await _posted(address, json.dumps(rows), "application/x-www-form-urlencoded")


async def test_tagger_passes_the_whole_test_with_key_and_address_of_the_request(
    tmp_path: Path,
) -> None:
    async with calling_hub(tmp_path) as hub, becalm_peer(calls=_tagger) as peer:
        custom = f"apikey={KEY.format('peer')}, apiurl={hub.address}api"
        options = f"documents=fetch\nsource={SOURCE}\ncustom_parameters={custom}\nexpired=iso"
        registered = await hub.register(peer, options=options)
        test = await conformance_of(registered, hub.client)
        ended, answer = await hub.caller().call(registered, 0, 1)
    assert test.passed, test.reasons()
    assert ended.outcome is Outcome.OK
    assert {task: answer.payloads[task] for task in FOUND} == FOUND
    expired = peer.asked[-1]["parameters"]["expired"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", expired)


async def _sia(peer: BecalmPeer, parameters: dict[str, Any]) -> None:
    """Behave as SIA: documents inline or by lists of ids, a date with T, genes without ids."""
    assert datetime.fromisoformat(parameters["expired"]) > datetime.now(UTC)
    found = []
    for one in parameters["documents"]:
        document = one
        if one["source"].lower() == "abstract server":
            url = f"{peer.hub}abstractserver/json?apikey={peer.key}"
            body = json.dumps({"abstracts": [one["document_id"]]})
            _, fetched = await _posted(url, body, "application/json")
            [read] = json.loads(fetched)
            document = {**one, "title": read["title"], "abstractText": read["text"]}
        found += annotated(document)
    genes = [{**one, "type": "GENE", "score": 1.0} for one in found]
    for gene in genes:
        del gene["database_id"]
    headers = {"Content-Type": "application/json"}
    await peer.call(parameters, json.dumps(genes), prefix="api", headers=headers)


def _trusting(peer: BecalmPeer) -> Any:
    """Take any key, as SIA does."""
    return lambda asked: asked.update(becalm_key=peer.becalm_key)


@pytest.mark.parametrize(
    "options",
    ["source = INLINE", "documents = fetch\nsource = ABSTRACT SERVER"],
    ids=["sia-inline", "sia-fetch"],
)
async def test_sia_passes_the_whole_test_and_finds_the_genes(tmp_path: Path, options: str) -> None:
    async with calling_hub(tmp_path) as hub, becalm_peer(becalm_key="k", calls=_sia) as peer:
        peer.reply = _trusting(peer)
        registered = await hub.register(peer, options=f"{options}\nexpired = iso", tasks=["NER"])
        test = await conformance_of(registered, hub.client)
        ended, answer = await hub.caller().call(registered, 0, 1)
    assert test.passed, test.reasons()
    assert ended.outcome is Outcome.OK
    assert answer.payloads["NER"] == [[5, "TP53", "gene"], [29, "BRCA1", "gene"]]


async def test_document_service_gives_only_what_its_server_is_asked_about(tmp_path: Path) -> None:
    asked: list[tuple[int, Any]] = []
    release = asyncio.Event()

    async def asks(peer: BecalmPeer, parameters: dict[str, Any]) -> None:
        async def ask(body: object, key: str = peer.key, slash: str = "") -> None:
            url = f"{hub.address}abstractserver/json{slash}?apikey={key}"
            written = body if isinstance(body, str) else json.dumps(body)
            status, text = await _posted(url, written, "application/json")
            asked.append((status, json.loads(text)))

        await ask({"abstracts": ["other", "a0", "a0"]}, slash="/")
        await ask({"abstracts": ["a0"]}, KEY.format("other"))
        await ask({"abstracts": ["a0"]}, "wrong")
        await ask({"patents": ["a0"]})
        await ask({"abstracts": ["x"] * 5 + [str(number) for number in range(100)]})
        await ask("[" * 60_000)
        await ask({"abstracts": ["x" * 70_000]})
        await peer.call(parameters, "[]")
        await ask({"abstracts": ["a0"]})
        release.set()

    async with (
        calling_hub(tmp_path) as hub,
        becalm_peer(calls=asks) as peer,
        becalm_peer() as other,
    ):
        await hub.register(other, "other")
        ended, _ = await hub.send(peer, options="documents = fetch\nsource = ABSTRACT SERVER")
        await until(release.is_set)
    assert ended.outcome is Outcome.OK
    title, _, rest = TEXT.partition("\n")
    (first, *refused, last) = asked
    assert first == (200, [{"externalId": "a0", "title": title, "text": rest}])
    assert refused[0] == (200, [])
    assert [status for status, _ in refused[1:]] == [401, 400, 413, 400, 413]
    assert not any("TP53" in str(answer) for _, answer in refused)
    assert last == (200, [])


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ("expired = soon", "expired"),
        ("source =", "source"),
        ("custom_parameters = apikey", "custom_parameters"),
    ],
)
def test_option_that_no_server_of_tips_has_is_refused(options: str, field: str) -> None:
    with pytest.raises(ValueError, match=field):
        read_options(options, BecalmOptions)
