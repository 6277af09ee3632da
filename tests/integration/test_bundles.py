"""Bundles of challenges: whole or nothing, every fault with its line, there and back again."""

from __future__ import annotations

import asyncio
import io
import shutil
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.zips import files_in, zip_of
from metaserver.cli import main
from metaserver.operations.bundle_files import BundleHead, read_bundle
from metaserver.operations.bundles import SAMPLES
from tests.docs.schemas import schema
from tests.hubs.inside import Running, at_work, settings
from tests.hubs.sites import signed_in, site_of

PLAN = (SAMPLES / "interactions" / "challenge.yaml").read_text()
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


def faults(content: bytes) -> list[str]:
    return list(map(str, read_bundle(content, "test").faults))


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (
            plan(PLAN.replace("kind: training", "kind: tranining")),
            "challenge.yaml:10: kind: 'tranining' is none of training, test",
        ),
        (
            plan(PLAN.replace("    title: Test\n", "    titel: Test\n")),
            "challenge.yaml:19: titel: unknown field; did you mean title?",
        ),
        (
            plan(PLAN.replace("timezone: UTC", "timezone: Mars")),
            "challenge.yaml:5: this machine does not know",
        ),
        (
            plan(PLAN.replace("articles/interactions-test", "../etc")),
            "challenge.yaml:21: '../etc' is",
        ),
        (plan(PLAN.replace("bundle: 1", "bundle: 2")), "challenge.yaml:2: bundle: Expected"),
        (
            plan(PLAN.replace("kind: training", "answers: {normalise: x}")),
            "challenge.yaml:10: answers.normalise: 'x' is none of strict, mend",
        ),
        (
            plan(PLAN.replace("kind: training", "limits: {servers: 3, serves: 2}")),
            "challenge.yaml:10: limits.serves: unknown field",
        ),
        (
            plan(PLAN.replace("phase: interactions-test", "phase: a b")),
            "challenge.yaml:18: phase: expected letters, digits",
        ),
        (
            plan(PLAN.replace("phase: interactions-test", "kind: test")),
            "challenge.yaml:18: phase: missing",
        ),
        (
            plan(PLAN + '"x - at `$.phases[9999].y`": 1\n'),
            "challenge.yaml:26: x - at `$.phases[9999].y`: unknown field",
        ),
        (plan("- a\n"), "challenge.yaml:1: expected fields"),
        (plan(PLAN.partition("phases")[0] + "phases: x"), "challenge.yaml:7: phases: expected a"),
        (plan("a: &a [1]\nb: *a\n"), "challenge.yaml:2: refers to another part of itself"),
        (plan("a: [1\n"), "challenge.yaml:2: "),
        (plan("[" * 9_000 + "]" * 9_000), "challenge.yaml:1: nested too deeply"),
        (plan("#" * 300_000), "challenge.yaml: larger than 64 KiB"),
        ({"gold/test_INT.tsv": "pathway3\tP01112\nbad\n"}, "gold/test_INT.tsv:2: "),
        ({"gold/test_INT.tsv": "elsewhere\tP01112\n"}, "gold/test_INT.tsv: none of its articles"),
        ({"articles/interactions-test/x.xml": "<a>"}, "articles/interactions-test/x.xml:1: "),
    ],
)
def test_every_fault_has_its_file_and_line(files: dict[str, str], said: str) -> None:
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


def test_hostile_plans_are_read_in_bounds() -> None:
    many = "".join(f"a{number}: 1\n" for number in range(1_000))
    assert len(faults(bundle(**plan(many)))) == 200


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


async def test_nothing_is_made_of_a_bundle_with_a_fault(running: Running) -> None:
    other_release = {"gold/training_INT.tsv": "pathway1\tA0A000\n"}
    wrong = bundle(**{"gold/test_INT.tsv": "bad\n"}, **other_release)
    report = await running.do("challenges.check", content=wrong)
    places = ["gold/test_INT.tsv:1", "gold/training_INT.tsv"]
    assert [one.place for one in report.faults] == places
    with pytest.raises(RefusedError) as refused:
        await running.do("challenges.make", content=wrong)
    assert (refused.value.refusal, refused.value.field) == (Refusal.INVALID, "content")
    assert await running.do("challenges.list") == []
    assert await running.do("corpora.list") == []
    await running.do("challenges.make", content=bundle())
    again = await running.do("challenges.check", content=bundle())
    [fault] = again.faults
    assert fault.message.startswith("there is a challenge 'interactions' already")


async def boards(running: Running) -> Any:
    """Return the rows of the training phase's boards."""
    return {
        task: (await running.do("boards.get", phase="interactions-training", task=task)).rows
        for task in ("ACT", "INT", "IPT")
    }


@pytest.mark.slow
async def test_an_exported_challenge_is_made_again_with_equal_boards(running, tmp_path):
    await running.do("challenges.make", sample="interactions")
    await running.do("challenges.edit", challenge="interactions", rules="Be *fair*.")
    await running.do("phases.open", phase="interactions-training")
    await running.do("teams.create", team="blue")
    file = {"phase": "interactions-training", "task": "INT", "run": "blue-1", "content": RUN}
    await running.do("runs.upload", running.team("blue"), **file)
    corpus = await running.do("corpora.articles", corpus="interactions-test")
    exported = await running.do("challenges.export", challenge="interactions", answers=True)
    before = await boards(running)
    assert before["INT"]
    assert any(before["INT"][0].values.values())
    alone = await running.do("challenges.export", challenge="interactions")
    assert b"runs/" not in alone.content
    with zipfile.ZipFile(io.BytesIO(alone.content)) as archive:
        assert {name.partition("/")[0] for name in archive.namelist()} == {"interactions"}
    async with at_work(await settings(tmp_path / "other")) as other:
        await other.do("challenges.make", content=exported.content)
        await other.caught_up()
        assert await boards(other) == before
        kept = await other.do("corpora.articles", corpus="interactions-test")
        assert [one.article for one in kept] == [one.article for one in corpus]
        texts = await other.do("challenges.get", challenge="interactions")
        assert texts.rules == "Be *fair*."
        again = await other.do("challenges.export", challenge="interactions", answers=True)
        assert again.content == exported.content
    with zipfile.ZipFile(io.BytesIO(exported.content)) as archive:
        text = archive.read("interactions/challenge.yaml")
    Draft202012Validator(schema(BundleHead)).validate(yaml.safe_load(text))


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
        page = await ana.post("/organise/challenges/interactions/clone", name="next")
        assert (page.status, page.path) == (200, "/organise")
        copy = await running.do("phases.get", phase="next.interactions-test")
        assert (copy.challenge, copy.own_name) == ("next", "interactions-test")
        for challenge in ("interactions", "next"):
            page = await ana.get(f"/c/{challenge}/interactions-test/monitor")
            assert (page.status, page.path.split("/")[2]) == (200, challenge)
        with pytest.raises(RefusedError) as refused:
            await running.do("phases.create", challenge="next", phase="interactions-test",
                             corpus="interactions-test", release="test")  # fmt: skip
        assert refused.value.field == "phase"


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
