"""Consensus models of a hub: learned from closed phases alone, used, older than a server."""

import random
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from annotators.contract import Answer, Context
from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.records import ServerName
from metaserver.base.states import JobState
from metaserver.cli.catalogue import OPERATIONS
from metaserver.curation.candidates import PanelDifference
from metaserver.curation.parts import CurationParts
from metaserver.curation.store import consensus_models
from metaserver.operations.caller import Caller
from metaserver.operations.table import perform
from metaserver.publication.training import COMPARED
from metaserver.store import audit
from tests.hubs.command import DEMO
from tests.hubs.inside import ORGANISER, Running, at_work, plan_phase, settings
from tests.hubs.release import ACCESSIONS
from tests.hubs.sites import client_of
from tests.integration.curating import TEXT, curator, register, scripted

GOLD: defaultdict[str, list[str]] = defaultdict(list)
for line in (DEMO / "gold_int.tsv").read_text().splitlines():
    GOLD[line.split("\t")[0]].append(line.split("\t")[1])

NAMES = ("good", "fair", "poor", "good-again")
SHARES = {"good": 0.95, "fair": 0.7, "poor": 0.1, "good-again": 0.9}
"""The share of the gold's items that each server finds."""


def annotator(name: str) -> Callable[[str, Context], Awaitable[Answer]]:
    """Return a server that finds its share of the gold, and wrong ones as well."""

    async def annotate(_: str, context: Context) -> Answer:
        article = context["article_id"]
        rng = random.Random(f"{name} {article}")
        right = [one for one in GOLD.get(article, ACCESSIONS[:2]) if rng.random() < SHARES[name]]
        found = list(dict.fromkeys([*right, *rng.sample(ACCESSIONS, 3)]))
        return {
            "normalizations": [
                {"dbid": one, "rank": rank, "confidence": 1 / rank, "evidence": f"{name} {one}"}
                for rank, one in enumerate(found, 1)
            ],
            "mentions": [{"offset": 3, "mention": "p53", "dbid": found[0]}],
        }

    return annotate


@asynccontextmanager
async def answered(folder: Path) -> AsyncIterator[Running]:
    """Run a hub whose phase was answered by four servers of three teams, and is frozen."""
    async with scripted(NAMES) as servers, at_work(await settings(folder)) as running:
        for name, one in servers.items():
            one.respond = annotator(name)
        await plan_phase(running)
        await register(running, {name: servers[name] for name in NAMES[:3]}, concurrency=4)
        team = running.team("good")
        await running.do("servers.register", team, server="good-again",
                         url=servers["good-again"].url, parameters="text+context")  # fmt: skip
        assert (await running.do("servers.test", team, server="good-again")).passed
        await running.do("phases.open", phase="test")
        for name in NAMES:
            team = running.team("good" if name == "good-again" else name)
            await running.do("servers.start", team, server=name, phase="test")
        await running.until(
            lambda: all(running.status(ServerName(name)).state == "finished" for name in NAMES)
        )
        await running.do("phases.freeze", phase="test")
        yield running


async def failure(running: Running, **values: object) -> str:
    """Return why a training fails."""
    begun = await perform(OPERATIONS["consensus.train"], running.service, ORGANISER, values)
    job = running.service.jobs.own.get(begun.job)
    await job.ended()
    assert job.state is JobState.FAILED
    return job.error


@pytest.mark.slow
async def test_a_model_is_learned_from_a_closed_phase_and_used(tmp_path: Path) -> None:
    async with answered(tmp_path) as running:
        ana = await curator(running)
        for values in ({"task": "INT"}, {"task": "INT", "phases": ("test",)}):
            assert (await running.refused("consensus.train", **values)).refusal is Refusal.STATE
        assert (await running.do("consensus.models")).offers == ()
        await running.do("phases.close", phase="test")
        [offer, _] = (await running.do("consensus.models")).offers
        assert (offer.task, offer.phases) == ("INT", ("test",))

        made = await running.do("consensus.train", task="INT")
        assert (made.method, made.active, made.report.articles) == ("stacked", False, 22)
        assert [(one.phase, one.version) for one in made.golds] == [("test", 1)]
        teams = {one.team: one.server for one in made.members}
        assert teams == {"good": "good", "fair": "fair", "poor": "poor"}  # one of each team
        by_method = {one.method: one for one in made.report.methods}
        assert set(by_method) == {"stacked", "maxent", "rrf1", "votes"}
        stacked = by_method["stacked"]
        assert stacked.calibration_error is not None
        assert stacked.likely_error is not None
        assert by_method["rrf1"].calibration_error is None
        best = max(one.auc_ipr for one in made.members)
        assert made.report.best_member >= best > 0.5
        assert sum(one.candidates for one in made.report.calibration) > 0
        values = {one.team: one.value for one in made.report.contributions}
        assert values["good"] > values["poor"]
        assert [one.task for one in (await running.do("consensus.models")).offers] == ["IPT"]

        asked = await running.do("consensus.ask", ana, text=TEXT, tasks=("INT",), wait=20.0)
        assert asked.methods == {"INT": "rrf1"}
        assert (await running.do("consensus.use", model=made.model)).active
        ranked = await running.do("consensus.get", ana, request=asked.request)
        assert (ranked.methods, ranked.differences) == ({"INT": "stacked"}, {})
        first = ranked.candidates[0]
        assert 0 < first.probability < 1
        with pytest.raises(RefusedError):  # it is in use
            await running.do("consensus.delete-model", model=made.model)

        with pytest.raises(RefusedError) as caught:  # it says what servers are worth
            await running.do("consensus.get-consensus", running.team("fair"), article="sample01",
                             methods=("stacked",))  # fmt: skip
        assert caught.value.refusal is Refusal.NOT_YOURS
        hidden = await running.do("consensus.get-consensus", ana, article="sample01")
        assert hidden.consensus == ()
        found = await running.do("consensus.get-consensus", article="sample01")
        [learned] = found.consensus
        assert (learned.method, learned.servers) == ("stacked", tuple(sorted(NAMES)))
        assert learned.candidates[0].probability is not None

        again = await running.do("consensus.train", task="INT", method="maxent")
        await running.do("consensus.use", model=again.model)
        known = (await running.do("consensus.models")).models
        assert [(one.model, one.active) for one in known] == [
            (again.model, True),
            (made.model, False),
        ]
        ranked = await running.do("consensus.get", ana, request=asked.request)
        assert ranked.methods == {"INT": "maxent"}
        await running.do("consensus.use", model=again.model, active=False)
        await running.do("consensus.delete-model", model=again.model)
        await running.do("consensus.use", model=made.model)
        assert "INT" in running.service.part(CurationParts).models
        async with running.service.store.writing() as connection:  # as another process does
            stored = await consensus_models.get(connection, made.model)
            assert stored is not None
            await consensus_models.use(connection, stored, False)
            await audit.add(connection, actor="x", action="x", subject="x")
        await running.service.phases.follower.reload_changes()
        assert "INT" not in running.service.part(CurationParts).models


@pytest.mark.slow
async def test_stored_answers_are_combined_for_those_who_may_read_them(tmp_path: Path) -> None:
    async with answered(tmp_path) as running:
        anybody, fair = Caller(), running.team("fair")

        async def combined(caller: Caller, **values: Any) -> Any:
            found = await running.do(
                "consensus.get-consensus", caller, **{"article": "sample01"} | values
            )
            assert (found.article, found.phase) == ("sample01", "test")
            named = {(one.item, name) for each in found.consensus for one in each.candidates
                     for name in one.servers}  # fmt: skip
            assert {(one.item, one.server) for one in found.evidence} == named
            assert all(one.evidence == f"{one.server} {one.item[0]}" for one in found.evidence)
            assert len(found.evidence) == len(named)
            return list(found.consensus)

        async def told(caller: Caller) -> set[str]:
            found = await running.do("annotations.get-annotations", caller, article="sample01")
            for one in found:
                hits, [mention] = one.answer["normalizations"], one.answer["mentions"]
                assert mention == {"offset": 3, "mention": "p53", "dbid": hits[0]["dbid"]}
                assert all(hit["evidence"] == f"{one.server} {hit['dbid']}" for hit in hits)
            return {one.server for one in found}

        async def refused(caller: Caller, **values: Any) -> Refusal:
            with pytest.raises(RefusedError) as caught:
                await combined(caller, **values)
            return caught.value.refusal

        assert await refused(fair) is Refusal.UNKNOWN  # it is frozen, not closed
        await running.do("phases.close", phase="test")
        assert await combined(anybody) == []
        assert (await told(fair), await told(anybody)) == ({"fair"}, set())
        [own] = await combined(fair)
        assert (own.task, own.method, own.servers) == ("INT", "rrf1", ("fair",))
        assert await refused(fair, servers=("good",)) is Refusal.UNKNOWN
        await running.do("phases.update", phase="test", visibility="public")
        [all_] = await combined(anybody)
        assert await told(anybody) == set(NAMES)
        assert all_.servers == tuple(sorted(NAMES))
        first = all_.candidates[0]
        assert first.probability is None
        assert first.agreement == len(first.servers) / 4
        votes, borda = await combined(
            anybody, methods=("votes", "borda"), servers=("good", "fair"), weights={"good": 3.0},
            cutoff=2,
        )  # fmt: skip
        assert (votes.method, borda.method) == ("votes", "borda")
        assert max(one.score for one in votes.candidates) <= 4.0
        assert len(votes.candidates) == len(borda.candidates) == 2
        assert await refused(anybody, threshold=0.5) is Refusal.INVALID
        assert await refused(anybody, methods=("magic",)) is Refusal.INVALID
        assert await refused(anybody, article="nowhere") is Refusal.UNKNOWN
        methods = {one.method: one for one in await running.do("consensus.get-consensus-methods")}
        assert methods["rrf1"].tasks == ("INT", "IPT")
        assert (methods["stacked"].tasks, methods["stacked"].learned) == ((), True)
        await running.add_phase("again")
        assert await refused(anybody) is Refusal.UNKNOWN  # it is a test article again


@pytest.mark.slow
async def test_organisers_train_and_use_a_model_on_their_page(tmp_path: Path) -> None:
    async with answered(tmp_path) as running, client_of(running) as client:
        token = (await running.do("tokens.create", role="organiser", label="eve")).token
        head = {"Authorization": f"Bearer {token}", "Sec-Fetch-Site": "same-origin"}

        async def page(path: str = "", **sent: str) -> str:
            method, address = "POST" if path or sent else "GET", f"/organise/consensus{path}"
            async with client.request(method, address, headers=head, data=sent) as response:
                return f"{response.status} {await response.text()}"

        assert "No model yet" in await page()
        assert "No phase with gold of INT is closed" in await page(task="INT", method="auto")
        await running.do("phases.close", phase="test")
        await running.do("phases.update", phase="test", title="Test of servers")
        offered = '<a href="/organise/phases/test">Test of servers</a>, whose gold is there'
        assert f"No model of INT has learned from {offered}" in await page()
        await page(task="INT", method="auto")
        job = running.service.jobs.own.at_work("consensus.train")
        if job is not None:
            await job.ended()
        [known] = (await running.do("consensus.models")).models
        shown = await page()
        assert "not in use" in shown
        assert "No model of IPT has learned from" in shown
        for row in (*COMPARED, "fair"):
            assert f'<th scope="row">{row}</th>' in shown
        assert "Use no model" in await page(f"/{known.model}/use", active="true")
        assert "It is in use" in await page(f"/{known.model}/delete")
        assert "not in use" in await page(f"/{known.model}/use")
        assert "No model yet" in await page(f"/{known.model}/delete")


async def test_a_team_agrees_on_its_page_and_withdraws(tmp_path: Path) -> None:
    async with at_work(await settings(tmp_path)) as running, client_of(running) as client:
        await running.do("teams.create", team="blue")
        team = running.team("blue")
        await running.do("servers.register", team, server="early", url="http://127.0.0.1:1/",
                         serves_curators=True)  # fmt: skip
        assert (await running.do("servers.get", team, server="early")).serves_curators
        token = (await running.do("tokens.create", role="team", team="blue", label="b")).token
        head = {"Authorization": f"Bearer {token}"}
        sent = {"server": "blue-1", "url": "http://127.0.0.1:1/", "concurrency": "1"}
        for given, agreed in (({}, False), ({"serves_curators": "true"}, True)):
            name = f"blue-{agreed}".lower()
            form = sent | given | {"server": name}
            async with client.post("/team/register", data=form, headers=head) as response:
                assert response.status == 200
            assert (await running.do("servers.get", team, server=name)).serves_curators is agreed
            path = f"/team/servers/{name}"
            for change in (not agreed, agreed):
                form = {"serve": "true"} if change else {}
                async with client.post(f"{path}/curators", data=form, headers=head) as response:
                    shown = await response.text()
                detail = await running.do("servers.get", team, server=name)
                assert detail.serves_curators is change
                assert ("Stop serving curators" in shown) is change
                assert ("Serve curators</button>" in shown) is not change
        await running.do("servers.retire", team, server="blue-true")
        async with client.post("/team/servers/blue-true/curators", headers=head) as response:
            assert response.status == 409
        async with client.get("/team/servers/blue-true", headers=head) as response:
            assert "Stop serving curators" not in await response.text()


@pytest.mark.slow
async def test_no_model_learns_from_gold_of_a_phase_that_is_not_closed(tmp_path: Path) -> None:
    async with answered(tmp_path) as running:
        await running.do("phases.close", phase="test")
        article = (DEMO / "articles" / "sample01.txt").read_bytes()
        await running.do("corpora.import", corpus="one", source="other.txt", content=article)
        await running.add_phase("next", "one")
        made = await running.do("consensus.train", task="INT")
        assert (made.report.articles, made.report.left_out) == (21, 1)
        await running.add_phase("again")
        assert "no answer of a closed phase" in await failure(running, task="INT")


@pytest.mark.slow
async def test_a_model_is_older_than_a_server_that_reports_another_version(tmp_path: Path) -> None:
    async with answered(tmp_path) as running:
        await running.do("phases.close", phase="test")
        desk, versions = (
            running.service.part(CurationParts).requests,
            running.service.servers.client.versions,
        )
        ana = await curator(running)
        asked = await running.do("consensus.ask", ana, text=TEXT, tasks=("INT",), wait=20.0)
        assert versions.changed() == {}  # they are kept with the answers that report them
        made = await running.do("consensus.train", task="INT")
        assert all(one.version for one in made.members)
        await running.do("consensus.use", model=made.model)
        asked = await running.do("consensus.get", ana, request=asked.request)
        assert asked.differences == {}
        versions.report(ServerName("fair"), "9.0")
        await desk.keep_versions()
        assert versions.changed() == {}
        [known] = (await running.do("consensus.models")).models
        assert known.changed == ("fair",)
        asked = await running.do("consensus.get", ana, request=asked.request)
        assert asked.differences == {"INT": PanelDifference(changed=("fair",))}
