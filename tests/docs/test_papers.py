"""docs/papers.md, evaluations.md: every command is typed, for the pictures and outputs shown."""

import csv
import io
import re
from pathlib import Path

import pytest

from scoring.cli import main
from tests.docs.test_shown_commands import shown, words_of
from tests.shared import ROOT

PAGE = (ROOT / "docs" / "papers.md").read_text("utf-8")
MAKE, *COMMANDS = shown(PAGE)
EVALUATIONS = dict(
    re.findall(
        r"^\$ (scoring .*)\n((?:(?!\$ |```).*\n)+)",
        (ROOT / "docs" / "evaluations.md").read_text("utf-8"),
        re.MULTILINE,
    )
)


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("papers") / "samples"
    assert main(["samples", str(folder)]) == 0
    return folder


def typed(command: str) -> list[str]:
    """Return the words after `scoring` as a shell gives them."""
    found = [
        sorted(map(str, Path().glob(one))) if "*" in one else [one] for one in words_of(command)
    ]
    return [word for words in found for word in words][1:]


def texts_in(picture: Path) -> list[str]:
    """Return the texts of a picture, which its paths draw."""
    found = re.findall("<!-- (.+) -->", picture.read_text("utf-8"))
    assert found
    return found


def test_first_command_makes_the_samples() -> None:
    assert words_of(MAKE) == ["scoring", "samples", "samples"]
    assert len(COMMANDS) > 20
    assert len(EVALUATIONS) > 4


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_command_of_a_table_or_figure(command, samples, monkeypatch, capsys):
    monkeypatch.chdir(samples)
    words = typed(command)
    if "--resamples" not in words and words[0] in ("usefulness", "corpus", "agree", "ner", "bb"):
        words += ["--resamples", "20"]  # the intervals are not what is tested here
    words = ["2000" if word == "100000" else word for word in words]
    assert main(words) == 0
    if "--out" in words:
        drawn = Path(words[words.index("--out") + 1])
        assert f"](img/papers-{drawn.name})" in PAGE
        assert texts_in(drawn) == texts_in(ROOT / "docs" / "img" / f"papers-{drawn.name}")
    assert capsys.readouterr().out or words[0] == "plot"


@pytest.mark.slow
@pytest.mark.parametrize("command", EVALUATIONS)
def test_command_of_another_evaluation(command, samples, monkeypatch, capsys):
    monkeypatch.chdir(samples)
    assert main(typed(command)) == 0
    assert capsys.readouterr().out.rstrip() == EVALUATIONS[command].rstrip()


def test_example_of_the_evaluation_page(samples, monkeypatch, capsys):
    monkeypatch.chdir(samples)
    (command,) = [one for one in COMMANDS if one.startswith("scoring evaluate")]
    assert main([*typed(command), "--format", "csv"]) == 0
    rows = {row["run"]: row for row in csv.DictReader(io.StringIO(capsys.readouterr().out))}
    assert float(rows["A"]["macro.auc_ipr"]) == pytest.approx(0.3)
    assert float(rows["B"]["macro.auc_ipr"]) == pytest.approx(1 / 3)


def test_samples_are_the_same_each_time_and_overwrite_nothing(samples, tmp_path, capsys):
    assert main(["samples", str(tmp_path / "again")]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert len(listed) > 60
    for name in listed:
        assert (tmp_path / "again" / name).read_bytes() == (samples / name).read_bytes()
    assert main(["samples", str(tmp_path / "again")]) == 2
    assert "expected a new or empty folder" in capsys.readouterr().err


def test_pictures_of_the_page_are_there() -> None:
    names = re.findall(r"\]\((img/[^)]+)\)", PAGE)
    assert [name for name in names if not (ROOT / "docs" / name).is_file()] == []
