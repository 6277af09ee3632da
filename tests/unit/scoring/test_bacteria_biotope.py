"""Bacteria Biotope 2016: real data, equivalent entities, files and the command."""

import csv
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.bacteria_biotope import SCHEMA, SubTask, evaluate, evaluate_paths
from scoring.cli import main
from scoring.errors import FormatError, OptionError
from scoring.standoff import read_standoff_gold, read_standoff_run
from tests.shared import shared

TEXT = "Vibrio lives in sea water and soil. V. sp. too."
A1 = (
    "T1\tBacteria 0 6\tVibrio\n"
    "T2\tHabitat 16 25\tsea water\n"
    "T3\tHabitat 30 34\tsoil\n"
    "T4\tBacteria 36 42\tV. sp.\n"
)
A2 = "R1\tLives_In Bacteria:T1 Location:T2\nR2\tLives_In Bacteria:T1 Location:T3\n"
EQUIVALENT = "*\tEquiv T1 T4\n"
PAIRS = "O:2\tO:1\nO:3\tO:1\nO:1\tO:0\n"


def _folder(path: Path, **files: str) -> Path:
    path.mkdir()
    for suffix, content in files.items():
        (path / f"doc.{suffix}").write_text(content)
    return path


def _scores(subtask: str, *paths: Path) -> dict[str, Any]:
    card = evaluate_paths(subtask, *paths).to_dict()
    return {one["name"]: one for one in card["scores"]}


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    return _folder(tmp_path / "gold", txt=TEXT, a1=A1, a2=A2 + EQUIVALENT)


@pytest.mark.parametrize("subtask", list(SubTask))
def test_the_gold_is_perfect_and_an_empty_run_scores_0(subtask: SubTask, tmp_path: Path) -> None:
    real = shared(f"data/bb2016/BioNLP-ST-2016_BB-{subtask}_dev.zip")
    parents = shared("data/bb2016/OntoBiotope_BioNLP-ST-2016_parents.txt")
    for one in evaluate_paths(subtask, real, real, parents).to_dict()["scores"]:
        for name in ("f1", "recall", "precision", "mean"):
            assert one.get(name, 1.0) == pytest.approx(1.0, abs=1e-12)
        assert one.get("ser", 0.0) == pytest.approx(0.0, abs=1e-12)
    zipfile.ZipFile(tmp_path / "empty.zip", "w").close()
    empty = evaluate_paths(subtask, real, tmp_path / "empty.zip", parents).to_dict()
    assert empty["articles_answered"] == 0
    for one in empty["scores"]:
        for name in ("f1", "recall", "precision", "mean", "sum"):
            assert one.get(name, 0.0) == 0
        assert one.get("ser", 1.0) == 1
    assert "NaN" not in json.dumps(empty)


def test_an_equivalent_entity_counts_as_the_same_and_a_repeat_counts_once(gold, tmp_path):
    lines = (
        "R1\tLives_In Bacteria:T4 Location:T2\n"
        "R2\tLives_In Bacteria:T1 Location:T2\n"
        "R3\tLives_In Bacteria:T4 Location:T3\n"
    )
    run = _folder(tmp_path / "run", a2=lines)
    scores = _scores("event", gold, run)
    assert (scores["Lives_In"]["f1"], scores["Lives_In"]["predictions"]) == (1, 2)
    ner = "".join(A1.splitlines(keepends=True))
    whole = _folder(tmp_path / "gold_ner", txt=TEXT, a1="", a2=A1 + A2 + EQUIVALENT)
    found = _scores("event+ner", whole, _folder(tmp_path / "run_ner", a2=ner + lines))
    assert (found["Lives_In"]["f1"], found["Lives_In"]["ser"]) == (1, 0)


def test_boundaries_and_types_of_found_entities(tmp_path: Path) -> None:
    whole = _folder(tmp_path / "gold", txt=TEXT, a1="", a2=A1 + A2)
    lines = (
        "T1\tBacteria 0 6\tVibrio\nT2\tHabitat 20 25\twater\nT3\tGeographical 30 34\tsoil\n"
        "R1\tLives_In Bacteria:T1 Location:T2\nR2\tLives_In Bacteria:T1 Location:T3\n"
    )
    run = _folder(tmp_path / "run", a2=lines)
    scores = _scores("event+ner", whole, run)
    main_score = scores["Lives_In"]
    assert main_score["recall"] == pytest.approx(5 / 9 / 2)
    assert main_score["ser"] == pytest.approx((4 / 9 + 1 + 1) / 2)
    assert (main_score["matches"], main_score["partial"]) == (0, 1)
    ignored = scores["Lives_In, boundaries ignored"]
    assert (ignored["recall"], ignored["matches"], ignored["partial"]) == (0.5, 1, 0)
    assert scores["Lives_In, Geographical only"]["insertions"] == 1
    assert scores["Lives_In, Geographical only"]["ser"] is None


def test_categories_of_found_entities(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text(PAIRS)
    given = (
        "N1\tNCBI_Taxonomy Annotation:T1 Referent:660\nN2\tOntoBiotope Annotation:T2 Referent:O:2\n"
    )
    two = "".join(A1.splitlines(keepends=True)[:2])
    whole = _folder(tmp_path / "gold", txt=TEXT, a1="", a2=two + given)
    lines = two.replace("16 25\tsea water", "20 25\twater") + given.replace("O:2", "O:3")
    scores = _scores("cat+ner", whole, _folder(tmp_path / "r", a2=lines), tmp_path / "pairs.tsv")
    alike = (2 * 0.65 + 2 * 0.65**2) / (2 * (1 + 0.65 + 0.65**2))  # siblings
    assert scores["entities, Habitat only"]["recall"] == pytest.approx(alike * 5 / 9)
    assert scores["boundaries ignored, Habitat only"]["recall"] == pytest.approx(alike)
    assert scores["categories ignored, Habitat only"]["recall"] == pytest.approx(5 / 9)
    assert scores["entities, Bacteria only"]["ser"] == 0
    assert scores["entities"]["ser"] == pytest.approx((1 - alike * 5 / 9) / 2)


@given(
    st.permutations(
        [
            "T1\tBacteria 16 25\tsea water", "T2\tHabitat 16 25\tsea water",
            "T3\tHabitat 16 19\tsea", "T4\tHabitat 20 25\twater", "T5\tHabitat 30 34\tsoil",
            "T6\tHabitat 30 34\tsoil", "N1\tOntoBiotope Annotation:T5 Referent:O:3",
            "N2\tOntoBiotope Annotation:T6 Referent:O:2",
        ]
    )
)  # fmt: skip
def test_the_order_of_lines_changes_no_score_of_found_entities(tmp_path_factory, lines):
    """A reference may be paired with either of two entities of its characters."""
    folder = tmp_path_factory.mktemp("order")
    (folder / "pairs.tsv").write_text(PAIRS)
    habitats = "".join(A1.splitlines(keepends=True)[1:3])
    both = (
        "N1\tOntoBiotope Annotation:T2 Referent:O:2\nN2\tOntoBiotope Annotation:T2 Referent:O:3\n"
    )
    gold = _folder(folder / "gold", txt=TEXT, a1="", a2=habitats + both)
    scores = []
    for name, order in (("one", sorted(lines)), ("other", lines)):
        run = _folder(folder / name, a2="".join(f"{line}\n" for line in order))
        scores.append(_scores("cat+ner", gold, run, folder / "pairs.tsv"))
    assert scores[0] == scores[1]
    for kind, predictions in (("Habitat", 5), ("Bacteria", 1)):
        found = scores[0][f"categories ignored, {kind} only"]
        result = (found["predictions"], found["pairs"])
        assert result == (predictions, 2 if kind == "Habitat" else 0)


def test_an_entity_without_category_in_the_run_counts_0(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text(PAIRS)
    both = (
        "N1\tOntoBiotope Annotation:T2 Referent:O:2\nN2\tOntoBiotope Annotation:T3 Referent:O:3\n"
    )
    whole = _folder(tmp_path / "gold", txt=TEXT, a1=A1, a2=both)
    run = _folder(tmp_path / "run", a2=both.splitlines()[0] + "\n")
    scores = _scores("cat", whole, run, tmp_path / "pairs.tsv")
    assert (scores["categories"]["precision"], scores["categories"]["references"]) == (0.5, 2)
    assert scores["categories"]["deletions"] == 1


def test_the_command_prints_pairs_and_intervals(gold, tmp_path, capsys):
    run = _folder(tmp_path / "run", a2="R7\tLives_In Bacteria:T4 Location:T2\n")
    words = ["bb", "--task", "event", "--gold", str(gold), "--run", str(run), "--pairs"]
    assert main([*words, "--resamples", "50"]) == 0
    out = capsys.readouterr().out
    assert "event: 1/1 articles answered" in out
    found = [line.split() for line in out.splitlines()[-2:]]
    assert found == [["doc", "R1", "R7", "1.000"], ["doc", "R2", "-", "0.000"]]
    assert main([*words, "--resamples", "0", "--format", "csv"]) == 0
    listed = capsys.readouterr().out.partition("\n\n")[2]
    assert listed.splitlines()[1:] == ["doc,R1,R7,1.0", "doc,R2,,0.0"]
    assert main([*words, "--json"]) == 0
    (values,) = json.loads(capsys.readouterr().out)
    assert (values["scores"][0]["recall"], values["scores"][0]["interval"]) == (0.5, [2 / 3, 2 / 3])
    assert len(values["pairs"]) == 2


def test_several_runs_become_one_ranking(gold, tmp_path, capsys):
    one = _folder(tmp_path / "one", a2="R7\tLives_In Bacteria:T4 Location:T2\n")
    both = tmp_path / "both"
    both.mkdir()
    (both / "doc.a2").write_text((gold / "doc.a2").read_text())
    words = ["bb", "--task", "event", "--gold", str(gold), "--run", str(one), str(both)]
    assert main([*words, "--resamples", "0", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    found = [(row["rank"], row["run"], row["f1"]) for row in rows]
    assert found == [("1", "both", "1.0"), ("2", "one", str(2 / 3))]
    assert main([*words, "--resamples", "0", "--pairs"]) == 0
    listed = capsys.readouterr().out.partition("\n\n")[2].splitlines()[1:]
    assert [line.split()[0] for line in listed] == ["one", "one", "both", "both"]


def test_an_error_rate_is_ranked_lowest_first(tmp_path, capsys):
    (tmp_path / "pairs.tsv").write_text(PAIRS)
    entity = A1.splitlines(keepends=True)[1]
    category = "N2\tOntoBiotope Annotation:T2 Referent:O:2\n"
    gold = _folder(tmp_path / "gold", txt=TEXT, a1="", a2=entity + category)
    right = _folder(tmp_path / "right", a2=entity + category)
    wrong = _folder(tmp_path / "wrong", a2=entity + category.replace("O:2", "O:3"))
    words = ["bb", "--task", "cat+ner", "--gold", str(gold), "--run", str(wrong), str(right)]
    words += ["--ontology", str(tmp_path / "pairs.tsv"), "--resamples", "0", "--format", "csv"]
    assert main(words) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["rank"], row["run"]) for row in rows] == [("1", "right"), ("2", "wrong")]
    assert float(rows[0]["ser"]) == 0 < float(rows[1]["ser"])


def test_folders_with_a_point_in_their_names_are_two_runs(gold, tmp_path, capsys):
    runs = [str(_folder(tmp_path / name, a2="")) for name in ("sys.1", "sys.2")]
    words = ["bb", "--task", "event", "--gold", str(gold), "--run", *runs, "--json"]
    assert main([*words, "--resamples", "0"]) == 0
    assert [one["run"] for one in json.loads(capsys.readouterr().out)] == ["sys.1", "sys.2"]


@pytest.mark.parametrize(
    ("method", "old", "new", "expected"),
    [
        (zipfile.ZIP_STORED, b"", b"", None),
        (zipfile.ZIP_LZMA, b"", b"", "a file is not compressed by deflate"),
        (zipfile.ZIP_BZIP2, b"", b"", "a file is not compressed by deflate"),
        (zipfile.ZIP_STORED, (17).to_bytes(4, "little"), b"\0\0\x0f\0", "too short|Overlapped"),
        (zipfile.ZIP_STORED, "\u00e4.a2".encode(), b"\xff\xff.a2", "'utf-8' codec can't decode"),
    ],
)
def test_a_damaged_zip_is_refused(gold, tmp_path, method, old, new, expected):
    path = tmp_path / "run.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("\u00e4.a2" if "codec" in (expected or "") else "doc.a2", b" " * 17)
    content = path.read_bytes()
    directory = content.index(b"PK\x01\x02")
    path.write_bytes(content[:directory] + content[directory:].replace(old, new))
    if expected is None:
        assert evaluate_paths("event", gold, path).articles_answered == 1
        return
    with pytest.raises(FormatError, match=expected):
        evaluate_paths("event", gold, path)


def test_categories_need_the_ontology(gold: Path) -> None:
    with pytest.raises(OptionError, match="--task kb needs --ontology"):
        evaluate_paths("kb", gold, gold)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("T9\tHabitat 30 60\tsoil", "T9 ends at 60; the text has 47 characters"),
        ("T9\tHabitat 30 33\tsoil", "T9 says 'soil'; the text has 'soi' there"),
        ("T9\tHabitat 30\tsoil", "expected a type and offsets such as Habitat 3 10;14 20"),
        ("T9\tHabitat 34 30\tsoil", "fragment 34-30 is empty or reversed"),
        ("T1\tBacteria 0 6\tVibrio", "id T1 comes twice in this article"),
        ("R1\tLives_In Bacteria:T1 Location:T8", "entity 'T8' is not in this article"),
        ("R1\tLives_In Bacteria:T2 Location:T3", "Bacteria T2 is of type Habitat"),
        ("R1\tLives_In Bacteria:T1", "roles Bacteria; expected Bacteria, Location"),
        ("R1\tEats Bacteria:T1 Location:T2", "relation 'Eats'; expected Lives_In"),
        ("N1\tOntoBiotope Annotation:T1 Referent:O:1", "OntoBiotope for T1, which is of type"),
        ("N1\tOntoBiotope Annotation:T2", "expected Annotation:T1 Referent:ID"),
        ("soil", "expected a T, R, E, N or * line"),
        ("*\tEquiv T1", "expected Equiv and two entities or more"),
    ],
)
def test_a_bad_line_is_refused(gold: Path, tmp_path: Path, line: str, expected: str) -> None:
    run = _folder(tmp_path / "run", a2=f"\n{line}\n")
    reference = read_standoff_gold(gold, SCHEMA)
    with pytest.raises(FormatError) as caught:
        read_standoff_run(run, SCHEMA, reference, entities_given=True)
    [problem] = caught.value.problems
    assert (problem.file, problem.line) == (str(run / "doc.a2"), 2)
    assert expected in problem.message


def test_bad_files_are_refused(gold: Path, tmp_path: Path) -> None:
    def refusal(reference: Path, run: Path) -> str:
        with pytest.raises(FormatError) as caught:
            evaluate_paths("event", reference, run)
        return str(caught.value)

    assert "expected a folder or a zip file" in refusal(tmp_path / "missing.zip", gold)
    (tmp_path / "text.zip").write_text("no zip")
    assert "expected a folder or a zip file" in refusal(tmp_path / "text.zip", gold)
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w") as archive:
        archive.writestr("doc.a2", "")
        archive.filelist[0].file_size = 1 << 30
    assert "bomb.zip: unpacks to more than" in refusal(gold, tmp_path / "bomb.zip")
    empty = tmp_path / "none"
    empty.mkdir()
    assert "no .txt file" in refusal(empty, gold)
    other = _folder(tmp_path / "other", a2="")
    (other / "doc.a2").rename(other / "unknown.a2")
    assert "its article is not in the gold" in refusal(gold, other)
    (gold / "doc.a1").unlink()
    assert "no doc.a1 beside it" in refusal(gold, other)


@given(
    fields=st.lists(
        st.sampled_from(["T7", "N1", "R1", "*", "Habitat 0 6", "Equiv T1", "T1", ":", " ", "0"])
        | st.text(max_size=8),
        max_size=6,
    )
)
def test_arbitrary_lines_are_read_or_refused(tmp_path_factory, fields):
    folder = tmp_path_factory.mktemp("fuzz")
    gold = _folder(folder / "gold", txt=TEXT, a1=A1, a2="")
    reference = read_standoff_gold(gold, SCHEMA)
    run = _folder(folder / "run", a2="")
    (run / "doc.a2").write_bytes("\t".join(fields).encode(errors="replace"))
    try:
        answered = read_standoff_run(run, SCHEMA, reference, entities_given=True)
    except FormatError:
        return
    assert answered["doc"].text == TEXT


def test_facts_are_paired_with_the_nearest_reference(tmp_path, capsys):
    (tmp_path / "pairs.tsv").write_text(PAIRS)
    taxon = "N1\tNCBI_Taxonomy Annotation:T1 Referent:660\n"
    habitats = "N2\tOntoBiotope Annotation:T2 Referent:O:2\n"
    more = "N3\tOntoBiotope Annotation:T3 Referent:O:3\n"
    gold = _folder(tmp_path / "gold", txt=TEXT, a1=A1, a2=taxon + habitats + more + A2)
    run = _folder(tmp_path / "run", a2=taxon + habitats + A2)
    words = ["bb", "--task", "kb", "--gold", str(gold), "--run", str(run)]
    assert main([*words, "--ontology", str(tmp_path / "pairs.tsv"), "--pairs", "--json"]) == 0
    (values,) = json.loads(capsys.readouterr().out)
    assert values["scores"][0]["mean"] == 0.5
    found = [tuple(pair.values()) for pair in values["pairs"]]
    assert found == [("corpus", "660 O:2", "660 O:2", 1.0), ("corpus", "660 O:3", None, 0.0)]


def test_bytes_that_are_no_text_are_refused_by_line(gold: Path) -> None:
    (gold / "doc.a2").write_bytes(b"\n\xff")
    with pytest.raises(FormatError) as caught:
        read_standoff_gold(gold, SCHEMA)
    assert caught.value.problems[0].line == 2


def test_an_event_line_is_a_relation_line(gold: Path, tmp_path: Path) -> None:
    reference = read_standoff_gold(gold, SCHEMA)
    run = _folder(tmp_path / "run", a2="E1\tLives_In:T1 Bacteria:T1 Location:T2\n")
    answered = read_standoff_run(run, SCHEMA, reference, entities_given=True)
    assert evaluate(SubTask.EVENT, reference, answered).to_dict()["scores"][0]["pairs"] == 1
