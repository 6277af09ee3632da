"""BioC servers: what only they can do; test_client_contract.py has the rest."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metaserver.base.conformance import Conformance, StepState
from metaserver.base.lanes import CheckedAnswer
from metaserver.base.records import Attempt
from metaserver.base.states import Outcome
from metaserver.exchange.http.caller import MANY
from metaserver.exchange.http.client import HttpLimits
from metaserver.exchange.protocols.bioc import collection
from metaserver.uniprot import ReleaseVocabulary, build_release
from tests.fakes.bioc import BiocPeer, bioc_peer
from tests.fakes.vocabulary import FakeVocabulary
from tests.integration.callers import article_caller, conformance_of, server

TEXT = "𝛼 of TP53.\nIt interacts with BRCA1."
TASKS = ("ACT", "INT", "IPT", "NER")


async def sent(
    peer: BiocPeer, *, options: str = "", time_limit: float = 60.0, limits: HttpLimits | None = None
) -> tuple[Attempt, CheckedAnswer | None]:
    """Send the article to a peer."""
    async with article_caller(TEXT, time_limit=time_limit, limits=limits) as caller:
        registered = server(peer.url, protocol="bioc", options=options, tasks=TASKS)
        return await caller.call(registered, 0, 1)


async def test_an_article_is_sent_in_passages() -> None:
    async with bioc_peer() as peer:
        await sent(peer)
    assert peer.sent == [collection("a0", TEXT)]
    title, rest = peer.sent[0]["documents"][0]["passages"]
    assert (rest["offset"], TEXT[rest["offset"] :]) == (len(title["text"]) + 1, rest["text"])


async def test_article_goes_to_a_server_that_speaks_xml_and_comes_back() -> None:
    async with bioc_peer(xml=True) as peer:
        ended, answer = await sent(peer, options="format = xml")
        registered = server(peer.url, protocol="bioc", options="format = xml", tasks=TASKS)
        found = await conformance_of(registered)
    assert (ended.outcome, found.passed) == (Outcome.OK, True)
    assert answer is not None
    assert answer.payloads["INT"] == [["P04637", 1, 0.5], ["P38398", 2, 0.5]]
    assert answer.payloads["IPT"] == [["P04637", "P38398", 1, 0.25]]
    passages = peer.sent[0]["documents"][0]["passages"]
    assert [(one["offset"], one["text"]) for one in passages] == [(0, TEXT[:10]), (11, TEXT[11:])]


def _of_genes(answer: dict[str, Any]) -> Any:
    """Name genes instead of proteins: one as PubTator does, one by a key of its own."""
    (document,) = answer["documents"]
    (first,), (second,) = (passage["annotations"] for passage in document["passages"])
    first["infons"]["identifier"] = "7157"
    del second["infons"]["identifier"]
    second["infons"] |= {"type": "Protein", "NCBI Gene": "672;1"}
    document["relations"][0] |= {"nodes": []}
    document["relations"][0]["infons"] |= {"role1": "Gene|7157", "role2": "Gene|672"}
    return answer


async def test_gene_ids_are_mapped_by_the_release_of_the_phase(tmp_path: Path) -> None:
    table = tmp_path / "table.tsv"
    table.write_text("Entry\tGeneID\nP04637\t7157;\nP38398\t672;\n")
    release = build_release([table], name="made", out=tmp_path / "made")
    vocabulary = ReleaseVocabulary(release=release)
    async with (
        bioc_peer(change=_of_genes) as peer,
        article_caller(TEXT, vocabulary=vocabulary) as caller,
    ):
        registered = server(peer.url, protocol="bioc", tasks=TASKS)
        ended, answer = await caller.call(registered, 0, 1)
    assert [hit[0] for hit in answer.payloads["INT"]] == ["P04637", "P38398"]
    assert [hit[:2] for hit in answer.payloads["IPT"]] == [["P04637", "P38398"]]
    assert ended.outcome is Outcome.PARTIAL
    assert "is NCBI gene 1, which has no reviewed entry" in str(ended.problems)


def _wide(answer: dict[str, Any]) -> Any:
    """Relate a great many nodes, in a great many passages without a text."""
    nodes = [{"refid": "x"}] * 50_000
    relation = {"infons": {"type": "ppi"}, "nodes": nodes}
    passages = [{"offset": 7}] * 20_000
    return {"documents": [{"id": "a0", "passages": passages, "relations": [relation]}]}


async def test_the_work_on_an_answer_grows_with_its_size_alone() -> None:
    async with bioc_peer(change=_wide) as peer:
        ended, answer = await sent(peer, options="offsets = utf16")
    assert ended.outcome is Outcome.OK
    assert answer.hits_kept == 0


def _multiplied(accessions: int, text: str = "x") -> Callable[[object], Any]:
    """Relate an annotation with so many accessions with itself."""
    names = ",".join(f"P{number:05}" for number in range(accessions))
    annotation = {"id": "1", "infons": {"identifier": names}, "locations": []}
    relation = {"infons": {"type": "ppi"}, "nodes": [{"refid": "1"}, {"refid": "1"}]}
    passage = {"offset": 0, "text": text, "annotations": [annotation], "relations": [relation]}
    return lambda _: {"id": "a0", "passages": [passage]}


async def test_many_hits_in_few_bytes_are_checked_in_a_thread() -> None:
    threads: set[int] = set()
    vocabulary = FakeVocabulary(lambda _: threads.add(threading.get_ident()))
    async with (
        bioc_peer(change=_multiplied(60, "x" * 30_000)) as peer,
        article_caller(TEXT, vocabulary=vocabulary) as caller,
    ):
        registered = server(peer.url, protocol="bioc", tasks=TASKS)
        _, answer = await caller.call(registered, 0, 1)
    assert answer.hits_kept > MANY
    assert threads
    assert threading.get_ident() not in threads


async def run_of(change: Callable[[dict[str, Any]], Any]) -> Conformance:
    """Return the conformance run of a peer."""
    async with bioc_peer(change=change) as peer:
        return await conformance_of(server(peer.url, protocol="bioc"))


def _in_sentences(answer: dict[str, Any]) -> Any:
    """Have the text in sentences, as libraries do that cut them."""
    for passage in answer["documents"][0]["passages"]:
        names = ("offset", "text", "annotations")
        passage["sentences"] = [{name: passage[name] for name in names}]
        passage |= {"text": "", "annotations": []}
    return answer


async def test_a_conformance_run_passes_of_a_server_that_answers_in_sentences() -> None:
    found = await run_of(_in_sentences)
    states = {step.name: step.state for step in found.steps}
    assert found.passed, found.reasons()
    assert states["document comes back"] is StepState.PASSED


def _changed(name: str, value: object) -> Callable[[dict[str, Any]], Any]:
    """Change a member of the document, or the text of its passages."""

    def change(answer: dict[str, Any]) -> Any:
        (document,) = answer["documents"]
        for one in document["passages"] if name == "text" else [document]:
            one[name] = value(one[name]) if callable(value) else value
        return answer

    return change


@pytest.mark.parametrize(
    ("change", "state"),
    [
        (_changed("id", "12345"), StepState.FAILED),
        (_changed("text", "A study of quite other things."), StepState.FAILED),
        (_changed("id", ""), StepState.WARNING),
        (_changed("text", ""), StepState.WARNING),
        (_changed("text", str.lower), StepState.WARNING),
        (_changed("text", lambda text: text.replace("α", "alpha")), StepState.WARNING),
    ],
    ids=["another id", "another text", "no id", "no text", "small letters", "no Greek"],
)
async def test_a_server_that_returns_another_document_fails(change, state):
    found = await run_of(change)
    (step,) = (step for step in found.steps if step.name == "document comes back")
    assert step.state is state
    assert found.passed is (state is not StepState.FAILED)
