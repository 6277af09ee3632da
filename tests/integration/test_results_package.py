"""The results package of a frozen phase: its numbers and files, who makes it, what it lacks."""

import asyncio
import csv
import hashlib
import io
import json
import zipfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from metaserver.base.compression import pack
from metaserver.base.errors import HubError, RefusedError
from metaserver.cli import main
from metaserver.publication.making import PackageOrder, make_package
from metaserver.publication.operations.results import KeptPackages
from metaserver.store.tables import frozen_boards
from scoring.cli import main as scoring_main
from tests.hubs.command import DEMO
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.hubs.release import ACCESSIONS
from tests.hubs.sites import site_of
from tests.integration.test_backup import SECRET, filled

HOSTILE = '=1+2 <b>&"50 %" $x_1$ \\end{table} #~^ ]]>'


@pytest.fixture
async def frozen(tmp_path: Path) -> AsyncIterator[Running]:
    """A hub with a frozen phase, whose titles are hostile and whose team has an address."""
    async with at_work(await settings(tmp_path)) as running:
        await filled(running)
        await running.do("challenges.set", challenge="bc", title=HOSTILE)
        await running.do("phases.update", phase="test", title=HOSTILE)
        await running.do("teams.update", team="blue", title=HOSTILE, email="ana@blue.example")
        async with KeptPackages(running.service):
            yield running


async def made(
    running: Running, out: Path, *, phase: str = "test", gold: bool = False
) -> Mapping[str, bytes]:
    """Make a package in this process, its figures without matplotlib; return its files."""
    order = PackageOrder(phase=phase, gold=gold, plots=False)
    service = running.service
    await asyncio.to_thread(
        lambda: asyncio.run(make_package(service.store.place, service.settings, order, out))
    )
    return {
        path.relative_to(out).as_posix(): path.read_bytes()
        for path in out.rglob("*")
        if path.is_file()
    }


GOLDEN = Path(__file__).parents[1] / "golden" / "frozen_act.json"
"""The board of `frozen` in ACT, as a version without `precision_at_full_recall` froze it."""


@pytest.mark.slow
async def test_a_later_version_makes_the_package_of_a_board_that_lacks_its_columns(
    frozen: Running, tmp_path: Path
) -> None:
    kept = json.loads(GOLDEN.read_bytes())
    query = sa.update(frozen_boards).where(frozen_boards.c.task == "ACT")
    async with frozen.service.store.writing() as connection:
        await connection.execute(query.values(document=pack(GOLDEN.read_bytes())))
    files = await made(frozen, tmp_path / "package")
    [shown] = rows(files["tables/ACT/raw.csv"])
    [row] = kept["views"]["raw"]["rows"]
    assert {name: shown[name] for name in row["values"]} == {
        name: str(value) for name, value in row["values"].items()
    }
    assert "precision_at_full_recall" not in shown
    again = json.loads(files["boards/ACT.json"])
    assert (again["columns"], again["order"]) == (kept["columns"], kept["order"])

    row["values"]["mcc"] += 1e-9
    async with frozen.service.store.writing() as connection:
        await connection.execute(query.values(document=pack(json.dumps(kept).encode())))
    with pytest.raises(HubError, match="ACT"):
        await made(frozen, tmp_path / "other")


def rows(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode()), strict=True))


@pytest.mark.slow
@pytest.mark.both_stores
async def test_it_has_the_frozen_numbers_and_the_evaluator_finds_them_again(
    frozen: Running, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = await made(frozen, tmp_path / "package", gold=True)
    for task in ("ACT", "INT", "IPT"):
        board = json.loads(files[f"boards/{task}.json"])
        shown = rows(files[f"tables/{task}/raw.csv"])
        kept = board["views"]["raw"]["rows"]
        assert [row["run"] for row in shown] == [row["run"] for row in kept]
        policy = board["views"]["raw"]["signature"].partition("articles:")[2].partition("|")[0]
        folder = tmp_path / "package"
        given = ["evaluate", "--task", task, "--gold", str(folder / f"gold/{task}.tsv")]
        runs = sorted(str(path) for path in (folder / f"runs/{task}").iterdir())
        capsys.readouterr()
        status = await asyncio.to_thread(
            scoring_main, [*given, "--articles", policy, "--json", *runs]
        )
        assert status == 0
        cards = {card["run"]: card for card in json.loads(capsys.readouterr().out)}
        for row, one in zip(shown, kept, strict=True):
            card = cards[row["run"]]
            for name, value in one["values"].items():
                again = card.get(name, card.get("macro", {}).get(name))
                assert row[name] == ("" if value is None else str(value)) == str(again or value)
                assert value == again
    assert {name for name in files if name.startswith("evidence/")} == {
        "evidence/INT/file.tsv", "evidence/IPT/blue-1.tsv",
    }  # fmt: skip
    [first, _] = files["evidence/INT/file.tsv"].decode().splitlines()
    assert first.split("\t") == ["sample01", ACCESSIONS[1], "2", "was pulled down"]
    run, evidence = (
        [line.split("\t") for line in files[f"{place}/IPT/blue-1.tsv"].decode().splitlines()]
        for place in ("runs", "evidence")
    )
    assert [row[:4] for row in evidence] == [row[:4] for row in run]
    assert all(set(words.split(" ")) == {a, b} for _, a, b, _, words in evidence)


@pytest.mark.slow
async def test_it_is_the_same_again_and_its_checksums_are_right(frozen, tmp_path):
    files = await made(frozen, tmp_path / "one")
    assert files == await made(frozen, tmp_path / "two")
    sums = [line.split("\t") for line in files["checksums.tsv"].decode().splitlines()]
    assert {name: hashlib.sha256(files[name]).hexdigest() for _, _, name in sums} == {
        name: sha for sha, _, name in sums
    }
    assert {name for *_, name in sums} == files.keys() - {"checksums.tsv"}


GOLD_FILES = {task: (DEMO / f"gold_{task.lower()}.tsv").read_text() for task in ("INT", "IPT")}
LABELS = {"gold", "correct", "items", "best", "relevant", "doubtful"}
"""Columns of tables that say what is right."""


@pytest.mark.slow
async def test_it_tells_neither_gold_nor_people_nor_places(frozen: Running, tmp_path: Path) -> None:
    files = await made(frozen, tmp_path / "package")
    assert not [name for name in files if name.startswith("gold/") or "corpus" in name]
    header = rows(files["tables/ACT/raw-articles.csv"])[0].keys()
    assert list(header) == ["run", "article", "rank", "called"]
    assert list(rows(files["tables/ACT/difficulty.csv"])[0]) == [
        "article", "runs", "mean", "deviation",
    ]  # fmt: skip
    boards = await frozen.do("boards.get", phase="test", task="INT")
    mark = boards.signature.partition("mark:")[2]
    assert mark
    everything = b"\n".join(files.values())
    for secret in (SECRET, "ana@blue.example", "127.0.0.1", "organiser ana", mark):
        assert secret.encode() not in everything, secret
    with_gold = await made(frozen, tmp_path / "with-gold", gold=True)
    assert {"gold/ACT.tsv", "gold/INT.tsv", "gold/IPT.tsv"} <= with_gold.keys()
    assert "relevant" in rows(with_gold["tables/ACT/raw-articles.csv"])[0]
    assert "gold" in rows(with_gold["tables/INT/raw-articles.csv"])[0]
    assert any(row["curve"] for row in kept_rows(with_gold["boards/ACT.json"]))


def kept_rows(board: bytes) -> list[dict[str, Any]]:
    """Return the rows of a kept board in all its views, with whatever articles count."""
    found = json.loads(board)
    views = [*found["views"].values(), *found["others"].values()]
    return [row for view in views for row in view["rows"]]


@pytest.mark.slow
async def test_the_gold_cannot_be_read_out_of_the_files(frozen: Running, tmp_path: Path) -> None:
    files = await made(frozen, tmp_path / "package")
    answers = {name for name in files if name.startswith(("runs/", "evidence/"))}
    runs = b"\n".join(files[name] for name in answers)
    others = {name: content for name, content in files.items() if name not in answers}
    golds = [line.split("\t") for text in GOLD_FILES.values() for line in text.splitlines()]
    accessions = {one.encode() for line in golds for one in line[1:]}
    assert any(one in runs for one in accessions)
    for name, content in others.items():
        assert not [one for one in accessions if one in content], name
        if name.endswith(".csv"):
            assert not LABELS & set(content.decode().splitlines()[0].split(",")), name
        if not name.startswith(("tables/ACT/", "boards/")):  # ranks of all articles, not labels
            assert not [line[0] for line in golds if line[0].encode() in content], name
    assert not [
        name
        for name in files
        if name.startswith(("figures/ACT/raw-curves", "figures/INT/articles"))
    ]
    assert not any(row["curve"] for row in kept_rows(files["boards/ACT.json"]))
    for task in ("ACT", "INT", "IPT"):
        board = json.loads(files[f"boards/{task}.json"])
        assert {view["gold"] for part in ("views", "others") for view in board[part].values()} == {
            ""
        }
    unknown = [one for one in accessions if one not in runs]
    assert unknown  # what no run found is nowhere
    assert not [one for one in unknown if one in b"\n".join(files.values())]


@pytest.mark.slow
async def test_hostile_titles_are_shown_as_they_are(frozen: Running, tmp_path: Path) -> None:
    files = await made(frozen, tmp_path / "package")
    page = files["report.html"].decode()
    assert "<b>" not in page
    assert "=1+2 &lt;b&gt;&amp;&#34;50 %&#34;" in page
    assert "http" not in page.replace("https://doi.org", "").replace("http-equiv", "")
    crate = json.loads(files["ro-crate-metadata.json"])
    graph = {one["@id"]: one for one in crate["@graph"]}
    assert HOSTILE in graph["./"]["name"]
    assert graph["./"]["license"].startswith("No licence is given")
    parts = {one["@id"] for one in graph["./"]["hasPart"]}
    assert parts == files.keys() - {"ro-crate-metadata.json"}
    assert all(graph[name]["@type"] == "File" for name in parts)
    for name, content in files.items():
        if name.endswith(".tex"):
            text = content.decode()
            assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 1
            assert text.count(r"\toprule") == text.count(r"\bottomrule") == 1


@pytest.mark.slow
async def test_it_is_made_in_the_background_for_organisers_of_a_frozen_phase(frozen, tmp_path):
    async def refused(name: str, caller: str = "", **values: object) -> str:
        by = [frozen.team(caller)] if caller else []
        with pytest.raises(RefusedError) as error:
            await frozen.do(name, *by, **values)
        return str(error.value)

    assert "organiser" in await refused("results-package.make", "blue", phase="test")
    assert "frozen" in await refused("results-package.make", phase="next")
    assert "make one first" in await refused("results-package.read", phase="test")
    assert (await frozen.do("results-package.get", phase="test")).job is None
    report = await frozen.do("results-package.make", phase="test")
    assert (report.phase, report.gold) == ("test", False)
    part = await frozen.do("results-package.read", phase="test")
    package = zipfile.ZipFile(io.BytesIO(part.content))
    assert part.size == report.size == len(part.content)
    assert len(package.namelist()) == report.files
    assert (await frozen.do("results-package.get", phase="test")).size == report.size


@pytest.mark.slow
async def test_the_command_leaves_a_folder(frozen, tmp_path, capsys):
    token = await frozen.do("tokens.create", role="organiser", label="ana")
    (tmp_path / "token").write_text(token.token)
    out = tmp_path / "results"
    words = ["results", "test", "--out", str(out), "--token-file", str(tmp_path / "token")]
    async with site_of(frozen) as site:
        words += ["--hub", str(site.make_url(""))]
        assert await asyncio.to_thread(main.main, words) == 0
    assert "report.html" in capsys.readouterr().out
    sums = [line.split("\t") for line in (out / "checksums.tsv").read_text().splitlines()]
    for sha, size, name in sums:
        content = (out / name).read_bytes()
        assert (hashlib.sha256(content).hexdigest(), str(len(content))) == (sha, size)
    assert await asyncio.to_thread(main.main, words) == 2
    assert "there already" in capsys.readouterr().err


# -- rankings, coverage, public part ---------------------------------------------------------------

INT_GOLD = dict(line.split("\t")[:2] for line in GOLD_FILES["INT"].splitlines())
ACT_GOLD = [line.split("\t") for line in (DEMO / "gold_act.tsv").read_text().splitlines()]


async def uploaded(running: Running, team: str, task: str, run: str, lines: list[str]) -> None:
    await running.do("teams.create", team=team)
    given = {"phase": "test", "task": task, "run": run, "content": "".join(lines).encode()}
    await running.do("runs.upload", **given, team=team)


async def frozen_board(running: Running) -> None:
    await running.do("phases.freeze", phase="test")
    await running.frozen(3)


def act_lines(count: int, wrong: int) -> list[str]:
    called = [(one[0], (int(one[1]) + (n < wrong)) % 2) for n, one in enumerate(ACT_GOLD[:count])]
    ranks = {0: 0, 1: 0}
    lines = []
    for article, label in called:
        ranks[label] += 1
        lines.append(f"{article}\t{label}\t{ranks[label]}\t0.5\n")
    return lines


@pytest.mark.parametrize(
    "measure", [pytest.param("specificity", marks=pytest.mark.slow), "precision_at_full_recall"]
)
async def test_any_measure_that_may_rank_leaves_a_package_without_what_is_below(tmp_path, measure):
    async with at_work(await settings(tmp_path)) as running:
        ranking = {"measure": measure, "min_coverage": 0.8}
        await plan_phase(running, is_open=True, ranking=ranking, public_share=0.5)
        await uploaded(running, "blue", "ACT", "blue-run", act_lines(len(ACT_GOLD), 2))
        await uploaded(running, "red", "ACT", "red-run", act_lines(len(ACT_GOLD), 5))
        await uploaded(running, "green", "ACT", "few", act_lines(3, 0))
        hits = [f"{article}\t{accession}\t1\t0.5\n" for article, accession in INT_GOLD.items()]
        await uploaded(running, "white", "INT", "white-run", hits)
        await frozen_board(running)
        files = await made(running, tmp_path / "package", gold=True)
    shown = {row["run"]: row for row in rows(files["tables/ACT/raw.csv"])}
    assert shown["few"]["place"] == ""
    assert all(shown[run]["place"] for run in ("blue-run", "red-run"))
    assert (shown["few"]["low"], shown["few"]["letters"]) == ("", "")
    assert shown["blue-run"]["low"] != ""
    note = b"places are by P at full R, which is not resampled: intervals, tests and letters"
    assert (note in files["report.html"]) is (measure == "precision_at_full_recall")
    for name in (
        "tables/overview/act.csv",
        "tables/ACT/raw-pairs.csv",
        "figures/ACT/raw-scatter.svg",
    ):
        assert b"few" not in files[name], name
    assert b"few" in files["tables/ACT/raw-articles.csv"]
    assert len(rows(files["tables/overview/act.csv"])) == 2  # not those of the public part again
    assert "tables/ACT/public.csv" in files
