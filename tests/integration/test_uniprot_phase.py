"""A phase and its UniProt release: secondary accessions, live views, a release put into use."""

import asyncio
import csv
import json
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from annotators.contract import Context
from annotators.server import Kit
from metaserver.cli.main import main
from metaserver.publication.making import PackageOrder, make_package
from metaserver.uniprot import Release
from metaserver.uniprot.release import use
from scoring import VIEWS, Scorecard, evaluate_runs, read_gold, select_views
from scoring.cli import main as scoring_main
from tests.hubs.command import boards, metaserver
from tests.hubs.inside import at_work, settings
from tests.hubs.stored import stored
from tests.integration.kits import served
from tests.unit.metaserver.uniprot.samples import FLAT, SOURCES, build, flat_entry

pytestmark = pytest.mark.slow

GOLD_INT = "a1\tP04637\na2\tP04637\na2\tP0A7G6\na3\tQ15087\n"
GOLD_IPT = "a1\tP04637\tP0A7G6\na2\tP02340\tP04637\n"
SENT = {
    "a1": ["P68250", "P02340", "P10361", "P0A7G6"],
    "a2": ["P02340", "P68251", "P0A7G6", "P04637"],
    "a3": ["P10361", "P04637"],
    "a4": ["P04637", "P02340"],  # not in the gold
}


class Server:
    """Answers with the accessions for an article, once it may."""

    def __init__(self, sent: dict[str, list[str]]) -> None:
        self.sent = sent
        self.asked, self.may = asyncio.Event(), asyncio.Event()
        self.may.set()
        self.url = ""

    async def annotate(self, text: str, _: Context) -> Any:
        self.asked.set()
        await self.may.wait()
        found = self.sent[text.strip()]
        return {
            "normalizations": [
                {"dbid": accession, "rank": rank, "confidence": 0.5}
                for rank, accession in enumerate(found, 1)
            ],
            "pairs": [
                {"dbid_a": found[0], "dbid_b": other, "rank": rank, "confidence": 0.5}
                for rank, other in enumerate(found[1:], 1)
            ],
        }


@asynccontextmanager
async def serving(sent: dict[str, list[str]]) -> AsyncIterator[Server]:
    server = Server(sent)
    async with served(Kit(server.annotate)) as server.url:
        yield server


@pytest.fixture
def inputs(tmp_path: Path) -> list[object]:
    """Articles whose text is their name, and gold."""
    articles = tmp_path / "articles"
    articles.mkdir()
    for name in SENT:
        (articles / f"{name}.txt").write_text(name)
    (tmp_path / "int.tsv").write_text(GOLD_INT)
    (tmp_path / "ipt.tsv").write_text(GOLD_IPT)
    gold = ["--gold-int", tmp_path / "int.tsv", "--gold-ipt", tmp_path / "ipt.tsv"]
    return ["run", "--articles", articles, *gold, "--attempts", "1"]


@pytest.fixture
def release(tmp_path: Path) -> Release:
    return build(tmp_path, SOURCES)


@pytest.mark.one_store("the store of the command is a file")
async def test_live_views_are_those_of_the_evaluator_with_the_releases_files(
    inputs: list[object], release: Release, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    async with serving(SENT) as server:
        options = ("--uniprot", release.directory, "--server", f"one={server.url}", "--out", out)
        ended = await metaserver(*inputs, *options)
        assert ended.status == 0, ended.stderr
    for task in ("INT", "IPT"):
        board = boards(out)[task]
        scores = {"raw": board["runs"][0]["score"]["macro"]}
        for card in scored_with_files(release, task, out):
            view = card.signature.view
            [run] = board["views"][view]["runs"]
            unsigned = {"run": "", "signature": ""}
            assert run["score"] | unsigned == card.to_dict() | unsigned
            assert f"|view:{view}|" in board["views"][view]["signature"]
            scores[view] = run["score"]["macro"]
        assert [*scores] == ["raw", *board["views"]] == [*VIEWS]
        assert any(score != scores["raw"] for score in scores.values())  # they do something


def scored_with_files(release: Release, task: str, out: Path) -> list[Scorecard]:
    """Score a run as an organiser does with the `scoring` command and the release's files."""
    gold = out.parent / f"{task.lower()}.tsv"
    taxa, orthologs = (out.parent / f"{task}.{name}" for name in ("taxa", "orthologs"))
    for path in (taxa, orthologs):
        options = ["--release", release.directory, "--gold", gold, "--out", path]
        assert main(["uniprot", path.suffix[1:], *map(str, options)]) == 0
    views = select_views(read_gold(task, gold), VIEWS[1:], homologs=orthologs, taxa=taxa)
    return evaluate_runs(task, gold, [out / f"one.{task}.tsv"], articles="all", views=views)


@pytest.mark.one_store("the store of the command is a file")
async def test_secondary_accessions_are_rejected_or_mapped_as_the_phase_is_set(
    inputs: list[object], release: Release, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Q15086 was merged into P04637; P29358 was split, and nobody chooses for the team."""
    config = tmp_path / "config.yaml"
    config.write_text("uniprot: {secondary: map}\n")
    sent = {article: ["P29358", "Q15086", "P0A7G6", "P04637"] for article in SENT}
    reject, mapped = tmp_path / "reject", tmp_path / "map"
    async with serving(sent) as server:
        begun = [*inputs, "--uniprot", release.directory, "--server", f"one={server.url}"]
        assert (await metaserver(*begun, "--out", reject)).status == 0
        ended = await metaserver(*begun, "--out", mapped, "--config", config)
        assert ended.status == 0, ended.stderr
        again = await metaserver(*begun, "--out", mapped)
        assert (again.status, "release 2025_04+map, not 2025_04" in again.stderr) == (2, True)
    assert kept(reject) == ["P0A7G6", "P04637"]
    assert kept(mapped) == ["P04637", "P0A7G6"]  # at its better rank, 2
    [(message,)] = set(stored(mapped, "SELECT DISTINCT message FROM attempts"))
    assert "hits dropped" in message
    for out, name in ((reject, "2025_04"), (mapped, "2025_04+map")):
        assert f"|release:{name}|" in boards(out)["INT"]["signature"] + "|"
    config.write_text("uniprot: {secondary: guess}\n")
    wrong = [*begun, "--out", tmp_path / "no", "--config", config]
    assert main([str(part) for part in wrong]) == 2
    assert "uniprot.secondary" in capsys.readouterr().err


def kept(out: Path) -> list[str]:
    """Return the accessions of the first article in the result file, by rank."""
    lines = (out / "one.INT.tsv").read_text().splitlines()
    rows = [line.split("\t") for line in lines if line.startswith("a1\t")]
    return [row[1] for row in sorted(rows, key=lambda row: int(row[2]))]


async def test_a_release_put_into_use_is_for_the_next_phase_only(inputs, release, tmp_path):
    """P0A7G6 is gone from the new release, which comes into use while an answer is under way."""
    new = build(
        tmp_path, {"sprot.dat": FLAT.replace(flat_entry_of_reca(), "")}, name="2026_01"
    ).directory
    link, first, second = tmp_path / "current", tmp_path / "first", tmp_path / "second"
    use(release.directory, link)
    async with serving({article: ["P0A7G6", "P04637"] for article in SENT}) as server:
        server.may.clear()
        begun = [*inputs, "--uniprot", link, "--server", f"one={server.url}"]
        running = asyncio.create_task(metaserver(*begun, "--out", first))
        await server.asked.wait()
        use(new, link)
        server.may.set()
        assert (await running).status == 0
        assert (await metaserver(*begun, "--out", second)).status == 0
    assert kept(first) == ["P0A7G6", "P04637"]
    assert kept(second) == ["P04637"]
    for out, name in ((first, "2025_04"), (second, "2026_01")):
        told = json.loads((out / "leaderboard.json").read_text())
        assert told["uniprot_release"] == name


def flat_entry_of_reca() -> str:
    return flat_entry("RECA_ECOLI", "P0A7G6; P03017;", 83333, full=["Protein RecA"])


async def test_a_results_package_has_the_files_of_its_views(tmp_path, capsys):
    build(tmp_path / "releases", SOURCES, "test")
    with zipfile.ZipFile(tmp_path / "texts.zip", "w") as texts:
        for article in SENT:
            texts.writestr(f"{article}.txt", f"{article}.")
    lines = [
        f"{article}\t{accession}\t{rank}\t0.5\n"
        for article, found in SENT.items()
        for rank, accession in enumerate(found, 1)
    ]
    out = tmp_path / "package"
    async with at_work(await settings(tmp_path)) as running:
        content = (tmp_path / "texts.zip").read_bytes()
        await running.do("corpora.import", corpus="few", source="texts.zip", content=content)
        await running.do("challenges.set", challenge="bc", title="Views")
        await running.add_phase("test", "few")
        given = {"phase": "test", "task": "INT"}
        await running.do("gold.set", **given, source="gold.tsv", content=GOLD_INT.encode())
        await running.do("teams.create", team="blue")
        await running.do("phases.open", phase="test")
        run = "".join(lines).encode()
        await running.do("runs.upload", **given, run="file", team="blue", content=run)
        await running.do("phases.freeze", phase="test")
        await running.frozen(1)
        order = PackageOrder(phase="test", gold=True, plots=False)
        store = running.service.store.place
        made = make_package(store, running.service.settings, order, out)
        await asyncio.to_thread(asyncio.run, made)
    readme = (out / "README.md").read_text().splitlines()
    (words,) = [line.split()[1:] for line in readme if line.startswith("    scoring")]
    words = [str(out / word) if "/" in word else word for word in words if "*" not in word]
    capsys.readouterr()
    score = [*words, "--json", str(out / "runs/INT/file.tsv")]
    assert await asyncio.to_thread(scoring_main, score) == 0
    cards = {card["view"]: card for card in json.loads(capsys.readouterr().out)}
    assert list(cards) == list(VIEWS)
    areas = set()
    for view, card in cards.items():
        with (out / f"tables/INT/{view}.csv").open() as file:
            (row,) = csv.DictReader(file)
        areas.add(row["auc_ipr"])
        for name in ("tp", "fp", "fn"):
            assert int(row[name]) == card[name]
        for name in ("precision", "recall", "f_score", "auc_ipr"):
            assert float(row[name]) == card["macro"][name]
    assert len(areas) > 1
