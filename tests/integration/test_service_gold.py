"""Gold set by organisers: runs are scored again, old boards are frozen, nobody else sees it."""

import asyncio
import gzip
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from annotators.contract import Answer, Context
from annotators.server import Kit
from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.records import ServerName
from metaserver.base.states import PhaseState
from metaserver.boards.scoreboard import Scoreboard
from metaserver.cli.catalogue import OPERATIONS
from metaserver.operations.gold import NewGold, _proposal
from metaserver.operations.regrading import RETRY_SECONDS, Regrading
from metaserver.operations.table import perform
from metaserver.phases.archiver import BoardArchiver
from metaserver.phases.jobs import Job, Progress
from metaserver.phases.runtime import RunningPhase
from metaserver.store import runs as kept_runs
from metaserver.tasks.plugin import installed_tasks
from tests.hubs.command import ARTICLES, DEMO
from tests.hubs.inside import ORGANISER, Running, at_work, plan_phase, settings
from tests.hubs.release import ACCESSIONS
from tests.integration.kits import annotate, answer_for, served

INT_GOLD = (DEMO / "gold_int.tsv").read_bytes()


async def run_to_end(running: Running, url: str = "") -> None:
    """Have a server of team blue answer a whole phase: the kit's, or one at a URL."""
    async with served(Kit(annotate)) as other:
        await running.register(url or other)
        await running.do("phases.open", phase="test")
        await running.do("servers.start", running.team("blue"), server="blue-1")
        await running.done()


def waiting(phase: RunningPhase) -> int:
    """Return how many wait for their turn to change a phase's scores."""
    return len(phase.scoring._waiters or ())


def run_file(*, rising: bool = False) -> bytes:
    """Return an INT result file: two hits for each of two articles; or one with faults."""
    a, b = ACCESSIONS[:2]
    lines = [f"sample{n:02}\t{hit}\t{rank}\t{1 / rank}\n" for n in (1, 2) for rank, hit in
             enumerate((a, b), 1)]  # fmt: skip
    if rising:
        lines[3] = lines[3].replace("\t2\t0.5", "\t7\t1.5")
    return "".join(lines).encode()


@pytest.mark.both_stores
async def test_gold_that_is_changed_scores_anew_and_keeps_the_board(running: Running) -> None:
    await run_to_end(running)
    boards = running.service.phase("test").boards
    before = boards.board("INT").rows[0].values
    text = answer_for((DEMO / "articles" / "sample01.txt").read_text("utf-8"))
    hit = text["normalizations"][0]["dbid"]
    changed = INT_GOLD + f"sample01\t{hit}\n".encode() + b"nowhere\tP04637\n"
    given = {"phase": "test", "task": "INT", "content": changed, "source": "late.tsv"}

    seen = await running.do("gold.preview", **given)
    assert (seen.version, seen.replaces, seen.changed, seen.frozen) == (None, 1, True, None)
    assert (seen.added, seen.removed, seen.unknown) == (2, 0, ("nowhere",))
    assert [(one.article, one.added) for one in seen.changes] == [
        ("nowhere", ("P04637",)),
        ("sample01", (hit,)),
    ]
    [run] = seen.runs
    assert (run.before, run.after["tp"]) == (dict(before), before["tp"] + 1)
    assert boards.board("INT").rows[0].values == before  # a preview changes nothing
    assert len(await running.do("gold.list", phase="test")) == 3

    kept = await running.do("gold.set", **given)
    assert (kept.version, kept.replaces, kept.runs) == (2, 1, seen.runs)
    assert boards.board("INT").rows[0].values == run.after
    frozen = await running.do("boards.get-frozen", board=kept.frozen)
    assert frozen.rows[0].values == dict(before)
    assert frozen.rows[0].interval is not None
    versions = await running.do("gold.list", phase="test")
    marks = {one.version: one.checksum[:16] for one in versions if one.task == "INT"}
    assert "|gold:1|" in frozen.signature
    assert frozen.signature.endswith(f"|mark:{marks[1]}")
    shown = boards.board("INT")
    assert "|gold:2|" in shown.signature
    assert shown.gold == marks[2] != marks[1]
    [listed] = await running.do("boards.frozen", phase="test")
    assert (listed.gold_version, listed.reason) == (1, "gold version 2 replaced 1")

    again = await running.do("gold.set", **given)
    assert (again.changed, again.version) == (False, 2)
    assert len(await running.do("boards.frozen", phase="test")) == 1
    file = await running.do("gold.get", phase="test", task="INT", version=1)
    assert file.content == INT_GOLD


@pytest.mark.slow
@pytest.mark.both_stores
async def test_answers_that_land_while_gold_is_set_are_scored(running: Running) -> None:
    async def slowly(text: str, _context: Context) -> Answer:
        await asyncio.sleep(0.01)
        return answer_for(text)

    async with served(Kit(slowly)) as url:
        work = asyncio.create_task(run_to_end(running, url))
        await running.until(
            lambda: running.service.phase("test").boards.scoreboard.count("INT") > 0
        )
        versions = 0
        while not work.done():
            versions += 1
            content = INT_GOLD + f"late{versions}\tP04637\n".encode()
            given = {"phase": "test", "task": "INT", "content": content, "source": "late.tsv"}
            assert (await running.do("gold.set", **given)).version == versions + 1
        await work
    phase = running.service.phase("test")
    live = phase.boards.scoreboard
    afresh = Scoreboard(live.scored(), live.ranking, live.coverage)
    await phase.score_answers(afresh)
    for task in afresh.tasks():
        board = afresh.board(task.name)
        assert board.rows[0].articles_scored > 0
        assert phase.boards.scoreboard.board(task.name) == board


async def test_a_gold_change_scores_each_answer_of_its_task_once(running, monkeypatch):
    await run_to_end(running)
    upload = {"phase": "test", "task": "INT", "run": "file", "content": run_file()}
    await running.do("runs.upload", running.team("blue"), **upload)
    seen: list[tuple[str, str, tuple[str, ...]]] = []
    put_all = Scoreboard.put_all

    def counted(board: Scoreboard, server: Any, answers: Any) -> None:
        answers = list(answers)
        seen.extend((server, article, tuple(payloads)) for article, payloads in answers)
        put_all(board, server, answers)

    monkeypatch.setattr(Scoreboard, "put_all", counted)
    given = {"phase": "test", "task": "INT", "source": "g.tsv"}
    for name in ("gold.preview", "gold.set"):
        seen.clear()
        await running.do(name, **given, content=INT_GOLD + b"sample01\tP99999\n")
        assert len(seen) == len(set(seen)) == 2 * ARTICLES
        assert {tasks for *_, tasks in seen} == {("INT",)}
    seen.clear()
    await running.do("gold.set", **given, content=INT_GOLD + b"sample01\tP99999\n")
    assert seen == []  # the same file again scores nothing
    job = running.service.jobs.own.list_all()[0]
    assert (job.kind, job.subject, job.asked_by) == ("gold.set", "test INT", "organiser ana")


async def test_gold_is_set_only_in_place_of_what_it_was_held_against(running: Running) -> None:
    given = {"phase": "test", "task": "INT", "source": "g.tsv"}
    for replaces in (0, 2):
        with pytest.raises(RefusedError, match="another version was set meanwhile"):
            await running.do("gold.set", **given, content=INT_GOLD[:-1], replaces=replaces)
    assert (await running.do("gold.set", **given, content=INT_GOLD[:-1], replaces=1)).version == 2
    async with running.service.phase("test").scoring:  # both are begun before either is at work
        both = [
            await begin_job(
                running, **given, content=INT_GOLD + f"x\tP{n:05}\n".encode(), replaces=2
            )
            for n in range(2)
        ]
    for job in both:
        await job.ended()
    assert sorted(job.state for job in both) == ["done", "failed"]  # the second found the first's
    assert len(await running.do("gold.list", phase="test")) == 5


async def begin_job(running: Running, **values: Any) -> Job:
    """Begin to set gold; return the job."""
    detail = await perform(OPERATIONS["gold.set"], running.service, ORGANISER, values)
    job = running.service.jobs.own.get(detail.job)
    assert job is not None
    return job


@dataclass
class Recorded(Progress):
    """The progress of a job that keeps its steps: (step, whether it can be cancelled)."""

    steps: list[tuple[str, bool]] = field(default_factory=list)

    def begin(self, step: str, total: int = 0) -> None:
        super().begin(step, total)
        self.steps.append((step, not self.fixed))


async def test_a_gold_change_reports_each_step_and_is_fixed_when_it_stores(running):
    await run_to_end(running)
    request = NewGold(phase="test", task="INT", content=INT_GOLD[:-1], source="g.tsv")
    looked_at, changed, same = Recorded(), Recorded(), Recorded()
    for progress, work in ((looked_at, "preview"), (changed, "set"), (same, "set")):
        regrading = Regrading(
            hub=running.service,
            caller=ORGANISER,
            proposal=await _proposal(running.service, request),
        )
        change = await getattr(regrading, work)(progress)
        assert change.changed is (progress is not same)
    steps = [step for step, _ in looked_at.steps]
    assert steps[0] == "waiting for its turn"
    assert len(steps) > 1
    assert not looked_at.fixed
    more = [step for step, _ in changed.steps][len(steps) :]
    assert [step for step, _ in changed.steps][: len(steps)] == steps
    assert (more[0], more[-1]) == ("keeping the board as it was", "storing")
    assert changed.fixed
    assert [step for step, _ in same.steps] == ["waiting for its turn"]
    assert not same.fixed
    [entry] = [
        one
        for one in await running.do("audit.list", subject="test")
        if one.action == "gold.set" and one.actor == ORGANISER.name
    ]
    detail = dict(entry.detail)
    assert detail.pop("frozen")
    assert detail == {"task": "INT", "version": 2, "source": "g.tsv", "added": 0, "removed": 0}


async def test_gold_that_is_not_there_is_refused(running: Running) -> None:
    for task, version in (("INT", 2), ("NER", None), ("nothing", None)):
        refused = await running.refused("gold.get", phase="test", task=task, version=version)
        assert (refused.refusal, refused.field) == (Refusal.UNKNOWN, "task")
    for task, content, wrong in (
        ("no", INT_GOLD, "task"), ("INT", b"", "content"), ("INT", gzip.compress(b""), "content"),
    ):  # fmt: skip
        given = {"task": task, "source": "g.tsv", "content": content}
        assert (await running.refused("gold.set", phase="test", **given)).field == wrong


async def test_gold_must_fit(running: Running) -> None:
    for content, said in (
        (b"a\tP04637\nb\n", "g.tsv:2: "),
        (b"a\tP04637\n", "none of its articles"),
        (b"sample01\tTP53\n", "none of its accessions"),
        (b"sample01\t1\nsample02\t0\n", "as gold of ACT has"),
    ):
        given = {"task": "INT", "source": "g.tsv", "content": content}
        assert said in (await running.refused("gold.set", phase="test", **given)).message


async def test_a_preview_names_the_accessions_that_no_answer_can_have(running: Running) -> None:
    content = INT_GOLD + b"sample01\tMDM2\nsample01\tA0A000AAA0\n"
    given = {"phase": "test", "task": "INT", "content": content, "source": "late.tsv"}
    seen = await running.do("gold.preview", **given)
    assert list(seen.unanswerable) == ["A0A000AAA0", "MDM2"]
    assert seen.unanswerable["MDM2"].startswith("is not an accession")
    fits = await running.do("gold.preview", **given | {"content": INT_GOLD})
    assert fits.unanswerable == {}


@pytest.mark.slow
async def test_a_frozen_phase_keeps_its_boards_once(tmp_path: Path) -> None:
    given = await settings(tmp_path)
    async with at_work(given) as running:
        await plan_phase(running, teams=["blue"], visibility="own")
        await run_to_end(running)
        await running.do("phases.freeze", phase="test")
        kept = await running.frozen(3)
    assert {(one.task, one.gold_version, one.reason) for one in kept} == {
        (task, 1, "frozen") for task in ("ACT", "INT", "IPT")
    }
    async with at_work(given) as running:  # it finds them kept
        await running.until(lambda: running.service.phase("test").state is PhaseState.FROZEN)
        await running.service.part(BoardArchiver).look(running.service.phase("test"))
        assert await running.do("boards.frozen", phase="test") == kept
        # killed before they were kept: as if there were none
        async with running.service.store.writing() as connection:
            await connection.exec_driver_sql("DELETE FROM frozen_boards")
    async with at_work(given) as running:
        await running.frozen(3)


async def test_a_kept_board_is_on_the_gold_that_it_names(running: Running) -> None:
    await run_to_end(running)
    phase = running.service.phase("test")
    async with phase.scoring:  # as a gold change does, whose board is shown at its end
        await running.do("phases.freeze", phase="test")
        await running.until(lambda: waiting(phase))  # of the archiver
        phase.gold = {task: replace(gold, version=2) for task, gold in phase.gold.items()}
    assert {(one.task, one.gold_version) for one in await running.frozen(3)} == {
        (task, 2) for task in ("ACT", "INT", "IPT")
    }


async def test_runs_that_wait_for_a_gold_change_find_the_phase_as_it_is_then(running):
    blue = running.team("blue")
    await running.do("phases.open", phase="test")
    one = {"phase": "test", "task": "INT", "content": run_file()}
    phase = running.service.phase("test")
    async with phase.scoring:
        upload = asyncio.create_task(running.do("runs.upload", blue, **one, run="a"))
        await running.until(lambda: waiting(phase))
        await running.service.phases.scheduler.open(phase.phase)
    await upload
    phase = running.service.phase("test")
    assert list(phase.offline) == ["a"]  # not of the one that is shown no longer
    async with phase.scoring:
        changes = [
            asyncio.create_task(running.refused("runs.upload", blue, **one, run="b")),
            asyncio.create_task(running.refused("runs.delete", blue, phase="test", run="a")),
        ]
        await running.until(lambda: waiting(phase) == 2)
        await running.do("phases.freeze", phase="test")
    for refused in await asyncio.gather(*changes):
        assert refused.refusal is Refusal.STATE
        assert "is frozen" in refused.message
    assert [run.run for run in await running.do("runs.list", phase="test")] == ["a"]


async def test_a_change_of_a_phase_that_had_to_wait_keeps_what_took_part_meanwhile(running):
    await running.do("phases.open", phase="test")
    first, scheduler = running.service.phase("test"), running.service.phases.scheduler
    one = {"phase": "test", "task": "INT", "content": run_file(), "run": "a"}
    async with first.scoring:  # as a gold change does
        changing = asyncio.create_task(scheduler.take_over(first.phase))
        await running.until(lambda: waiting(first))
        newer = await scheduler.open(first.phase)  # as another change does
        await running.do("runs.upload", running.team("blue"), **one)
    assert await changing is running.service.phase("test") is newer


async def test_a_run_is_refused_soon_while_gold_is_changed(running, monkeypatch):
    monkeypatch.setattr("metaserver.operations.runs.PATIENCE_SECONDS", 0.05)
    blue = running.team("blue")
    await running.do("phases.open", phase="test")
    one = {"phase": "test", "task": "INT", "content": run_file(), "run": "a"}
    await running.do("runs.upload", blue, **one)
    async with running.service.phase("test").scoring:
        for name, values in (("upload", one), ("delete", {"phase": "test", "run": "a"})):
            with pytest.raises(RefusedError, match="nothing was changed, try again") as refused:
                await running.do(f"runs.{name}", blue, **values)
            assert refused.value.refusal is Refusal.STATE
            assert refused.value.retry_after == RETRY_SECONDS
    await running.do("runs.upload", blue, **one)
    assert not running.service.phase("test").scoring.locked()


async def test_a_team_with_few_articles_sees_its_run_without_scores(running: Running) -> None:
    await running.do("teams.create", team="red")
    await running.do("phases.open", phase="test")
    red, one = running.team("red"), {"phase": "test", "task": "INT"}
    await running.do("runs.upload", red, **one, run="red-file", content=run_file())
    await running.do("phases.update", phase="test", visibility="own")
    own = await running.do("boards.get", red, **one)
    assert [(row.run, row.place, row.offline) for row in own.rows] == [("red-file", None, True)]
    assert {value for row in own.rows for value in row.values.values()} == {None}
    with pytest.raises(RefusedError, match="'mapped' is none of raw"):  # the release has no views
        await running.do("boards.get", red, **one, view="mapped")


@pytest.mark.both_stores
async def test_offline_runs_are_scored_like_their_file(tmp_path: Path) -> None:
    given = await settings(tmp_path)
    async with at_work(given) as running:
        await plan_phase(running, teams=["blue"])
        blue = running.team("blue")
        upload = {"phase": "test", "task": "INT", "run": "blue-file"}
        with pytest.raises(RefusedError, match="setup: its runs can no longer"):
            await running.do("runs.upload", blue, **upload, content=run_file())
        await running.do("phases.open", phase="test")
        refused = await running.refused(
            "runs.upload", blue, **upload, content=run_file(rising=True)
        )
        assert "line 4, column 4: confidence '1.5'" in refused.message
        unknown = b"sample01\tP00000\t3\t0.1\nelsewhere\tP04637\t1\t0.5\n"
        with_evidence = run_file().replace(b"\t0.5\n", b"\t0.5\twas  pulled down\n", 1)
        content = gzip.compress(with_evidence + unknown)
        done = await running.do("runs.upload", blue, **upload, content=content)
        assert done.articles == 2
        assert {problem.path for problem in done.problems} == {"line 5", "line 6"}
        board = await running.do("boards.get", phase="test", task="INT")
        assert [(row.run, row.team, row.offline) for row in board.rows] == [
            ("blue-file", "blue", True)
        ]
        one = {"article": "sample01", "server": "blue-file"}
        shown = await running.do("annotations.get-annotation", blue, **one)
        assert [hit.get("evidence") for hit in shown.answer["normalizations"]] == [
            None, "was  pulled down",
        ]  # fmt: skip
        named = await running.do("annotations.get-annotation-server-list", blue, article="sample01")
        assert named == ["blue-file"]
        other = running.team("red")  # it may not read this in an open phase
        assert not await running.do("annotations.get-annotations", other, article="sample01")
        assert (
            await running.refused("annotations.get-annotation", other, **one)
        ).field == "article"
        act = ("sample01\t1\t2\t0.2\nsample02\t1\t1\t0.1\n" + "sample03\t0\t1\t0.9\n").encode()
        await running.do("runs.upload", blue, **upload | {"task": "ACT", "run": "act"}, content=act)
    async with at_work(given) as running:  # they are there again
        assert await running.do("boards.get", phase="test", task="INT") == board
        task = installed_tasks()["ACT"]
        async with running.service.store.reading() as connection:
            run = running.service.phase("test").offline[ServerName("act")]
            packed = await kept_runs.packed_payloads(connection, run)
            assert await kept_runs.packed_asides(connection, run) is None
        stored = kept_runs.unpack_payloads(packed)
        assert "".join(task.result_lines(stored.items())).splitlines()[0] == "sample02\t1\t1\t0.1"
        file = await running.do("runs.get", running.team("blue"), phase="test", run="act")
        assert file.content == act
        await running.do("gold.set", phase="test", task="INT", source="g", content=INT_GOLD[:-1])
        again = await running.do("boards.get", phase="test", task="INT")
        assert again.rows[0].values == board.rows[0].values
        await running.do("runs.delete", running.team("blue"), phase="test", run="blue-file")
        assert (await running.do("boards.get", phase="test", task="INT")).rows == ()
    async with at_work(given) as running:
        runs = await running.do("runs.list", phase="test")
        assert [run.run for run in runs] == ["act"]


async def test_runs_have_a_limit_names_of_their_own_and_an_owner(running: Running) -> None:
    await running.do("teams.create", team="red")
    blue, red = running.team("blue"), running.team("red")
    await running.do("servers.register", red, server="red-1", url="http://127.0.0.1:9/")
    await running.do("phases.open", phase="test")
    one = {"phase": "test", "task": "INT", "content": run_file()}
    for number in range(5):
        await running.do("runs.upload", blue, **one, run=f"r{number}")
    await running.do("runs.upload", blue, **one, run="r0")  # in place of the first
    assert "5 offline runs" in (await running.refused("runs.upload", blue, **one, run="r5")).message
    taken = {"server": "r1", "url": "http://127.0.0.1:9/"}
    assert (await running.refused("servers.register", red, **taken)).field == "server"
    other = await running.refused("runs.upload", red, **one | {"task": "NER"}, run="x")
    assert other.field == "task"
    for name in ("runs.get", "runs.delete"):
        assert (await running.refused(name, red, phase="test", run="r1")).refusal is Refusal.UNKNOWN
    assert await running.do("runs.list", red, phase="test") == []
    shared = await running.do("runs.upload", red, **one, run="r1")
    assert (shared.run, shared.own_name) == ("red.r1", "r1")
    await running.do("phases.freeze", phase="test")
    late = await running.refused("runs.upload", red, **one, run="late")
    assert late.refusal is Refusal.STATE
    await running.do("runs.upload", **one, run="late", team="red")  # an organiser may
