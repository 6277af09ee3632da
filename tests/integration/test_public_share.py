"""Scores of a secret part of the gold while a phase is open, of all of it from the freeze on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from metaserver.model.errors import RefusedError
from metaserver.model.records import ArticleId, PhaseName
from metaserver.operations.caller import Caller
from scoring import evaluate_files
from tests.hubs.inside import ORGANISER, Running, at_work, settings
from tests.hubs.sites import client_of
from tests.integration.test_gaming import ARTICLES, RELEVANT, act_file, playing, upload

pytestmark = pytest.mark.slow

CALLED = frozenset(
    name for place, name in enumerate(ARTICLES) if (name in RELEVANT) ^ (place % 7 == 0)
)


@asynccontextmanager
async def half_public(folder: Path) -> AsyncIterator[Running]:
    """Run a hub whose open phase shows scores of half of its gold, with a run of a team."""
    async with playing(folder, "public", public_share=0.5) as running:
        await upload(running, "good", "run", act_file(CALLED))
        yield running


def drawn(running: Running) -> Collection[ArticleId]:
    """Return the articles of ACT's gold that are public."""
    part = running.service.scheduler.phases[PhaseName("test")].part
    assert part is not None
    return part.draw(map(ArticleId, ARTICLES))


def scored(folder: Path, articles: Collection[str]) -> Mapping[str, float]:
    """Return what `scoring` says of the run on the gold of some articles."""
    gold, run = folder / "gold.tsv", folder / "run.tsv"
    gold.write_text("".join(f"{n}\t{n in RELEVANT:d}\n" for n in ARTICLES if n in articles))
    run.write_bytes(act_file(CALLED))
    card: Any = evaluate_files("ACT", gold, run)
    return {"auc_ipr": card.auc_ipr, "mcc": card.confusion.mcc}


async def board(running: Running, caller: Caller, **more: str) -> Any:
    return await running.do("boards.get", caller, phase="test", task="ACT", **more)


def values(found: Any) -> Mapping[str, Any]:
    [row] = found.rows
    return {name: row.values[name] for name in ("auc_ipr", "mcc")}


async def test_open_scores_are_of_the_drawn_half_and_frozen_ones_of_all(tmp_path: Path) -> None:
    async with half_public(tmp_path) as running, client_of(running) as client:
        team, half = running.team("bad"), drawn(running)
        assert len(half) == len(ARTICLES) / 2
        part, whole = scored(tmp_path, half), scored(tmp_path, ARTICLES)
        assert part != whole
        seen = await board(running, team)
        assert values(seen) == {name: round(value, 2) for name, value in part.items()}
        assert (seen.view, seen.views) == ("public", ("public",))
        for view in ("raw", "both"):
            with pytest.raises(RefusedError, match="view"):
                await board(running, team, view=view)
        for address in ("", ".csv", ".json", "?view=public"):
            async with client.get(f"/c/bc/test/board/ACT{address}") as response:
                assert response.status == 200
                text = await response.text()
                assert f"{round(part['auc_ipr'], 2):.2f}" in text, address
        async with client.get("/c/bc/test/board/ACT/articles?view=public") as response:
            text = await response.text()
            assert not [name for name in ARTICLES if name in text]
        [mine] = await running.do("runs.mine", running.team("good"), phase="test")
        assert mine.score in {round(value, 2) for value in part.values()}
        assert values(await board(running, ORGANISER)) == pytest.approx(whole, abs=1e-12)
    async with at_work(await settings(tmp_path)) as running:
        team = running.team("bad")
        assert drawn(running) == half
        assert values(await board(running, team)) == values(seen)

        await running.do("phases.freeze", phase="test")
        assert values(await board(running, team)) == pytest.approx(whole, abs=1e-12)
        assert values(await board(running, team, view="public")) == pytest.approx(part, abs=1e-12)


async def test_gold_that_is_replaced_keeps_its_draw(tmp_path: Path) -> None:
    async with half_public(tmp_path) as running:
        before, team = drawn(running), running.team("bad")
        seen = values(await board(running, team))
        turned = "".join(f"{name}\t{name not in RELEVANT:d}\n" for name in ARTICLES)
        gold = {"phase": "test", "task": "ACT", "source": "gold.tsv", "content": turned.encode()}
        await running.do("gold.set", **gold)
        assert drawn(running) == before
        after = await board(running, team)
        assert after.view == "public"
        assert values(after) != seen


async def test_a_share_is_refused_where_it_cannot_be_applied(tmp_path: Path) -> None:
    async with half_public(tmp_path) as running:
        with pytest.raises(RefusedError, match="public_share") as refused:
            await running.do("phases.update", phase="test", public_share=0.7)
        assert refused.value.field == "public_share"
        with pytest.raises(RefusedError) as refused:
            await running.do("phases.update", phase="test", public_share=0)
        assert refused.value.field == "public_share"
        given = {"challenge": "bc", "phase": "relations", "corpus": "many", "release": "test"}
        with pytest.raises(RefusedError, match="scored whole") as refused:
            await running.do("phases.create", **given, tasks=["BB-cat"], public_share=0.5)
        assert refused.value.field == "public_share"
