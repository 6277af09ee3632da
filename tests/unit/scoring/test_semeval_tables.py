"""Gold tables of `scoring ner`: whole articles, in the columns of a run."""

from pathlib import Path
from typing import Any

import pytest

from scoring.cli import main
from scoring.errors import FormatError
from scoring.semeval_files import read_ner_gold, read_ner_run
from scoring.semeval_ner import MentionSpan, evaluate

TABLE = "a\t0-3\tMDM2\tprotein\na\t11-13\tp53\tprotein\na\t0-3;11-13\tMDM2 p53\tcomplex\nb\n"


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    path = tmp_path / "gold.tsv"
    path.write_text(TABLE)
    return path


def test_a_table_names_mentions_and_the_articles_without_one(gold: Path) -> None:
    read = read_ner_gold(gold)
    assert list(read.sentences) == ["a", "b"]
    assert read.mentions == (
        MentionSpan("a", ((0, 4),), "protein"),
        MentionSpan("a", ((11, 14),), "protein"),
        MentionSpan("a", ((0, 4), (11, 14)), "complex"),
    )


def test_a_run_may_have_other_articles_and_types(gold: Path, tmp_path: Path) -> None:
    run = tmp_path / "run.tsv"
    run.write_text("a\t0-3\tMDM2\tgene\nb\t5-6\tof\tprotein\nelsewhere\t0-3\tp\tprotein\n")
    read = read_ner_gold(gold)
    mentions = read_ner_run(run, read)
    assert mentions == [MentionSpan("a", ((0, 4),), "gene"), MentionSpan("b", ((5, 7),), "protein")]
    card: Any = evaluate(
        read.mentions, mentions, article_of={name: name for name in read.sentences}
    ).to_dict()
    assert card["articles"] == 2
    strict = card["micro"]["strict"]
    assert [strict[key] for key in ("cor", "inc", "mis", "spu")] == [0, 1, 2, 1]
    assert "gene" not in card["per_type"]


@pytest.mark.parametrize(
    ("line", "column", "expected"),
    [
        ("", 0, "an empty line; expected article, charOffset, text, type"),
        ("a\t0-3\tMDM2", 0, "3 columns; expected article"),
        ("a\t0\tMDM2\tprotein", 2, "expected inclusive ones"),
        ("a\t0-4\tMDM2\tprotein", 3, "text of 4 characters; expected 5 by its offsets"),
        ("\t0-3\tMDM2\tprotein", 1, "empty; expected an article"),
        ("a\t0-3\tMDM2\t", 4, "empty; expected a type without spaces"),
        ("a \t0-3\tMDM2\tprotein", 1, "'a '; expected an article without spaces"),
        ("a\t0-3\tMDM2\tprotein ", 4, "'protein '; expected a type without spaces"),
        ("c ", 1, "'c '; expected an article without spaces"),
        ("a\t11-13\tp53\tprotein", 0, "the same mention as line 2"),
    ],
)
def test_a_bad_table_is_refused_by_line(gold: Path, line: str, column: int, expected: str) -> None:
    gold.write_text(f"{TABLE}{line}\n")
    with pytest.raises(FormatError) as caught:
        read_ner_gold(gold)
    [problem] = caught.value.problems
    assert (problem.file, problem.line, problem.column) == (str(gold), 5, column)
    assert expected in problem.message


def test_an_empty_table_is_refused(gold: Path) -> None:
    gold.write_text("")
    with pytest.raises(FormatError, match="empty; expected lines of article, charOffset"):
        read_ner_gold(gold)


def test_a_space_around_an_article_of_a_run_is_refused(gold: Path, tmp_path: Path) -> None:
    run = tmp_path / "run.tsv"
    run.write_text("a \t0-3\tMDM2\tprotein\n")
    with pytest.raises(FormatError, match="1:column 1: 'a '; expected an article without spaces"):
        read_ner_run(run, read_ner_gold(gold))


@pytest.mark.parametrize("options", [[], ["--compat", "semeval2013"]])
def test_what_a_run_may_misspell_is_told(options, gold, capsys):
    run = gold.with_name("run.tsv")
    words = ["ner", "--gold", str(gold), "--run", str(run), "--resamples", "0", *options]
    run.write_text("A\t0-3\tMDM2\tprotein\nA\t11-13\tp53\tprotein\nb\t0-1\tx\tprotein \n")
    assert main(words) == 0
    told = f"warning: {run}: "
    lost = "the first of 'A': the gold has 'a'"
    wrong = "the first of 'protein ': they are wrong"
    assert capsys.readouterr().err.splitlines() == [
        f"{told}ignored 2 lines of an article that is not in the gold, {lost}",
        f"{told}1 predictions are of types that the gold does not name, {wrong}",
    ]
    run.write_text("a\t0-3\tMDM2\tprotein\nelsewhere\t0-3\tMDM2\tgene\n")
    assert main(words) == 0
    assert capsys.readouterr().err == ""
