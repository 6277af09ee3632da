"""Tasks at work in whole runs: NER, and one that is installed from outside (docs/tasks.md)."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from annotators.baselines.mentions import mentions
from annotators.baselines.proteins import read_proteins
from annotators.contract import Context
from annotators.matching import Dictionary
from annotators.server import Kit
from metaserver.base.errors import Refusal
from metaserver.base.records import ArticleId, ServerName, TaskName
from metaserver.base.states import Outcome
from metaserver.boards.scoreboard import Scoreboard, ScoredTask
from metaserver.exchange.wire.validation import check
from metaserver.tasks.plugin import answered_tasks, installed_tasks
from scoring.cli import main as scoring
from tests.fakes.vocabulary import FakeVocabulary
from tests.hubs.command import DEMO, boards, metaserver
from tests.hubs.inside import Running
from tests.hubs.release import NAMES, release_at
from tests.integration.kits import served
from tests.shared import ROOT

pytestmark = pytest.mark.one_store("the store of the command is a file")

GOLD_NER = DEMO / "gold_ner.tsv"
KNOWN = Dictionary(read_proteins(NAMES))


def found(text: str, _: Context) -> Any:
    return {"mentions": mentions(text, KNOWN.find(text))}


def found_sometimes(text: str, context: Context) -> Any:
    """Fail on some articles, send bad mentions for others, and nothing for a few."""
    sent = found(text, context)["mentions"]
    match len(text) % 4:
        case 0:
            raise RuntimeError("not today")
        case 1:
            return {"mentions": [*sent, {"offset": -1, "mention": "p53", "type": "gene"}, *sent]}
        case 2:
            return {"mentions": []}
    return {"mentions": sent}


@pytest.fixture
async def run(tmp_path: Path) -> list[object]:
    """The beginning of a command that runs the sample articles."""
    release = release_at(tmp_path / "uniprot")
    return ["run", "--articles", DEMO / "articles", "--uniprot", release, "--attempts", "1"]


@pytest.mark.slow
async def test_a_result_file_scores_as_the_ner_board_says(run, tmp_path, capsys):
    out = tmp_path / "out"
    async with served(Kit(found)) as one, served(Kit(found_sometimes)) as two:
        servers = ["--server", f"one={one}", "--server", f"two={two}"]
        ended = await metaserver(*run, "--gold-ner", GOLD_NER, *servers, "--out", out)
    assert ended.status == 0, ended.stderr
    rows = boards(out)["NER"]["runs"]
    assert [row["server"] for row in rows] == ["one", "two"]
    assert 0 < rows[1]["score"]["articles_scored"] < rows[0]["score"]["articles_scored"] == 32
    for row in rows:
        file = out / f"{row['server']}.NER.tsv"
        command = ["ner", "--gold", GOLD_NER, "--run", file, "--resamples", "0", "--json"]
        assert scoring([str(word) for word in command]) == 0
        [printed] = json.loads(capsys.readouterr().out)
        due = {key: row["score"][key] for key in printed.keys() - {"run", "f_score_intervals"}}
        assert {key: printed[key] for key in due} == due
        assert {"micro", "macro"} <= due.keys()


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Install the task of docs/tasks.md into a folder, as pip would, and put it on the path."""
    page = (ROOT / "docs" / "tasks.md").read_text("utf-8")
    code, settings = (
        re.findall(rf"^```{language}\n(.+?)^```$", page, re.DOTALL | re.MULTILINE)[0]
        for language in ("python", "toml")
    )
    [(group, named)] = tomllib.loads(settings)["project"]["entry-points"].items()
    folder = tmp_path / "site"
    about = folder / "organism_task-1.0.dist-info"
    about.mkdir(parents=True)
    (folder / "organism_task.py").write_text(code, "utf-8")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: organism-task\nVersion: 1.0\n")
    lines = [f"{name} = {place}\n" for name, place in named.items()]
    (about / "entry_points.txt").write_text("".join([f"[{group}]\n", *lines]))
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    _look_again()
    yield folder
    _look_again()


def _look_again() -> None:
    for found in (answered_tasks, installed_tasks):
        found.cache_clear()


def test_a_task_from_outside_is_checked_and_scored(outside: Path) -> None:
    task = installed_tasks()[TaskName("ORG")]
    gold = outside / "gold.tsv"
    gold.write_text("1\t9606\n2\t10090\n")
    board = Scoreboard([ScoredTask(plugin=task, gold=task.read_gold(gold), release="r")])
    for article, sent in (("1", 9606), ("2", "9606"), ("3", 9606)):
        answer = check({"organism": sent}, [task], FakeVocabulary.of_everything())
        assert answer.outcome is Outcome.OK
        board.put(ServerName("one"), ArticleId(article), answer.payloads)
    [row] = board.board(task.name).rows
    assert row.values == {"right": 1, "accuracy": 0.5}
    assert (
        check({"organism": 0}, [task], FakeVocabulary.of_everything()).outcome
        is Outcome.NO_VALID_HIT
    )
    assert (
        check({"organism": "man"}, [task], FakeVocabulary.of_everything()).outcome is Outcome.SHAPE
    )


@pytest.mark.usefixtures("outside")
async def test_part_of_a_gold_that_has_no_parts_is_refused(running: Running) -> None:
    await running.do("phases.update", phase="test", public_share=0.5)
    gold = {"task": "ORG", "source": "gold.tsv", "content": b"sample01\t9606\n"}
    refused = await running.refused("gold.set", phase="test", **gold)
    assert (refused.refusal, refused.field) == (Refusal.INVALID, "public_share")


@pytest.mark.slow
async def test_a_task_from_outside_runs(outside, run, tmp_path):
    gold, out = tmp_path / "gold.tsv", tmp_path / "out"
    gold.write_text("sample01\t9606\nsample02\t9606\nsample03\t10090\n")

    def annotate(text: str, _: Context) -> Any:
        return {"organism": 9606}

    async with served(Kit(annotate)) as one:
        ended = await metaserver(
            *run, "--gold-org", gold, "--server", f"one={one}", "--out", out, fresh=True
        )  # fmt: skip
    assert ended.status == 0, ended.stderr
    assert "Accuracy" in ended.stdout
    assert boards(out)["ORG"]["runs"] == [
        {"server": "one", "place": 1, "score": {"task": "ORG", "right": 2, "accuracy": 2 / 3}}
    ]
    assert (out / "one.ORG.tsv").read_text().splitlines()[0] == "sample01\t9606"


@pytest.mark.slow
async def test_the_demo_runs_a_live_ner_challenge(tmp_path: Path) -> None:
    out = tmp_path / "out"
    ended = await metaserver("demo", "--ner", "--exit", "--port", "0", "--out", out)
    assert ended.status == 0, ended.stderr
    rows = {row["server"]: row for row in boards(out)["NER"]["runs"]}
    assert list(boards(out)) == ["NER"]
    places = [rows[name]["place"] for name in ("ner", "slow", "faulty")]
    assert places == [1, 1, None]  # too few of the faulty server's articles have an answer
    assert 0.8 < rows["ner"]["score"]["micro"]["strict"]["f_score"] < 0.85
