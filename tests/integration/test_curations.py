"""Curations: opened upon a request, decided in events, submitted, exported, deleted."""

import asyncio
import base64
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from metaserver.base.errors import Refusal
from metaserver.base.records import Article, ArticleId
from metaserver.config import CurationSettings
from metaserver.curation.candidates import PanelDifference
from metaserver.curation.decisions import MissingEventsError
from metaserver.curation.exports.finished import read_json
from metaserver.curation.exports.formats import FORMATS
from metaserver.curation.operations.curation_view import CurationDetail
from metaserver.curation.parts import CurationParts
from metaserver.curation.store import curations
from metaserver.curation.store.curations import CurationLogs
from metaserver.curation.texts import GUARDED
from metaserver.operations.caller import Caller
from metaserver.uniprot import build_release
from scoring import Task
from scoring.consensus import ConsensusModel, Member
from scoring.consensus.model_files import write_model
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.hubs.release import NAMES
from tests.hubs.sites import client_of
from tests.integration.curating import curator, register, scripted
from tests.unit.metaserver.curation.exports.mitab_reader import read_mitab

TEXT = (
    "TP53 binds MDM2.\nWe show that p53 binds Mdm2 in living cells. "
    "MDM2 was pulled down with TP53; HRAS was not."
)
P53, MDM2, RAS = "P04637", "Q00987", "P01112"
ANSWERS = {
    "a": {
        "interaction": [True, 0.9],
        "normalizations": [
            {"dbid": P53, "rank": 1, "confidence": 0.9, "evidence": "MDM2 was pulled down"},
            {"dbid": MDM2, "rank": 2, "confidence": 0.5},
        ],
        "pairs": [{"dbid_a": P53, "dbid_b": MDM2, "rank": 1, "confidence": 0.8}],
        "mentions": [{"offset": TEXT.index("p53"), "mention": "p53", "dbid": P53}],
    },
    "b": {"normalizations": [{"dbid": P53, "rank": 1, "confidence": 0.7}]},
}


@asynccontextmanager
async def asked(
    folder: Path, *, clock: Callable[[], float] = time.time, **changes: Any
) -> AsyncIterator[tuple[Running, Caller, str, Any]]:
    """Run a hub with an answered request of a curator, and a release with names."""
    releases = folder / "releases"
    releases.mkdir(exist_ok=True)
    if not (releases / "test").exists():
        build_release([NAMES], name="test", out=releases / "test", names=True)
    given = await settings(folder, **changes)
    async with scripted(["a", "b"]) as servers, at_work(given, clock=clock) as hub:
        await plan_phase(hub)
        await register(hub, servers)
        for name, answer in ANSWERS.items():
            servers[name].answer = answer  # type: ignore[assignment]
        ana = await curator(hub)
        found = await hub.do("consensus.ask", ana, text=TEXT, title="p53 and Mdm2", wait=20.0)
        yield hub, ana, found.request, servers


def sent(key: str, kind: str, task: str = "", *item: str, **detail: Any) -> dict[str, Any]:
    """Return an event as a page sends it."""
    event: dict[str, Any] = {"key": f"event-{key}", "kind": kind, "at": 1.8e9, "active_ms": 2_000}
    if task:
        event |= {"task": task, "item": item}
    return event | ({"detail": detail} if detail else {})


def accepted(found: CurationDetail, task: str) -> set[tuple[str, ...]]:
    return {one.item for one in found.decisions if (one.task, one.decision) == (task, "accepted")}


@pytest.mark.slow
@pytest.mark.both_stores
async def test_a_curation_from_its_opening_to_every_format(tmp_path: Path) -> None:
    async with asked(tmp_path) as (running, ana, request, _), client_of(running) as client:
        opened = await running.do("curation.open", ana, request=request)
        again = await running.do("curation.open", ana, request=request)
        assert (again.curation, again.opened_at) == (opened.curation, opened.opened_at)
        assert (opened.text, opened.title, opened.own) == (TEXT, "p53 and Mdm2", True)
        assert [(one.task, one.item) for one in opened.candidates] == [
            ("INT", (P53,)), ("INT", (MDM2,)), ("IPT", (P53, MDM2)),
        ]  # fmt: skip
        first = opened.candidates[0]
        assert (first.method, first.model, first.version) == ("rrf1", "", opened.version)
        assert {vote.server for vote in first.votes} == {"a", "b"}
        assert opened.proteins[P53].symbols[0] == "TP53"
        words = {(one.accession, TEXT[one.start : one.end], one.origin) for one in opened.spans}
        assert {(P53, "p53", "server"), (P53, "TP53", "names"), (MDM2, "MDM2", "names")} <= words
        [quoted] = opened.evidence
        assert TEXT[quoted.start : quoted.end] == "MDM2 was pulled down"
        assert [(one.task, one.item) for one in opened.undecided][-1] == ("ACT", ())
        key = opened.curation
        batch = [
            sent("0001", "accept", "INT", P53, seen_rank=1),
            sent("0002", "accept", "IPT", MDM2, P53, method="MI:0096"),
            sent("0003", "add", "INT", RAS),
        ]
        done = await running.do("curation.append", ana, curation=key, seen=0, events=batch)
        assert (done.seen, done.seqs["event-0003"], done.active_ms) == (3, 2, 6_000)
        repeated = await running.do("curation.append", ana, curation=key, seen=0, events=batch)
        assert repeated == done
        [listed] = await running.do("curation.list", ana, words="MDM2 p53")
        assert (listed.accepted, listed.rejected, listed.left) == (4, 0, 0)
        assert await running.do("curation.list", ana, words="p53 other") == []
        found = await running.do("curation.get", ana, curation=key)
        assert accepted(found, "INT") == {(P53,), (MDM2,), (RAS,)}
        assert found.proteins[RAS].symbols[0] == "HRAS"
        assert (RAS, "HRAS") in {(one.accession, TEXT[one.start : one.end]) for one in found.spans}
        assert [(one.task, one.item) for one in found.undecided] == [("ACT", ())]
        refused = await running.refused("curation.submit", ana, curation=key)
        assert (refused.refusal, refused.field) == (Refusal.STATE, "undecided")
        early = await running.refused("curation.export", ana, curation=key)
        assert early.refusal is Refusal.STATE
        last = [sent("0004", "relevant", relevant=True)]
        await running.do("curation.append", ana, curation=key, seen=3, events=last)
        submitted = await running.do("curation.submit", ana, curation=key, seen=4)
        assert (submitted.state, submitted.undecided) == ("submitted", ())
        closed = await running.refused(
            "curation.append", ana, curation=key, seen=4, events=[sent("0005", "note")]
        )
        assert closed.refusal is Refusal.STATE
        issued = await running.do("tokens.create", role="curator", label="bob")
        for name, form in FORMATS.items():
            file = await running.do("curation.export", ana, curation=key, format=name)
            assert file.source == f"curation-{key}{form.suffix}"
            path = f"/curations/{key}/export?format={name}"
            head = {"Authorization": f"Bearer {issued.token}"}
            async with client.get(path, headers=head) as response:
                assert response.status == 404
            async with client.get(path) as response:
                assert response.status == 401
        gold = await running.do("curation.export", ana, curation=key, format="gold-int")
        lines = gold.content.decode().splitlines()
        assert {line.split("\t")[1] for line in lines} == {P53, MDM2, RAS}
        whole = await running.do("curation.export", ana, curation=key)
        [written] = read_json(whole.content)
        items = {one.item: one for one in written.items if one.task == "INT"}
        assert items[P53,].servers[0].rank == 1
        assert (items[P53,].consensus, items[P53,].request_version) == ("rrf1", opened.version)
        assert (items[RAS,].by_hand, items[RAS,].servers) == (True, ())
        assert (written.curator, written.origin.request) == ("curator ana", request)
        assert written.origin.release == "test"


@pytest.mark.slow
async def test_servers_have_the_names_that_the_request_shows(tmp_path: Path) -> None:
    members = tuple(Member(name=name, team=name) for name in ("a", "gone"))
    model = ConsensusModel(task=Task.INT, method="stacked", members=members)
    write_model(model, tmp_path / "model.json")
    models = CurationSettings(models={"INT": str(tmp_path / "model.json")})
    async with asked(tmp_path, curation=models) as (running, ana, request, _):
        opened = await running.do("curation.open", ana, request=request)
        key = {"curation": opened.curation}
        await running.do("curation.append", ana, **key, seen=0,
                         events=[sent("0001", "accept", "INT", P53)])  # fmt: skip
        await running.do("curation.submit", ana, **key, undecided=True)
        await running.do("phases.update", phase="test", team_names="hidden")
        shown = await running.do("consensus.get", ana, request=request)
        aliases = {one.server for one in shown.servers}
        found = await running.do("curation.get", ana, **key)
        told = {vote.server for one in found.candidates for vote in one.votes}
        told |= {one.server for one in found.opinions}
        told |= {name for one in (*found.spans, *found.evidence) for name in one.servers}
        assert told == aliases != {"a", "b"}
        difference = found.differences["INT"]
        assert set(difference.unknown) < aliases
        assert difference.absent[0] not in {"gone", *aliases}
        [written] = read_json((await running.do("curation.export", ana, **key)).content)
        assert {one.server for item in written.items for one in item.servers} == aliases
        assert [item.probability for item in written.items] == [None]
        known = await running.do("curation.get", **key)
        assert {vote.server for vote in known.candidates[0].votes} == {"a", "b"}
        assert known.differences["INT"] == PanelDifference(absent=("gone",), unknown=("b",))


@pytest.mark.slow
async def test_files_have_their_type_and_name(tmp_path: Path) -> None:
    async with asked(tmp_path) as (running, _, _, _), client_of(running) as client:
        issued = await running.do("tokens.create", role="curator", label="eve")
        head = {"Authorization": f"Bearer {issued.token}"}

        async def post(path: str, **values: Any) -> tuple[int, Any]:
            async with client.post(f"/api/v1{path}", json=values, headers=head) as response:
                return response.status, await response.json()

        _, request = await post("/requests", text=TEXT, wait=20)
        _, opened = await post("/curations", request=request["request"])
        key = opened["curation"]
        events = [sent("0001", "accept", "IPT", P53, MDM2)]
        status, _ = await post(f"/curations/{key}/events", seen=0, events=events)
        assert status == 200
        other = [sent("0002", "reject", "INT", MDM2)]
        status, missed = await post(f"/curations/{key}/events", seen=0, events=other)
        assert status == 409
        [missing] = missed["error"]["detail"]["missing"]
        assert (missing["seq"], missing["event"]["key"]) == (0, "event-0001")
        status, left = await post(f"/curations/{key}/submit")
        assert status == 409
        assert {"task": "ACT", "item": []} in left["error"]["detail"]["undecided"]
        status, _ = await post(f"/curations/{key}/submit", undecided=True)
        assert status == 200
        for name, kind, part in (
            ("mitab", "text/tab-separated-values", b"uniprotkb:P04637"),
            ("psi-xml", "application/xml", b"<entrySet"),
            ("bioc-json", "application/json", b"UniProt:P04637"),
        ):
            path = f"/curations/{key}/export?format={name}"
            async with client.get(path, headers=head) as response:
                assert (response.status, response.content_type) == (200, kind)
                assert FORMATS[name].suffix in response.headers["Content-Disposition"]
                assert part in await response.read()
        for query in ("format=word", "format=json&x=1", "format=json&format=sda"):
            async with client.get(f"/curations/{key}/export?{query}", headers=head) as response:
                assert response.status == 422
        path = f"/api/v1/curations/{key}/export?format=sda"
        async with client.get(path, headers=head) as response:
            content = base64.b64decode((await response.json())["content"])
        assert b"physically interacts" in content


@pytest.mark.slow
@pytest.mark.both_stores
async def test_all_submitted_articles_are_one_file(tmp_path: Path) -> None:
    now = 1_795_780_800.0  # 2026-11-27 12:00 UTC
    async with (
        asked(tmp_path, clock=lambda: now) as (running, ana, request, _),
        client_of(running) as client,
    ):
        none = await running.refused("curation.export-all", ana)
        assert none.refusal is Refusal.STATE
        second = await running.do("consensus.ask", ana, text=f"{TEXT} ", wait=20.0)
        opened = []
        for asked_ in (request, second.request):
            one = (await running.do("curation.open", ana, request=asked_)).curation
            event = sent("0001", "accept", "IPT", P53, MDM2)
            await running.do("curation.append", ana, curation=one, seen=0, events=[event])
            await running.do("curation.submit", ana, curation=one, undecided=True)
            opened.append(one)
            now += 86_400
        every = read_json((await running.do("curation.export-all", ana)).content)
        assert [one.id for one in every] == opened
        file = await running.do("curation.export-all", ana, format="mitab", day="2026-11-28")
        [line] = read_mitab(file.content)
        assert file.source == "2026-11-28.mitab.tsv"
        assert line["Interaction identifier(s)"][0].value == f"{opened[1]}-1"
        bob = await curator(running, "bob")
        for caller, day, expected in (
            (bob, "", Refusal.STATE),
            (ana, "2026-11-29", Refusal.STATE),
            (ana, "27.11.2026", Refusal.INVALID),
        ):
            refused = await running.refused("curation.export-all", caller, day=day)
            assert refused.refusal is expected, day
        issued = await running.do("tokens.create", role="organiser", label="eve")
        head = {"Authorization": f"Bearer {issued.token}"}
        for query, status in (("format=csv&day=", 200), ("format=csv&format=sda", 422)):
            async with client.get(f"/curations/export?{query}", headers=head) as response:
                assert response.status == status
        async with client.get("/curations/export") as response:
            assert response.status == 401


async def test_curations_belong_to_their_token(tmp_path: Path) -> None:
    async with asked(tmp_path) as (running, ana, request, _):
        opened = await running.do("curation.open", ana, request=request)
        bob = await curator(running, "bob")
        assert (await running.refused("curation.open", bob, request=request)).refusal == 404
        key = {"curation": opened.curation}
        calls: Mapping[str, Mapping[str, Any]] = {
            "get": {}, "refresh": {}, "submit": {}, "reopen": {}, "forget": {}, "events": {},
            "export": {}, "append": {"seen": 0, "events": [sent("0001", "note")]},
            "orthologs": {"accession": P53},
        }  # fmt: skip
        for name, values in calls.items():
            refused = await running.refused(f"curation.{name}", bob, **key, **values)
            assert (refused.refusal, refused.field) == (Refusal.UNKNOWN, "curation"), name
        assert await running.do("curation.list", bob) == []
        assert [one.curator for one in await running.do("curation.list")] == ["curator ana"]
        assert not (await running.do("curation.get", **key)).own
        for name in ("append", "submit", "refresh"):
            caught = await running.refused(f"curation.{name}", **key, **calls[name])
            assert caught.refusal is Refusal.NOT_YOURS, name
        team = running.team("a")
        assert (await running.refused("curation.list", team)).refusal is Refusal.NOT_YOURS


@pytest.mark.slow
async def test_the_publication_is_kept_mended_and_exported(tmp_path: Path) -> None:
    async with asked(tmp_path) as (running, ana, _, _servers):
        for field in ("pmid", "pmcid", "doi"):
            refused = await running.refused("consensus.ask", ana, text=TEXT, **{field: "none"})
            assert (refused.refusal, refused.field) == (Refusal.INVALID, field)
        given = {"pmid": "PMID 012", "doi": "doi:10.1000/a.1"}
        found = await running.do("consensus.ask", ana, text=TEXT, wait=20.0, **given)
        assert (found.article, found.publication.ids) == ("12", ("12", "10.1000/a.1"))
        opened = await running.do("curation.open", ana, request=found.request)
        assert opened.publication == found.publication
        key = {"curation": opened.curation}
        bad = sent("0001", "publication", publication={"pmid": "12", "doi": "10"})
        refused = await running.refused("curation.append", ana, **key, seen=0, events=[bad])
        assert (refused.refusal, refused.field) == (Refusal.INVALID, "doi")
        mended = {"pmid": "13", "pmcid": "pmc7", "author": "Smith", "year": 2006}
        events = [
            sent("0001", "publication", publication=mended),
            sent("0002", "publication", publication={}),
            sent("0003", "undo", undoes="event-0002"),
            sent("0004", "pair", "IPT", P53, MDM2),
        ]
        await running.do("curation.append", ana, **key, seen=0, events=events)
        await running.do("curation.submit", ana, **key, undecided=True)
        file = await running.do("curation.export", ana, **key, format="mitab")
        [line] = read_mitab(file.content)
        assert line["Publication Identifier(s)"] == [
            ("pubmed", "13", ""),
            ("pubmed central", "PMC7", ""),
        ]
        assert line["Publication 1st author(s)"] == [("", "Smith et al.", "2006")]


@pytest.mark.slow
async def test_the_article_of_an_open_phase_is_refused_by_a_pmid_beside_it(tmp_path: Path) -> None:
    async with asked(tmp_path) as (running, ana, _, _servers):
        await running.add_corpus("late", [Article(id=ArticleId("PMC9"), text="Another text.")])
        await running.add_phase("late", "late")
        refused = await running.refused("consensus.ask", ana, text=TEXT, pmid="7", pmcid="pmc09")
        assert (refused.refusal, refused.message) == (Refusal.STATE, GUARDED)


async def test_terms_of_psi_mi_are_looked_up(tmp_path: Path) -> None:
    async with at_work(await settings(tmp_path)) as running:
        ana = await curator(running)
        [first, *_] = await running.do("curation.terms", ana, words="co-ip")
        assert (first.id, first.name) == ("MI:0019", "coimmunoprecipitation")
        said = "Lck was found by a phosphorylation reaction."
        found = await running.do("curation.terms", ana, branch="type", sentence=said)
        assert [one.name for one in found] == ["phosphorylation reaction"]
        for values, field in (({}, "words"), ({"branch": "none", "words": "a"}, "branch")):
            refused = await running.refused("curation.terms", ana, **values)
            assert (refused.refusal, refused.field) == (Refusal.INVALID, field)


@pytest.mark.slow
async def test_a_curation_outlives_its_request(tmp_path: Path) -> None:
    async with asked(tmp_path) as (running, ana, request, _):
        opened = await running.do("curation.open", ana, request=request)
        key = {"curation": opened.curation}
        await running.do("consensus.forget", ana, request=request)
        found = await running.do("curation.get", ana, **key)
        assert (found.text, found.candidates, found.newest_version) == (TEXT, opened.candidates, 0)
        assert (await running.refused("curation.refresh", ana, **key)).refusal is Refusal.STATE
        await running.do(
            "curation.append", ana, **key, seen=0, events=[sent("0001", "accept", "INT", P53)]
        )
        await running.do("curation.submit", ana, **key, undecided=True)
        assert (await running.do("curation.export", ana, **key, format="run-int")).content
        reopened = await running.do("curation.reopen", **key)
        assert (reopened.state, reopened.submitted_at is None) == ("open", False)
        assert (await running.refused("curation.reopen", ana, **key)).refusal is Refusal.STATE
        await running.do("curation.forget", ana, **key)
        async with running.service.store.reading() as connection:
            for table in ("curations", "curation_events"):
                rows = await connection.exec_driver_sql(f"SELECT count(*) FROM {table}")
                assert rows.scalar() == 0
        entries = await running.do("audit.list")
        assert {"curation.submit", "curation.reopen", "curation.forget"} <= {
            one.action for one in entries
        }


async def test_a_curation_is_kept_when_its_request_expires(tmp_path: Path) -> None:
    later = 0.0
    clock = lambda: time.time() + later  # noqa: E731
    async with asked(tmp_path, clock=clock) as (running, ana, request, _):
        opened = await running.do("curation.open", ana, request=request)
        later = 91 * 86_400.0
        await running.service.part(CurationParts).requests.sweep()
        gone = await running.refused("consensus.get", ana, request=request)
        assert gone.refusal is Refusal.UNKNOWN
        found = await running.do("curation.get", ana, curation=opened.curation)
        assert (found.text, found.candidates) == (TEXT, opened.candidates)
        assert (found.spans, found.evidence) == (opened.spans, opened.evidence)
        await running.do("curation.submit", ana, curation=opened.curation, undecided=True)
        assert (await running.do("curation.export", ana, curation=opened.curation)).content


@pytest.mark.slow
async def test_new_answers_come_in_when_the_curator_wants(tmp_path: Path) -> None:
    async with asked(tmp_path) as (running, ana, _, servers):
        servers["b"].open.clear()
        servers["b"].answer = {"normalizations": [{"dbid": RAS, "rank": 1, "confidence": 0.9}]}
        asked_ = await running.do("consensus.ask", ana, text=TEXT, tasks=("INT",), cutoff=2)
        live = await running.service.part(CurationParts).requests.get(asked_.request)
        await running.until(lambda: len(live.answers) == 1)
        opened = await running.do("curation.open", ana, request=asked_.request)
        assert [one.item for one in opened.candidates] == [(P53,), (MDM2,)]
        servers["b"].open.set()
        await running.until(lambda: len(live.answers) == 2)
        known = await running.do("curation.get", ana, curation=opened.curation)
        assert known.newest_version > known.version == opened.version
        found = await running.do("curation.refresh", ana, curation=opened.curation)
        assert {one.item for one in found.candidates} == {(P53,), (MDM2,), (RAS,)}
        shown = {one.item: one.version for one in found.candidates}
        assert shown[found.candidates[-1].item] == opened.version  # it is beyond the cutoff now
        assert found.version > opened.version
        [listed] = await running.do("curation.list", ana)
        assert listed.left == len(found.candidates)


@pytest.mark.slow
async def test_what_is_no_decision_is_refused(tmp_path: Path) -> None:
    async with asked(tmp_path) as (running, ana, request, _):
        opened = await running.do("curation.open", ana, request=request)
        long = [sent(f"{number:05}", "note", note="x" * 4_000) for number in range(500)]
        for events, expected in (
            ([], Refusal.INVALID),
            ([sent("0001", "accept", "INT", "EGFR")], Refusal.INVALID),
            ([sent("0001", "accept", "INT", "P00001")], Refusal.INVALID),
            ([sent("0001", "species", "INT", P53, replaced=("X",))], Refusal.INVALID),
            ([sent("0001", "evidence", "INT", P53, evidence=[(0, 10**6)])], Refusal.INVALID),
            ([sent("0001", "undo", undoes="nothing")], Refusal.INVALID),
            ([sent("0001", "note") | {"active_ms": -1}], Refusal.INVALID),
            ([sent("0001", "note") | {"at": float("nan")}], Refusal.INVALID),
            ([sent(f"{number:05}", "note") for number in range(501)], Refusal.INVALID),
            ([sent("0001", "note", note="x" * 4_001)], Refusal.INVALID),
        ):
            refused = await running.refused(
                "curation.append", ana, curation=opened.curation, seen=0, events=events
            )
            assert refused.refusal is expected, events[:1]
        await running.do("curation.append", ana, curation=opened.curation, seen=0, events=long)
        for number in range(1, 3):
            more = [one | {"key": f"{one['key']}-{number}"} for one in long]
            values = {"curation": opened.curation, "seen": 500 * number, "events": more}
            if number == 1:
                await running.do("curation.append", ana, **values)
        refused = await running.refused("curation.append", ana, **values)
        assert refused.refusal is Refusal.TOO_LARGE
        assert (await running.do("curation.get", ana, curation=opened.curation)).seen == 1_000


@pytest.mark.slow
@pytest.mark.both_stores
async def test_two_tabs_never_lose_an_event(tmp_path: Path) -> None:
    """Tabs that append at once: each takes in what it lacks, and sends its own again."""
    async with asked(tmp_path) as (running, ana, request, _):
        opened = await running.do("curation.open", ana, request=request)
        key = opened.curation

        async def tab(name: str) -> None:
            seen = 0
            for number in range(20):
                event = sent(f"{name}{number:03}", "accept" if number % 2 else "reject", "INT", P53)
                while True:
                    try:
                        done = await running.do(
                            "curation.append", ana, curation=key, seen=seen, events=[event]
                        )
                    except MissingEventsError as error:
                        seen = error.missing[-1][0] + 1
                        continue
                    seen = done.seen
                    break

        await asyncio.gather(*(tab(name) for name in ("one", "two", "three")))
        log = await running.do("curation.events", ana, curation=key)
        assert [one.seq for one in log] == list(range(60))
        for name in ("one", "two", "three"):
            own = [one.event.key for one in log if one.event.key.startswith(f"event-{name}")]
            assert own == [f"event-{name}{number:03}" for number in range(20)]
        assert (await running.do("curation.get", ana, curation=key)).seen == 60
        other = await running.do("consensus.ask", ana, text=f"{TEXT} ", wait=20.0)
        second = (await running.do("curation.open", ana, request=other.request)).curation
        small = CurationLogs(limit=1)  # it keeps the last one alone
        async with running.service.store.reading() as connection:
            entries = [await curations.get(connection, one) for one in (key, second, key)]
            for logs in (running.service.part(CurationParts).logs, small, small):
                read = [await logs.read(connection, one) for one in entries if one is not None]
                assert [len(one) for one in read] == [60, 0, 60]
                assert list(read[0]) == list(read[2]) == [one.event for one in log]
        assert len(small._known) == 1


@pytest.mark.slow
async def test_candidates_are_withheld_while_a_phase_has_the_article(tmp_path: Path) -> None:
    async with asked(tmp_path) as (running, ana, request, _):
        opened = await running.do("curation.open", ana, request=request)
        key = {"curation": opened.curation}
        event = sent("0001", "accept", "INT", P53)
        await running.do("curation.append", ana, **key, seen=0, events=[event])
        await running.add_corpus("late", [Article(id=ArticleId("9"), text=TEXT.upper())])
        await running.add_phase("late", "late")
        for name, values in (
            ("curation.get", key),
            ("curation.refresh", key),
            ("curation.submit", key),
            ("curation.open", {"request": request}),
            ("consensus.explain", {"request": request, "item": P53}),
        ):
            refused = await running.refused(name, ana, **values)
            assert (refused.refusal, refused.message) == (Refusal.STATE, GUARDED), name
            assert P53 not in str(refused.detail)
        shown = await running.do("consensus.get", ana, request=request)
        assert (shown.candidates, shown.relevant, shown.methods) == ((), (), {})
        assert {(one.server, one.hits) for one in shown.servers} == {("a", 0), ("b", 0)}
        assert (await running.do("curation.get", **key)).candidates  # to organisers
        more = await running.do(
            "curation.append", ana, **key, seen=1, events=[sent("0002", "note")]
        )
        assert more.seen == 2  # what a page has decided is not lost
        for act in ("open", "freeze", "close"):
            await running.do(f"phases.{act}", phase="late")
        assert (await running.do("curation.get", ana, **key)).candidates == opened.candidates
        await running.do("curation.submit", ana, **key, undecided=True)
        assert (await running.do("consensus.get", ana, request=request)).candidates
        await running.add_phase("later", "late")
        for name in ("curation.export", "curation.reopen"):
            assert (await running.refused(name, ana, **key)).message == GUARDED, name
