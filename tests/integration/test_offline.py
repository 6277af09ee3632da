"""Phases that take uploads only, in a real hub: bad files, good ones, boards, another gold."""

import csv
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.hubs.sites import organiser_token, visiting
from tests.integration.test_results_package import made
from tests.unit.metaserver.tasks.offline_samples import (
    BB_GOLD,
    CATEGORIES,
    CONFIDENCES,
    EVENTS,
    LABELS,
    NAMES,
    OTHER_SENTENCES,
    SENTENCES,
    zipped,
)

TASKS = ("BB-event", "BB-cat", "DDI-NER", "PPI-3D")
GOLD: Mapping[str, tuple[str, bytes]] = {
    "BB-event": ("gold.zip", zipped(BB_GOLD)),
    "BB-cat": ("gold.zip", zipped(BB_GOLD)),
    "DDI-NER": ("ddi.zip", zipped({"1.xml": SENTENCES, "2.xml": OTHER_SENTENCES})),
    "PPI-3D": ("pairs.tsv", LABELS.encode()),
}
HALF = zipped({"doc1.a2": EVENTS.splitlines()[0] + "\n" + CATEGORIES, "doc2.a2": ""})
WHOLE = zipped({"doc1.a2": EVENTS + CATEGORIES, "doc2.a2": EVENTS.splitlines()[0] + "\n"})
BAD = zipped({"doc1.a2": "R1\tLives_In Bacteria:T1 Location:T7\n", "doc7.a2": ""})


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    async with at_work(await settings(tmp_path)) as running:
        await plan_phase(running)
        await plan_offline(running)
        yield running


async def plan_offline(running: Running) -> None:
    """Plan, fill and open a phase of offline tasks; team blue takes part."""
    plan = {"challenge": "bc", "phase": "bb3", "tasks": TASKS, "visibility": "public"}
    await running.do("phases.create", **plan)
    for task, (source, content) in GOLD.items():
        await running.do("gold.set", phase="bb3", task=task, source=source, content=content)
    await running.do("teams.create", team="blue")
    await running.do("phases.open", phase="bb3")


async def test_a_bad_file_is_refused_with_every_fault_and_a_good_one_is_boarded(running):
    blue = running.team("blue")
    run: dict[str, Any] = {"phase": "bb3", "task": "BB-event", "run": "one"}
    bad = await running.refused("runs.upload", blue, **run, content=BAD)
    assert bad.message == (
        "doc1.a2 line 1: entity 'T7' is not in this article; "
        "doc7.a2: its article is not in the gold"
    )
    assert await running.do("runs.list", blue, phase="bb3") == []
    done = await running.do("runs.upload", blue, **run, content=HALF)
    assert (done.articles, done.problems) == (2, ())
    assert (await running.do("runs.get", blue, phase="bb3", run="one")).content == HALF
    await running.do("runs.upload", blue, **run | {"run": "two"}, content=WHOLE)
    board = running.service.phase("bb3").boards.scoreboard.board("BB-event")  # type: ignore[arg-type]
    assert [(row.run, row.place, row.values["f1"]) for row in board.rows] == [
        ("two", 1, 1.0),
        ("one", 2, 0.5),
    ]


async def test_the_other_tasks_take_their_files(running: Running) -> None:
    blue = running.team("blue")
    documents = (SENTENCES + OTHER_SENTENCES).count("<document")
    pairs = len(LABELS.splitlines())
    for task, content, whole in (("DDI-NER", NAMES, documents), ("PPI-3D", CONFIDENCES, pairs)):
        await running.do(
            "runs.upload", blue, phase="bb3", task=task, run=f"my-{task}", content=content.encode()
        )
        scores = running.service.phase("bb3").boards.scoreboard.scores(task)  # type: ignore[arg-type]
        [score] = scores.values()
        assert score.articles_scored == score.articles_in_gold == whole
        [shown] = (await running.do("boards.get", blue, phase="bb3", task=task)).rows
        assert (shown.articles_scored, shown.articles_in_gold) == (whole, whole)


async def test_what_is_answered_is_of_the_articles_of_the_gold(running: Running) -> None:
    blue = running.team("blue")
    given: dict[str, Any] = {"phase": "bb3", "task": "BB-event", "run": "one", "content": WHOLE}
    looked = await running.do("runs.preview", blue, **given)
    assert (looked.articles, looked.missing) == (2, 0)
    await running.do("runs.upload", blue, **given)
    pairs: dict[str, Any] = {"phase": "bb3", "task": "PPI-3D", "run": "pairs"}
    looked = await running.do("runs.preview", blue, **pairs, content=CONFIDENCES.encode())
    assert (looked.articles, looked.missing) == (len(LABELS.splitlines()), 0)
    [mine] = await running.do("runs.mine", blue)
    assert (mine.answered, mine.articles) == (2, 2)
    [team] = (await running.do("phases.watch", phase="bb3")).coverage
    cells = {cell.task: (cell.runs, cell.articles, cell.total) for cell in team.tasks}
    assert (cells["BB-event"], cells["BB-cat"]) == ((1, 2, 2), (0, 0, 2))


async def test_no_server_takes_part(running: Running) -> None:
    blue = running.team("blue")
    await running.do("servers.register", blue, server="blue-1", url="http://127.0.0.1:1/")
    for name in ("servers.start", "servers.next", "servers.test", "servers.test-status"):
        refused = await running.refused(name, blue, server="blue-1", phase="bb3")
        assert refused.message == (
            "phase bb3 takes uploads only (BB-cat, BB-event, DDI-NER, PPI-3D): no server takes part"
            " in it"
        )
    tested = await running.do("servers.test-status", blue, server="blue-1")
    assert tested.phase == "test"
    unknown = await running.refused(
        "servers.register", blue, server="b2", url="http://x/", tasks=("BB-cat",)
    )
    assert "BB-cat" in unknown.message


async def test_a_phase_has_tasks_of_one_kind(running: Running) -> None:
    plan = {"challenge": "bc", "phase": "both", "corpus": "demo", "release": "test"}
    mixed = await running.refused("phases.create", **plan, tasks=("INT", "BB-kb"))
    assert mixed.message == (
        "BB-kb take uploads only, and INT are answered by servers: plan a phase for each kind"
    )
    gold = {"source": "g", "content": b"x"}
    await running.do("phases.update", phase="bb3", title="Biotopes")
    for phase, task, said in (
        ("test", "PPI-3D", "PPI-3D takes uploads only: name it among the tasks of phase test"),
        ("bb3", "INT", "Biotopes takes uploads only, and INT is for servers"),
    ):
        assert (await running.refused("gold.set", phase=phase, task=task, **gold)).message == said
    assert (await running.do("phases.get", phase="bb3")).uploads_only
    assert not (await running.do("phases.get", phase="test")).uploads_only


async def test_without_gold_nothing_is_taken(running: Running) -> None:
    plan = {"challenge": "bc", "phase": "early", "tasks": ("BB-kb",)}
    await running.do("phases.create", **plan)
    await running.do("phases.open", phase="early")
    run: dict[str, Any] = {"phase": "early", "task": "BB-kb", "run": "one"}
    refused = await running.refused("runs.upload", running.team("blue"), **run, content=HALF)
    assert refused.message == (
        "phase early has no gold for BB-kb yet, so that runs cannot be checked"
    )


async def test_only_phases_of_uploads_need_no_corpus_and_no_release(running: Running) -> None:
    plan: dict[str, Any] = {"challenge": "bc", "phase": "asked", "tasks": ("INT",)}
    for given, field in (({}, "corpus"), ({"corpus": "demo"}, "release")):
        assert (await running.refused("phases.create", **plan, **given)).field == field
    await running.do("phases.create", **(plan | {"phase": "early", "tasks": ("BB-kb",)}))
    assert (await running.do("phases.plan", phase="early")).corpus == ""
    refused = await running.refused("phases.update", phase="early", tasks=("INT",))
    assert refused.field == "corpus"
    changed = {"phase": "early", "tasks": ("INT",), "corpus": "demo", "release": "test"}
    assert (await running.do("phases.update", **changed)).articles > 0


@pytest.mark.slow
async def test_pages_say_what_the_phase_takes(running: Running) -> None:
    blue = running.team("blue")
    for name, content in (("r0", HALF), ("r1", WHOLE)):
        given: dict[str, Any] = {"phase": "bb3", "task": "BB-event", "run": name}
        await running.do("runs.upload", blue, **given, content=content)
    async with visiting(running) as visitor:
        monitor = await visitor.get("/c/bc/bb3/monitor")
        assert "No server takes part in this phase" in monitor.said
        assert "/c/bc/bb3/board/DDI-NER" in monitor.text
        assert "data-stream" not in monitor.text
        board = await visitor.get("/c/bc/bb3/board/BB-event")
        assert "This task has no curves." in board.said
        assert "BB-event/articles" not in board.text
        table = (await visitor.get("/c/bc/bb3/board/BB-event.csv")).text.splitlines()
        place = table[0].split(",").index("run")
        assert [row.split(",")[place] for row in table[1:]] == ["r1", "r0"]
        await visitor.sign_in(await organiser_token(running))
        form = await visitor.get("/organise/uploads?phase=bb3")
        assert "BB-cat, BB-event: a zip of .a2 files" in form.said
        async with visitor.client.get("/organise/uploads/bb3/r0") as response:
            assert response.content_disposition is not None
            assert response.content_disposition.filename == "bb3.r0.BB-event.zip"


@pytest.mark.slow
async def test_a_results_package_has_the_boards_and_the_runs_as_they_came(running, tmp_path):
    blue = running.team("blue")
    for name, content in (("one", HALF), ("two", WHOLE)):
        given: dict[str, Any] = {"phase": "bb3", "task": "BB-event", "run": name}
        await running.do("runs.upload", blue, **given, content=content)
    await running.do("phases.freeze", phase="bb3")
    await running.frozen(len(TASKS), "bb3")
    plain = await made(running, tmp_path / "plain", phase="bb3")
    assert (plain["runs/BB-event/one.zip"], plain["runs/BB-event/two.zip"]) == (HALF, WHOLE)
    board = list(csv.DictReader(plain["tables/BB-event/raw.csv"].decode().splitlines()))
    assert [(row["run"], row["place"], row["f1"]) for row in board] == [
        ("two", "1", "1.0"),
        ("one", "2", "0.5"),
    ]
    assert all(float(row["low"]) <= float(row["f1"]) <= float(row["high"]) for row in board)
    assert not [name for name in plain if name.startswith("gold/")]
    assert "BB-event" in plain["report.html"].decode()
    whole = await made(running, tmp_path / "whole", phase="bb3", gold=True)
    assert whole["gold/BB-event.zip"] == GOLD["BB-event"][1]
    assert whole["gold/PPI-3D.tsv"] == LABELS.encode()
