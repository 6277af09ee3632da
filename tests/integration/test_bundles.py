"""Bundles of challenges: whole or nothing, every fault with its line, there and back again."""

import asyncio
import io
import json
import random
import re
import shutil
import struct
import tempfile
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from jsonschema import Draft202012Validator

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.states import PhaseState
from metaserver.base.zips import files_in, zip_of
from metaserver.cli import main
from metaserver.corpus.files import ZipLimits
from metaserver.operations import bundle_files
from metaserver.operations.bundle_files import BundleHead, read_bundle
from metaserver.operations.bundles import SAMPLES
from tests.docs.schemas import schema
from tests.hubs.inside import Running, at_work, settings
from tests.hubs.sites import signed_in, site_of, visiting
from tests.integration.test_backup import SECRET, filled
from tests.waiting import until

WHOLE = (SAMPLES / "interactions" / "challenge.yaml").read_text()
PLAN = re.sub(r"(?m)^(    runs:\n(      .+\n)+    methods: .+\n|teams:\n(  .+\n)+)", "", WHOLE)
"""The plan of the sample of interactions, without its baselines."""
METHOD = '{"run": "b", "team": "blue", "task": "INT"}'
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 600, 80) + bytes(40)
JPEG = b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x0b\x08" + struct.pack(">HH", 80, 600) + bytes(40)
RUN = b"pathway1\tP04637\t1\t0.9\npathway1\tQ00987\t2\t0.8\n"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    """A hub with nothing in it but a release."""
    async with at_work(await settings(tmp_path)) as running:
        yield running


def bundle(**changes: str | bytes | None) -> bytes:
    """Return the sample of interactions with other files, by name: `__` stands for `/`."""
    files = {name: path.read_bytes() for name, path in files_in(SAMPLES / "interactions")}
    for name, content in changes.items():
        place = name.replace("__", "/") if "/" not in name else name
        files[place] = content.encode() if isinstance(content, str) else content or b""
    return zip_of(files.items())


def plan(text: str) -> dict[str, str]:
    return {"challenge.yaml": text}


def methods(text: str) -> dict[str, str | bytes]:
    """Return files of a bundle with a run, and a file of methods."""
    run = "    runs: [{run: b, team: blue, task: INT, file: b.tsv}]\n"
    described = "    methods: m.jsonl\n"
    return {**plan(PLAN + run + described), "b.tsv": RUN, "m.jsonl": text}


def faults(content: bytes) -> list[str]:
    return list(map(str, read_bundle(content, "test").faults))


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (plan(PLAN.replace("kind: training", "kind: tranining")),
         "challenge.yaml:10: kind: 'tranining' is none of training, test"),
        (plan(PLAN.replace("    title: Test\n", "    titel: Test\n")),
         "challenge.yaml:19: titel: unknown field; did you mean title?"),
        (plan(PLAN.replace("timezone: UTC", "timezone: Mars")),
         "challenge.yaml:5: this machine does not know"),
        (plan(PLAN.replace("articles/interactions-test", "../etc")),
         "challenge.yaml:21: '../etc' is"),
        (plan(PLAN.replace("bundle: 1", "bundle: 2")), "challenge.yaml:2: bundle: Expected"),
        (plan(PLAN.replace("kind: training", "answers: {normalise: x}")),
         "challenge.yaml:10: answers.normalise: 'x' is none of strict, mend"),
        (plan(PLAN.replace("kind: training", "limits: {servers: 3, serves: 2}")),
         "challenge.yaml:10: limits.serves: unknown field"),
        (plan(PLAN.replace("phase: test", "phase: a b")),
         "challenge.yaml:18: phase: expected letters, digits"),
        (plan(PLAN.replace("phase: test", "phase: t\n    release: a/b")),
         "challenge.yaml:19: release: expected letters, digits"),
        (plan(PLAN.replace("phase: test", "kind: test")),
         "challenge.yaml:18: phase: missing"),
        (plan(PLAN + '"x - at `$.phases[9999].y`": 1\n'),
         "challenge.yaml:26: x - at `$.phases[9999].y`: unknown field"),
        (plan("- a\n"), "challenge.yaml:1: expected fields"),
        (plan(PLAN.partition("phases")[0] + "phases: x"), "challenge.yaml:7: phases: expected a"),
        (plan("a: &a [1]\nb: *a\n"), "challenge.yaml:2: refers to another part of itself"),
        (plan("a: [1\n"), "challenge.yaml:2: "),
        (plan("[" * 9_000 + "]" * 9_000), "challenge.yaml:1: nested too deeply"),
        (plan(r'a: "\ud800"'), "challenge.yaml:1: has half of a character"),
        (plan(r'a: "\UFFFFFFFF"'), "challenge.yaml: not YAML: a number"),
        (plan(f"%YAML {'9' * 5_000}.1\n---\n"), "challenge.yaml: not YAML: a number"),
        (plan("#" * 300_000), "challenge.yaml: larger than 256 KiB"),
        ({"gold/test_INT.tsv": "pathway3\tP01112\nbad\n"}, "gold/test_INT.tsv:2: "),
        ({"gold/test_INT.tsv": "elsewhere\tP01112\n"}, "gold/test_INT.tsv: none of its articles"),
        ({"articles/interactions-test/x.xml": "<a>"}, "articles/interactions-test/x.xml:1: "),
        (methods('{"run": "b", "team": "blue", "task": "INT", "link": "x"}'),
         "m.jsonl:1: link: Expected `str` matching"),
        (methods('{"run": "b", "team": "blue", "task": "INT", "summary": "\\u0007"}'),
         "m.jsonl:1: summary: contains the character U+0007"),
        (methods('{"run": "b", "team": "blue", "task": "INT", "parts": ["x"]}'),
         "m.jsonl:1: parts[0]: 'x' is none of title, abstract"),
        (methods(f"{METHOD}\n{METHOD}"), "m.jsonl:2: describes a run again"),
        (methods('{"run": "other"}'), "m.jsonl:1: its run is none of the phase's"),
        (methods('{"run": "b", "x": 1}'), "m.jsonl:1: x: unknown field"),
        (methods("[]"), "m.jsonl:1: Expected `object`"),
        (methods('{"run": "b'), "m.jsonl:1: not JSON"),
        (methods('"' + "x" * 70_000), "m.jsonl:1: larger than 64 KiB"),
        ({"pictures/a.svg": "<svg/>"}, "pictures/a.svg: expected a name of"),
        ({"pictures/a/b.png": PNG}, "pictures/a/b.png: expected a name of"),
        ({"pictures/a.png": "<svg/>"}, "pictures/a.png: expected a PNG or JPEG picture"),
        ({"pictures/a.jpg": b"\xff\xd8" + b"\xff\0\0\0" * 9_000}, "pictures/a.jpg: expected a"),
        ({"pictures/a.png": JPEG}, "pictures/a.png: its content is image/jpeg"),
        ({"pictures/a.png": PNG[:16] + b"\0\1" + PNG[18:]},
         "pictures/a.png: 66136 x 80 pixels; at most 4,000"),
        ({"pictures/a.png": PNG + random.randbytes(2**19)}, "pictures/a.png: larger than 512 KiB"),
        ({f"pictures/{n}.jpg": JPEG for n in range(21)}, "pictures: 21 files; at most 20"),
        ({"pictures/a.jpeg": JPEG, "texts/rules.md": "![](pictures/a.jpeg)\n![](pictures/b.png)"},
         "texts/rules.md:2: there is no picture pictures/b.png in the bundle"),
    ],
)  # fmt: skip
def test_every_fault_has_its_file_and_line(files: dict[str, str | bytes], said: str) -> None:
    [found] = faults(bundle(**files))
    assert found.startswith(said)


def test_all_faults_are_said_at_once() -> None:
    wrong = {
        "timezone: UTC": "timezone: Mars",
        "kind: training": "kind: x\n    opens: tomorrow\n    limits: 3\n    titel: x",
        "title: Test": "opens: tomorrow",
        "articles: articles/interactions-test": "articles: none",
        "gold/test_ACT.tsv": "none.tsv",
    }
    text = PLAN
    for one, other in wrong.items():
        assert one in text
        text = text.replace(one, other)
    texts = {"texts/description.md": b"\xff", "texts/rules.md": b"x" * 50_001}
    found = faults(bundle(**plan(text), **texts, **{"gold/test_INT.tsv": "bad\n"}))
    assert [" ".join(one.split()[:2]) for one in found] == [
        "challenge.yaml:5: this",
        "texts/description.md: not",
        "texts/rules.md: rules:",
        "challenge.yaml:13: titel:",
        "challenge.yaml:10: kind:",
        "challenge.yaml:12: limits:",
        "challenge.yaml:11: opens",
        "challenge.yaml:22: opens",
        "challenge.yaml:24: 'none'",
        "challenge.yaml:26: 'none.tsv'",
        "gold/test_INT.tsv:1: 1",
    ]


def test_hostile_plans_are_read_in_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    many = "".join(f"a{number}: 1\n" for number in range(1_000))
    assert len(faults(bundle(**plan(many)))) == 200
    run = "    - {run: b, team: blue, task: INT, file: b.tsv}\n"
    runs = {**plan(f"{PLAN}    runs:\n{run * 600}"), "b.tsv": RUN}
    assert not faults(bundle(**runs))
    monkeypatch.setattr(bundle_files, "LIMITS", ZipLimits(bytes=2**20))
    assert "named before it have more than 2 MiB" in faults(bundle(**runs))[0]


def test_hostile_zips_are_refused_before_they_are_unpacked() -> None:
    assert not faults(zip_of(files_in(SAMPLES / "interactions", "any-folder")))
    bomb = zip_of([("any-folder/challenge.yaml", b"\0" * 2**24)])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("../challenge.yaml", PLAN)
    assert "honest zip" in faults(bomb)[0]
    assert "not a plain name" in faults(out.getvalue())[0]
    assert "not a complete zip" in faults(b"no zip")[0]


async def test_the_bundles_that_ship_make_challenges(running: Running) -> None:
    for sample in ("interactions", "names", "biotopes"):
        made = await running.do("challenges.make", sample=sample)
        assert (made.challenge, made.faults) == (sample, ())
        for phase in made.phases:
            shown = await running.do("phases.get", phase=phase.phase)
            assert set(shown.gold) == set(phase.gold) == set(shown.tasks)
            assert not (await running.do("phases.plan", phase=phase.phase)).outside
            baselines = await running.do("runs.list", phase=phase.phase)
            assert {run.task for run in baselines} == (set(shown.tasks) - {"NER"})
            assert not [run for run in baselines if run.team != "baselines" or run.problems]
        await running.do("challenges.delete", challenge=sample)


async def test_nothing_is_made_of_a_bundle_with_a_fault(running: Running) -> None:
    other_release = {"gold/training_INT.tsv": "pathway1\tA0A000\n"}
    wrong = bundle(**{"gold/test_INT.tsv": "bad\n"}, **other_release)
    report = await running.do("challenges.check", content=wrong)
    places = ["gold/test_INT.tsv:1", "gold/training_INT.tsv"]
    assert [one.place for one in report.faults] == places
    run = methods(METHOD) | {"b.tsv": RUN + b"pathway1\tQ00987\t3\tx\n"}
    report = await running.do("challenges.check", content=bundle(**run))
    assert [one.place for one in report.faults] == ["b.tsv:3"]
    with pytest.raises(RefusedError) as refused:
        await running.do("challenges.make", content=wrong)
    assert (refused.value.refusal, refused.value.field) == (Refusal.INVALID, "content")
    assert await running.do("challenges.list") == []
    assert await running.do("corpora.list") == []
    await running.do("challenges.make", content=bundle())
    again = await running.do("challenges.check", content=bundle())
    [fault] = again.faults
    assert fault.message.startswith("there is a challenge 'interactions' already")
    await running.do("teams.update", team="baselines", host=False)
    of_team = await running.do("challenges.check", content=bundle(), challenge="next")
    assert [one.place for one in of_team.faults] == ["challenge.yaml:8", "challenge.yaml:23"]
    assert "'baselines' of this hub is not the organisers'" in of_team.faults[0].message


async def boards(running: Running) -> Any:
    """Return the rows of the training phase's boards."""
    return {
        task: (await running.do("boards.get", phase="training", task=task)).rows
        for task in ("ACT", "INT", "IPT")
    }


@pytest.mark.slow
async def test_an_exported_challenge_is_made_again_with_equal_boards(running, tmp_path):
    files = {"pictures/banner.jpg": JPEG, "pictures/logo.png": PNG}
    await running.do("challenges.make", content=bundle(**files))
    rules = "Be *fair*. ![A logo](pictures/logo.png)"
    await running.do("challenges.edit", challenge="interactions", rules=rules)
    async with visiting(running) as reader:
        page = (await reader.get("/c/interactions")).text
        assert '<img src="/pictures/interactions/logo.png" alt="A logo" loading="lazy">' in page
        assert re.search('og:image" content="http://[0-9.:]+/pictures/interactions/banner', page)
        async with reader.client.get("/pictures/interactions/banner.jpg") as answer:
            assert (answer.content_type, await answer.read()) == ("image/jpeg", JPEG)
        assert (await reader.get("/pictures/interactions/other.png")).status == 404
        await running.do("challenges.edit", challenge="interactions", announced="2999-01-01T00:00")
        assert (await reader.get("/pictures/interactions/logo.png")).status == 404
        await running.do("challenges.edit", challenge="interactions", announced="")
    await running.do("phases.open", phase="training")
    await running.do("teams.create", team="blue", title="The blue team")
    await running.do("teams.update", team="blue", host=True)
    file = {"phase": "training", "task": "INT", "run": "blue-1", "content": RUN}
    await running.do("runs.upload", running.team("blue"), **file)
    await running.do("teams.create", team="red")
    for team in ("red", "blue"):  # R01 and blue.R01, of which the second is older
        await running.do("runs.upload", running.team(team), **file | {"run": "R01"})
    await running.do("runs.delete", running.team("red"), phase=file["phase"], run="R01")
    await running.do("runs.upload", running.team("red"), **file | {"run": "R01"})
    described = {"parts": ["title"], "summary": "It looks words up.", "contact": "Ana"}
    of_run = {"phase": "training", "run": "blue-1"}
    await running.do("methods.describe", **of_run, **described)
    corpus = await running.do("corpora.articles", corpus="interactions-test")
    exported = await running.do("challenges.export", challenge="interactions", answers=True)
    await running.caught_up()
    before = await boards(running)
    assert before["INT"]
    assert any(before["INT"][0].values.values())
    alone = await running.do("challenges.export", challenge="interactions")
    with zipfile.ZipFile(io.BytesIO(alone.content)) as archive:
        names = archive.namelist()
        plan = yaml.safe_load(archive.read("interactions/challenge.yaml"))
    assert {name.partition("/")[0] for name in names} == {"interactions"}
    assert {name.split("/")[4] for name in names if "/runs/" in name} == {"baselines", "blue"}
    assert [one["team"] for one in plan["teams"] if one["host"]] == ["baselines", "blue"]
    assert any(name.endswith("phases/training/methods.jsonl") for name in names)
    async with at_work(await settings(tmp_path / "other")) as other:
        await other.do("challenges.make", content=exported.content)
        await other.caught_up()
        assert await boards(other) == before
        method = (await other.do("methods.get", **of_run)).method
        assert (method.parts, method.summary) == (("title",), "It looks words up.")
        kept = await other.do("corpora.articles", corpus="interactions-test")
        assert [one.article for one in kept] == [one.article for one in corpus]
        texts = await other.do("challenges.get", challenge="interactions")
        assert (texts.rules, texts.pictures) == (rules, ("banner.jpg", "logo.png"))
        again = await other.do("challenges.export", challenge="interactions", answers=True)
        assert again.content == exported.content
    with zipfile.ZipFile(io.BytesIO(exported.content)) as archive:
        text = archive.read("interactions/challenge.yaml")
    Draft202012Validator(schema(BundleHead)).validate(yaml.safe_load(text))


async def rows(running: Running) -> dict[str, Any]:
    """Return the rows of phase test's boards, by task and view."""
    boards = running.service.phase("test").boards
    await running.caught_up()
    await until(lambda: running.service.phase("test").state is PhaseState.FROZEN)
    return {
        f"{task.name} {view}": boards.scoreboard.board(task.name, view).rows
        for task in boards.tasks()
        for view in boards.scoreboard.views(task.name)
    }


@pytest.mark.slow
@pytest.mark.both_stores
async def test_answers_of_servers_are_carried_without_their_addresses(tmp_path: Path) -> None:
    async with at_work(await settings(tmp_path)) as running:
        await filled(running)
        described = {"phase": "test", "run": "blue-1", "summary": "It looks words up."}
        await running.do("methods.describe", **described)
        exported = (await running.do("challenges.export", challenge="bc", answers=True)).content
        before, status = await rows(running), running.status()
        one = {"article": "sample01", "server": "blue-1"}
        answer = await running.do("annotations.get-annotation", **one)
        again = {"content": exported, "challenge": "again"}
        assert [one.servers for one in (await running.do("challenges.make", **again)).phases] == [
            1,
            0,
        ]
        await running.caught_up()
        assert running.status(phase="again.test").done == status.done
    with zipfile.ZipFile(io.BytesIO(exported)) as archive:
        files = {name.removeprefix("bc/"): archive.read(name) for name in archive.namelist()}
    assert not [name for name, file in files.items() if SECRET.encode() in file or b"http" in file]
    async with at_work(await settings(tmp_path / "other")) as other:
        await other.do("challenges.make", content=exported)
        assert await rows(other) == before
        assert await other.do("annotations.get-annotation", **one) == answer
        found = other.status()
        assert (found.done, found.given_up, found.outcomes) == (
            status.done,
            status.given_up,
            status.outcomes,
        )
        assert found.p50 == pytest.approx(status.p50, abs=1.5e-4)  # the next bin, if at its edge
        assert (await other.do("servers.get", server="blue-1")).retired
        method = (await other.do("methods.get", phase="test", run="blue-1")).method
        assert method.summary == "It looks words up."
        made = await other.do("challenges.export", challenge="bc", answers=True)
        with zipfile.ZipFile(io.BytesIO(made.content)) as archive:
            assert {
                name.removeprefix("bc/"): archive.read(name) for name in archive.namelist()
            } == files
        await other.do("teams.create", team="red")
        stolen = files["challenge.yaml"].replace(b"team: blue\n    tasks", b"team: red\n    tasks")
        report = await other.do(
            "challenges.check",
            content=zip_of({**files, "challenge.yaml": stolen}.items()),
            challenge="c",
        )
        assert "server 'blue-1': another team, or an upload, has this name" in {
            one.message for one in report.faults
        }


@pytest.mark.slow
async def test_the_page_takes_a_bundle_and_clones_a_challenge(running: Running) -> None:
    async with signed_in(running) as ana:
        page = await ana.send("/organise/bundle", {"content": ("b.zip", bundle(**plan("a: 1")))})
        assert page.status == 422
        assert "challenge.yaml:1" in page.said
        page = await ana.send("/organise/bundle", {"content": ("b.zip", bundle())})
        assert (page.status, page.path) == (200, "/organise")
        path = "/organise/challenges/interactions/bundle"
        assert (await ana.get(f"{path}?answers=1")).headers["Content-Type"] == "application/zip"
        clone = "/organise/challenges/interactions/clone"
        assert "Clone Protein interactions" in (await ana.get(clone)).said
        page = await ana.post(clone, name="next")
        assert (page.status, page.path) == (200, "/organise")
        copy = await running.do("phases.get", phase="next.test")
        assert (copy.challenge, copy.own_name) == ("next", "test")
        assert len(await running.do("runs.list", phase="next.test")) == 3
        page = await ana.get("/organise/phases/next.test")
        assert "dictionary-baseline INT, uploaded" in page.said
        assert "No baseline" not in page.said
        for challenge in ("interactions", "next"):
            page = await ana.get(f"/c/{challenge}/test/monitor")
            assert (page.status, page.path.split("/")[2]) == (200, challenge)
        with pytest.raises(RefusedError) as refused:
            await running.do("phases.create", challenge="next", phase="test",
                             corpus="interactions-test", release="test")  # fmt: skip
        assert refused.value.field == "phase"


async def test_a_bundle_is_checked_without_a_hub_as_by_one(
    running: Running,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config, file, scratch = (tmp_path / name for name in ("config.yaml", "bundle.zip", "scratch"))
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))

    async def checked(content: bytes, releases: str = "releases") -> tuple[int, Any]:
        file.write_bytes(content)
        config.write_text(f"uniprot: {{releases: {tmp_path / releases}}}\n")
        words = ["challenges", "check", "--content", str(file), "--json", "--offline"]
        status = await asyncio.to_thread(main.main, [*words, "--config", str(config)])
        assert not [*scratch.iterdir()]
        return status, json.loads(capsys.readouterr().out)

    run = methods(METHOD) | {"b.tsv": RUN + b"pathway1\tQ00987\t3\tx\n"}
    wrong = bundle(**run, **{"gold/training_INT.tsv": "pathway1\tA0A000\n"})
    status, report = await checked(wrong)
    places = [one["place"] for one in report["faults"]]
    assert (status, places) == (1, ["b.tsv:3", "gold/training_INT.tsv"])
    assert [one.partition(":")[0] for one in report["unchecked"]] == ["names", "releases"]
    by_hub = await running.do("challenges.check", content=wrong)
    assert report | {"unchecked": []} == msgspec.json.decode(msgspec.json.encode(by_hub))
    status, report = await checked(bundle())
    assert (status, report["faults"], len(report["unchecked"])) == (0, [], 2)
    status, report = await checked(bundle(), "none")
    assert (status, report["faults"]) == (0, [])
    said = r"challenge.yaml:(8|23): phase .* `metaserver uniprot build` .* were not checked"
    assert all(re.fullmatch(said, one) for one in report["unchecked"][2:])
    assert len(report["unchecked"]) == 4
    lacking = WHOLE.replace("    articles: articles/interactions-test\n", "")
    status, report = await checked(bundle(**plan(lacking)), "none")
    assert (status, [one["place"] for one in report["faults"]]) == (1, ["challenge.yaml:23"])


@pytest.mark.slow
async def test_the_commands_take_a_folder_and_print_each_fault_on_its_line(
    running: Running, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    token = await running.do("tokens.create", role="organiser", label="ana")
    (tmp_path / "token").write_text(token.token)
    folder = tmp_path / "bundle"
    shutil.copytree(SAMPLES / "interactions", folder)
    (folder / ".git").mkdir()
    (folder / ".git" / "pack.zip").write_bytes(b"PK")
    (folder / "challenge.yaml").write_text(
        PLAN.replace("kind: training", "kind: x").replace("title: Test", "titel: Test")
    )
    (folder / "gold" / "test_INT.tsv").write_text("bad\n")

    async def said(verb: str) -> tuple[int, str, str]:
        words = ["challenges", verb, "--content", str(folder), "--hub", str(site.make_url(""))]
        words += ["--token-file", str(tmp_path / "token")]
        status = await asyncio.to_thread(main.main, words)
        return status, *capsys.readouterr()

    async with site_of(running) as site:
        places = ["challenge.yaml:10", "challenge.yaml:19", "gold/test_INT.tsv:1"]
        status, out, _ = await said("check")
        assert (status, [line.split()[0] for line in out.splitlines()[-3:]]) == (1, places)
        status, _, err = await said("make")
        lines = err.splitlines()[:3]
        assert (status, [line.split(": ")[1] for line in lines]) == (1, places)
        shutil.copyfile(SAMPLES / "interactions" / "challenge.yaml", folder / "challenge.yaml")
        shutil.copytree(SAMPLES / "interactions" / "gold", folder / "gold", dirs_exist_ok=True)
        assert (await said("make"))[0] == 0
    assert [one.challenge for one in await running.do("challenges.list")] == ["interactions"]
