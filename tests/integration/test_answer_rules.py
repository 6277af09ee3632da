"""Rules of a phase by which answers are read: its own, not the hub's, also after a restart."""

from pathlib import Path

import pytest

from annotators.contract import Answer, Context
from annotators.server import Kit
from metaserver.base.errors import RefusedError
from metaserver.base.plans import InferredConfidence, Normalisation
from tests.hubs.command import ARTICLES
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.hubs.release import ACCESSIONS
from tests.hubs.sites import signed_in, visiting
from tests.integration.kits import answer_for, served

RULES = {"normalise": "mend", "confidence": "rank"}


def historic(text: str, _context: Context) -> Answer:
    """Answer as a server of 2006 does: isoforms, ranks, no confidences."""
    found = [one["dbid"] for one in answer_for(text)["normalizations"]]
    hits = [{"dbid": f"{one}-2", "rank": rank} for rank, one in enumerate(found, 1)]
    return {"normalizations": hits}  # type: ignore[typeddict-item]


async def answered(running: Running, phase: str, url: str) -> list[object]:
    """Have a server answer a phase; return the board's rows."""
    blue = running.team("blue")
    server = f"old-{phase}"
    await running.do("servers.register", blue, server=server, url=url, concurrency=8)
    assert (await running.do("servers.test", blue, server=server, phase=phase)).passed
    await running.do("phases.open", phase=phase)
    await running.do("servers.start", blue, server=server, phase=phase)
    monitor = running.service.phase(phase).boards.server_monitor
    await running.until(lambda: monitor.status(server).done == ARTICLES)
    return list((await running.do("boards.get", phase=phase, task="INT")).rows)


@pytest.mark.slow
async def test_a_phase_reads_answers_by_rules_of_its_own(tmp_path: Path) -> None:
    given = await settings(tmp_path)
    async with at_work(given) as running, served(Kit(historic)) as url:
        await plan_phase(running, answers=RULES, kind="training", limits={"attempts": 1})
        await running.do("teams.create", team="blue")
        told = await running.do("phases.get", phase="test")
        assert told.answers.normalise is Normalisation.MEND
        assert told.answers.confidence is InferredConfidence.RANK
        before = await answered(running, "test", url)
        answers = await running.do("servers.attempts", running.team("blue"), server="old-test")
        assert {one.outcome for one in answers} == {"ok"}
        notes = " ".join(str(problem) for problem in answers[0].problems)
        assert "no hit has a confidence: the confidences are computed from the ranks" in notes
        assert "names an isoform" in notes
        assert before[0].values["tp"] > 0  # type: ignore[attr-defined]
        signature = (await running.do("boards.get", phase="test", task="INT")).signature
        assert "release:test+mend" in signature
        with pytest.raises(RefusedError, match="cannot be changed"):
            await running.do("phases.update", phase="test", answers={"normalise": "strict"})
        await running.do("phases.update", phase="test", answers=RULES, title="Unchanged")
    async with at_work(given) as running:
        assert (await running.do("boards.get", phase="test", task="INT")).rows == tuple(before)
        assert (await running.do("boards.get", phase="test", task="INT")).signature == signature
        assert len(ACCESSIONS) > 1


@pytest.mark.slow
async def test_a_phase_without_rules_has_those_of_the_hub(running: Running) -> None:
    told = await running.do("phases.get", phase="test")
    assert told.answers.normalise is Normalisation.STRICT
    assert told.answers.confidence is InferredConfidence.REQUIRED
    await running.do("phases.update", phase="test", answers={"mention_type": "protein"})
    told = await running.do("phases.get", phase="test")
    assert (told.answers.mention_type, told.answers.normalise) == ("protein", "strict")
    plan = await running.do("phases.plan", phase="test")
    assert plan.answers.normalise is None
    async with signed_in(running) as visitor:
        page = await visitor.get("/organise/phases/test/edit")
        assert 'name="answers.normalise"' in page.text
        assert 'value="protein"' in page.text
        await visitor.post(
            "/organise/phases/test/edit",
            {
                "title": "", "kind": "test", "tasks": "INT", "visibility": "hidden",
                "corpus": plan.corpus, "release": "test", "answers.normalise": "mend",
                "answers.confidence": "", "answers.mention_type": "", "usage.boards": "shown",
                "usage.currency": "EUR", "timezone": "UTC", "public_share": "1",
            },
        )  # fmt: skip
    plan = await running.do("phases.plan", phase="test")
    assert plan.answers.normalise is Normalisation.MEND
    assert (plan.answers.confidence, plan.answers.mention_type) == (None, "")
    assert (await running.do("phases.get", phase="test")).usage.currency == "EUR"
    assert running.service.phase("test").vocabulary.normalise is Normalisation.MEND


@pytest.mark.slow
async def test_the_protocol_is_shown_where_names_are(tmp_path: Path) -> None:
    async with at_work(await settings(tmp_path)) as running, served(Kit(historic)) as url:
        await plan_phase(running, answers=RULES, visibility="public", team_names="hidden")
        await running.do("teams.create", team="blue")
        await answered(running, "test", url)
        async with visiting(running) as visitor:
            for path in ("monitor", "board/INT", "board/INT.json"):
                page = await visitor.get(f"/c/bc/test/{path}")
                assert "xml-rpc" not in page.text.lower().replace("/xmlrpc", "")
                assert '"protocol": "xmlrpc"' not in page.text
        await running.do("phases.update", phase="test", team_names="shown")
        async with visiting(running) as visitor:
            assert ">XML-RPC</span>" in (await visitor.get("/c/bc/test/monitor")).text
            assert "<small>XML-RPC</small>" in (await visitor.get("/c/bc/test/board/INT")).text
