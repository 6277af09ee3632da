"""The offline tasks: golds, uploads with every fault in its place, scores as the commands give."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metaserver.base.boards import Score
from metaserver.base.errors import InputError
from metaserver.tasks import biotope, drug_names
from metaserver.tasks.biotope import CAT, CAT_NER, EVENT, EVENT_NER, KB
from metaserver.tasks.drug_names import DDI_NER
from metaserver.tasks.plugin import (
    ComparedTask,
    LabelledTask,
    OfflineTask,
    RewritableTask,
    RunFile,
    answered_tasks,
    installed_tasks,
    offline_tasks,
)
from metaserver.tasks.predictors import PPI_3D
from metaserver.tasks.result_files import ResampledRun, intervals
from scoring.cli import main as scoring
from tests.unit.metaserver.tasks.offline_samples import (
    BB_GOLD,
    BB_NER_GOLD,
    CATEGORIES,
    CONFIDENCES,
    ENTITIES,
    EVENTS,
    LABELS,
    NAMES,
    ONTOLOGY,
    OTHER_SENTENCES,
    SENTENCES,
    zipped,
)

TEXT_TWO = "Vibrio lives in sea water and soil, too."
RUN = {"doc1.a2": EVENTS.splitlines()[0] + "\n" + CATEGORIES.replace("O:2", "O:3")}
NER_RUN = {
    "run/doc1.a2": ENTITIES.replace("16 25\tsea water", "20 25\twater") + EVENTS + CATEGORIES,
    "run/doc2.a2": ENTITIES,
    "run/readme.md": "not read",
}
PREDICTORS = {"gold": LABELS.encode(), "run": CONFIDENCES.encode()}
DRUGS = {"gold": zipped({"a/1.xml": SENTENCES, "2.xml": OTHER_SENTENCES}), "run": NAMES.encode()}


def placed(folder: Path, content: bytes, name: str = "file") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def uploaded(task: OfflineTask, folder: Path, gold: bytes, run: bytes) -> RunFile:
    read = task.read_gold(placed(folder, gold, "gold"))
    return task.read_upload(placed(folder, run, "run"), read)


def scored(task: OfflineTask, folder: Path, gold: bytes, run: bytes) -> Score:
    found = uploaded(task, folder, gold, run)
    assert not found.faults
    scorer = task.scorer(task.read_gold(folder / "gold"))
    assert scorer.score().values[task.order[0]] is None
    for article, payload in found.payloads.items():
        stored = json.loads(json.dumps(payload))
        scorer.keep(article, scorer.prepare(article, stored))
    return scorer.score()


def faults(found: RunFile) -> list[str]:
    assert not found.payloads
    return [str(one) for one in found.faults]


def printed(capsys: pytest.CaptureFixture[str], *words: object) -> Mapping[str, Any]:
    assert scoring([*map(str, words), "--format", "json"]) == 0
    [found] = json.loads(capsys.readouterr().out)
    return found


def test_they_are_installed_apart_from_those_of_servers() -> None:
    names = ["BB-cat", "BB-cat+ner", "BB-event", "BB-event+ner", "BB-kb", "BB-kb+ner"]
    assert list(offline_tasks()) == [*names, "DDI-NER", "PPI-3D"]
    assert list(answered_tasks()) == ["ACT", "INT", "IPT", "NER"]
    found = [name for name, task in installed_tasks().items() if isinstance(task, OfflineTask)]
    assert found == [*offline_tasks()]
    for name, task in offline_tasks().items():
        assert task.name == name
        assert isinstance(task, ComparedTask)
        assert isinstance(task, LabelledTask)
        assert set(task.order) < {column.key for column in task.columns}


@pytest.mark.parametrize("subtask", ["cat", "cat+ner", "event", "event+ner", "kb", "kb+ner"])
def test_bb_scores_as_its_command(subtask, tmp_path, capsys):
    ner = subtask.endswith("+ner")
    task = offline_tasks()[f"BB-{subtask}"]  # type: ignore[index]
    gold, run = zipped(BB_NER_GOLD if ner else BB_GOLD), zipped(NER_RUN if ner else RUN)
    score = scored(task, tmp_path, gold, run)
    words = ["bb", "--task", subtask, "--gold", tmp_path / "gold", "--run", tmp_path / "run"]
    ontology = placed(tmp_path, ONTOLOGY.encode(), "ontology.tsv")
    found = printed(capsys, *words, "--ontology", ontology)
    bounds = [one.pop("interval") for one in found["scores"]]
    assert score.detail["scores"] == found["scores"]
    assert (score.articles_scored, score.articles_in_gold) == (2 if ner else 1, 2)
    first = next(iter(score.values.values()))
    assert first == list(found["scores"][0].values())[1]
    [interval] = task.intervals(None, {"a": score.card}, task.order[0]).values()  # type: ignore[attr-defined]
    assert [interval.low, interval.high] == bounds[0]
    assert (interval.best_rank, interval.worst_rank) == (1, 1)


def test_drug_names_score_as_their_command(tmp_path, capsys):
    score = scored(DDI_NER, tmp_path, **DRUGS)
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    placed(corpus, SENTENCES.encode(), "1.xml")
    placed(corpus, OTHER_SENTENCES.encode(), "2.xml")
    found = printed(capsys, "ner", "--gold", corpus, "--run", tmp_path / "run")
    result = {key: score.detail[key] for key in ("micro", "per_type", "macro")}
    assert result == {key: found[key] for key in ("micro", "per_type", "macro")}
    assert score.values["strict_f"] == found["micro"]["strict"]["f_score"]
    assert (score.articles_scored, score.articles_in_gold) == (2, 2)
    interval = DDI_NER.intervals(None, {"a": score.card}, "strict_f")["a"]  # type: ignore[arg-type]
    assert [interval.low, interval.high] == found["f_score_intervals"]["strict"]


def test_predictors_score_as_their_command(tmp_path, capsys):
    score = scored(PPI_3D, tmp_path, **PREDICTORS)
    found = printed(capsys, "ppi3d", "--gold", tmp_path / "gold", "--scores", tmp_path / "run")
    assert score.values == {key: found[key] for key in score.values}
    interval = PPI_3D.intervals({}, {"a": score.card}, "score")["a"]
    assert [interval.low, interval.high] == found["intervals"]["score"]
    plain = b"1\t0.9\n0\t0.8\n1\t0.7\n0\t1e-3\n0\t0.2\n"
    labelled = printed(capsys, "ppi3d", "--scores", placed(tmp_path, plain, "labelled"))
    assert labelled | {"run": ""} == found | {"run": ""}


RIGHT = dict.fromkeys(("doc1.a2", "doc2.a2"), EVENTS + CATEGORIES)
RIGHT_NER = {name: ENTITIES + text for name, text in RIGHT.items()}
SOME = "".join(NAMES.splitlines(keepends=True)[:2])
OTHER = CONFIDENCES.replace("0.8", "0.1").encode()
PAIRED: Mapping[str, Any] = {
    "event": (EVENT, zipped(BB_GOLD), zipped(RUN), zipped(RIGHT), {"doc1": 2 / 3, "doc2": 0.0}),
    "cat+ner": (CAT_NER, zipped(BB_NER_GOLD), zipped(NER_RUN), zipped(RIGHT_NER),
                {"doc1": pytest.approx(4 / 27), "doc2": 2.0}),
    "kb": (KB, zipped(BB_GOLD), zipped(RUN), zipped(RIGHT), {}),
    "ner": (DDI_NER, SENTENCES.encode(), SOME.encode(), NAMES.splitlines()[0].encode(),
            {"d1": 0.5}),
    "ppi3d": (PPI_3D, LABELS.encode(), CONFIDENCES.encode(), OTHER, {}),
}  # fmt: skip
"""Tasks by their command, each with a gold, two runs, and the first run's value of each article."""


@pytest.mark.parametrize(
    "name", [*list(PAIRED)[:-1], pytest.param("ppi3d", marks=pytest.mark.slow)]
)
def test_two_runs_are_tested_as_by_the_command(name, tmp_path, capsys):
    task, gold, run, other, articles = PAIRED[name]
    cards = [scored(task, tmp_path, gold, content).card for content in (run, other)]
    pair = task.paired(None, *cards, task.order[0])
    for file, content in (("gold", gold), ("run", run), ("other", other)):
        placed(tmp_path, content, file)
    command = pair.command.split()[1]
    words = [command, *(["--task", name] if command == "bb" else []), "--gold", tmp_path / "gold"]
    words += ["--scores" if name == "ppi3d" else "--run", tmp_path / "run", tmp_path / "other"]
    if name in ("cat+ner", "kb"):
        words += ["--ontology", placed(tmp_path, ONTOLOGY.encode(), "ontology.tsv")]
    assert scoring([*map(str, words), "--tests", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)[0]
    told = [found[key] for key in ("difference", "low", "high", "p")]
    assert told == [pair.difference, pair.low, pair.high, pair.p]
    assert pair.low <= pair.difference <= pair.high
    assert {one.article: one.first for one in pair.pairs} == articles
    assert f"{pair.articles} {pair.items}" == f"{cards[0].size} {task.items}"


def test_every_fault_of_a_bb_upload_has_its_place(tmp_path: Path) -> None:
    gold = zipped(BB_GOLD)
    run = {
        "a/doc1.a2": "R1\tLives_In Bacteria:T1 Location:T9\n\nR2\tEats Bacteria:T1\nwhat\n",
        "doc2.a2": b"R1\t\xff\n",
        "doc3.a2": "",
    }
    assert faults(uploaded(EVENT, tmp_path, gold, zipped(run))) == [
        "a/doc1.a2 line 1: entity 'T9' is not in this article",
        "a/doc1.a2 line 3: relation 'Eats'; expected Lives_In",
        "a/doc1.a2 line 4: 'what'; expected a T, R, E, N or * line with tabs",
        "doc2.a2 line 1: not UTF-8; expected UTF-8 text",
        "doc3.a2: its article is not in the gold",
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"no zip", "the file: not a zip; expected a zip of .a2 files"),
        (b"PK but no more", "the file: not a complete zip file: File is not a zip file"),
        (zipped({"readme.md": "x"}), "the file: no .a2 file"),
        (zipped({"../doc1.a2": ""}), "the file: '../doc1.a2': not a plain name: expected"),
        (zipped({"a/doc1.a2": "", "b/doc1.a2": ""}), "b/doc1.a2: doc1.a2 comes twice, first as a"),
        (zipped({"doc1.a2": "*" * 2**20 + "*"}), "the file: 'doc1.a2': larger than 1,048,576"),
        (zipped({"doc1.a2": "*" * 2**19}), "the file: doc1.a2: the files are larger than an hone"),
        (zipped({"x/" * 20 + "doc1.a2": ""}), f"the file: '{'x/' * 16}x': more than 16"),
        (zipped({"doc1.a2": zipped(RUN)}), "the file: doc1.a2: a zip inside a zip"),
    ],
    ids=["plain", "broken", "empty", "outside", "twice", "large", "bomb", "deep", "nested"],
)
def test_hostile_bb_uploads_are_refused(content: bytes, said: str, tmp_path: Path) -> None:
    [found] = faults(uploaded(EVENT, tmp_path, zipped(BB_GOLD), content))
    assert found.startswith(said)


def test_what_takes_too_long_to_score_is_refused(tmp_path, monkeypatch):
    gold = zipped(BB_NER_GOLD)
    many = "".join(f"N{n}\tNCBI_Taxonomy Annotation:T1 Referent:{n}\n" for n in range(10, 31))
    run = zipped({"doc1.a2": ENTITIES + EVENTS + CATEGORIES + many})
    task = offline_tasks()["BB-kb+ner"]  # type: ignore[index]
    found = faults(uploaded(task, tmp_path, gold, run))
    assert found == ["doc1.a2: T1 has 22 categories; at most 20"]
    for name in ("MOST_FACTS", "MOST_PAIRS", "MOST_EVENT_PAIRS"):
        monkeypatch.setattr(biotope, name, 1)
    run = zipped({"doc1.a2": ENTITIES + EVENTS + CATEGORIES})
    assert faults(uploaded(task, tmp_path, gold, run)) == [
        "the file: states 2 facts; expected at most 1",
        "the file: more events in an article than can be paired; expected fewer",
        "the file: more entities that overlap each other than can be paired; expected fewer",
    ]
    monkeypatch.setattr(biotope, "MOST_LINES", 1)
    assert faults(uploaded(task, tmp_path, gold, run)) == ["the file: 8 lines; expected at most 1"]


@pytest.mark.parametrize("crowded", [False, True])
def test_what_is_refused_does_not_depend_on_the_gold(crowded, tmp_path, monkeypatch):
    """A crowd of predictions on a gold entity, or beside it, would show where it is."""
    monkeypatch.setattr(biotope, "MOST_PAIRS", 20)
    monkeypatch.setattr(drug_names, "MOST_PAIRS", 20)
    size, seen = (8 if crowded else 3), set()
    for start, end in ((16, 25), (30, 34)):  # of the gold's habitat
        words = "Vibrio lives in sea water and soil."[start:end]
        entities = f"T1\tBacteria 0 6\tVibrio\nT2\tHabitat {start} {end}\t{words}\n"
        event = "R1\tLives_In Bacteria:T1 Location:T2\n"
        gold = BB_NER_GOLD | {"doc1.a2": entities + event}
        crowd = "".join(f"T{9 + n}\tHabitat 16 {20 + n % 5}\n" for n in range(size))
        found = uploaded(EVENT_NER, tmp_path, zipped(gold), zipped({"doc1.a2": crowd}))
        seen.add(("BB", *map(str, found.faults)))
        table = f"d1\t{start}-{end - 1}\t{'x' * (end - start)}\tdrug\n".encode()
        names = "".join(f"d1\t16-{20 + n}\tx\tdrug\n" for n in range(size))
        found = uploaded(DDI_NER, tmp_path, table, names.encode())
        seen.add(("DDI", *map(str, found.faults)))
    assert len(seen) == 2
    assert {len(one) > 1 for one in seen} == {crowded}


def counts(task: OfflineTask, folder: Path, gold: bytes, run: bytes) -> Mapping[str, Any]:
    """Return the part of a run that counts."""
    assert isinstance(task, RewritableTask)
    found = uploaded(task, folder, gold, run)
    assert not found.faults
    counted: Mapping[str, Any] = task.counted(task.read_gold(folder / "gold"), found.payloads)
    return counted


@pytest.mark.parametrize("subtask", ["cat", "cat+ner", "event", "event+ner", "kb", "kb+ner"])
def test_a_bb_run_that_is_rewritten_counts_the_same(subtask: str, tmp_path: Path) -> None:
    ner = subtask.endswith("+ner")
    task = offline_tasks()[f"BB-{subtask}"]  # type: ignore[index]
    obo = "[Term]\nid: O:1\n[Term]\nid: O:2\nis_a: O:1\nalt_id: O:22\n[Term]\nid: O:3\nis_a: O:1\n"
    files = {k: v for k, v in (BB_NER_GOLD if ner else BB_GOLD).items() if k != "ontology.tsv"}
    gold = zipped(files | {"o.obo": obo})
    given = (ENTITIES if ner else "") + EVENTS + CATEGORIES
    lines = given.replace("O:2", "O:22").replace("\tsea water", "\tsea  water").splitlines()
    other = "\r\n\r\n".join(reversed(lines))
    if ner:  # the ids of entities are the run's own
        other = other.replace("T3", "T77")
    more = {"doc2.a2": ""}
    if subtask.startswith("cat"):
        other = other.replace("R2\tLives_In Bacteria:T1 Location:T3", "").replace(
            "T77\t\r", "T77\t"
        )
    elif subtask.startswith("event"):
        other += "\nR9\tLives_In Bacteria:T1 Location:T2\n"  # stated twice
        other = other.replace("N1\tNCBI_Taxonomy Annotation:T1 Referent:660", "")
    else:  # facts are those of all articles
        more = {"doc2.a2": (ENTITIES if ner else "") + EVENTS.splitlines()[0] + "\n" + CATEGORIES}
    one = counts(task, tmp_path, gold, zipped({"doc1.a2": given}))
    two = counts(task, tmp_path, gold, zipped({"a/doc1.a2": other} | more))
    found = {k: v for k, v in two.items() if k != "doc2"}
    assert found == {k: v for k, v in one.items() if k != "doc2"}
    changed = given.replace("Location:T3", "Location:T2").replace("Referent:O:3", "Referent:O:1")
    assert counts(task, tmp_path, gold, zipped({"doc1.a2": changed})) != one


def test_names_and_confidences_that_are_rewritten_count_the_same(tmp_path: Path) -> None:
    gold = DRUGS["gold"]
    one = counts(DDI_NER, tmp_path, gold, NAMES.encode())
    lines = NAMES.replace("Tylenol", "TYLENOL").splitlines()
    assert counts(DDI_NER, tmp_path, gold, "\n".join(reversed(lines)).encode()) == one
    assert counts(DDI_NER, tmp_path, gold, NAMES.replace("0-6", "0-5").encode()) != one
    labels = LABELS.encode()
    one = counts(PPI_3D, tmp_path, labels, CONFIDENCES.encode())
    halved = [line.split("\t") for line in CONFIDENCES.splitlines()]
    same = "".join(f"{pair}\t{float(sure) / 2:.9f}\n" for pair, sure in reversed(halved))
    assert counts(PPI_3D, tmp_path, labels, same.encode()) == one
    assert sorted(one.values()) == [*range(len(one))]


def test_an_article_without_a_file_is_reported(tmp_path: Path) -> None:
    found = uploaded(EVENT, tmp_path, zipped(BB_GOLD), zipped(RUN))
    assert list(found.payloads) == ["doc1"]
    assert [str(one) for one in found.problems] == ["doc2.a2: missing: read as without annotations"]


def test_a_run_is_scored_on_another_gold_without_what_does_not_fit(tmp_path: Path) -> None:
    payload = EVENTS + "R3\tLives_In Bacteria:T1 Location:T4\nbroken\n"
    other = {"doc1.txt": TEXT_TWO, "doc1.a1": ENTITIES, "doc1.a2": EVENTS}
    gold = EVENT.read_gold(placed(tmp_path, zipped(other), "gold"))
    scorer = EVENT.scorer(gold)
    for article in ("doc1", "gone"):
        scorer.keep(article, payload)  # type: ignore[arg-type]
    score = scorer.score()
    assert score.values["f1"] == 1
    assert score.articles_scored == score.articles_in_gold == 1


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"doc1.txt": "x"}, "doc1.txt: no doc1.a1 beside it (and 1 more)"),
        (BB_GOLD | {"doc1.a2": "R1\tx\n"}, "doc1.a2:1: relation 'x'; expected Lives_In"),
        ({"readme.md": "x"}, "gold: no .txt file; expected .txt, .a1 and .a2 files"),
        ({k: v for k, v in BB_GOLD.items() if k != "ontology.tsv"}, "ontologies in the zip: none"),
        (BB_GOLD | {"b.obo": "x"}, "ontologies in the zip: b.obo, ontology.tsv; expected one"),
        (BB_GOLD | {"ontology.tsv": "a\n"}, "ontology.tsv:1: 'a'; expected child<TAB>parent"),
        (BB_GOLD | {"doc1.a2": "", "doc2.a2": ""}, "nothing to find for BB-cat"),
    ],
    ids=["lacking", "line", "empty", "no ontology", "two ontologies", "ontology", "nothing"],
)
def test_a_gold_names_its_fault(files: Mapping[str, str], said: str, tmp_path: Path) -> None:
    path = placed(tmp_path, zipped(files), "gold")
    with pytest.raises(InputError) as error:
        CAT.read_gold(path)
    assert said in str(error.value)
    assert "/metaserver-zip-" not in str(error.value)


def test_a_gold_that_is_no_zip_or_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a zip"):
        CAT.read_gold(placed(tmp_path, b"x"))
    with pytest.raises(InputError, match="No such file"):
        CAT.read_gold(tmp_path / "absent")


def test_labels_are_compared(tmp_path: Path) -> None:
    gold = EVENT_NER.read_gold(placed(tmp_path, zipped(BB_NER_GOLD)))
    assert EVENT_NER.labels(gold)["doc1"] == {  # type: ignore[index]
        "Lives_In 0-6 16-25",
        "Lives_In 0-6 30-34",
        "0-6 660",
        "16-25 O:2",
        "30-34 O:3",
    }
    names = DDI_NER.read_gold(placed(tmp_path, DRUGS["gold"]))
    assert DDI_NER.labels(names) == {
        "d1": {"d1.s0 0-6 drug", "d1.s0 23-30 drug"},
        "d2": {"d2.s0 0-6 brand", "d2.s0 12-18 group"},
    }
    found = PPI_3D.labels({"a-b": True, "a-c": False})
    assert found == {"a-b": {"interacts"}, "a-c": {"does not interact"}}


def test_every_fault_of_drug_names_has_its_line(tmp_path: Path) -> None:
    run = "d1.s0\t0-6\tAspirin\tdrug\nd9\t0-6\tx\tdrug\nd1.s1\t9-99\tx\tfood\nd2.s0\tx\n"
    assert faults(uploaded(DDI_NER, tmp_path, DRUGS["gold"], run.encode())) == [
        "line 2, column 1: sentence 'd9' is not in the gold",
        "line 3, column 2: offset 99 is after the sentence's last, 15",
        "line 3, column 4: type 'food'; expected drug, brand, group, drug_n",
        "line 4: 2 columns; expected 4 separated by tabs: sentence, charOffset, text, type",
    ]
    broken = zipped({"1.xml": "<sentence id='d1.s0'><entity/></sentence", "2.xml": "<x/>"})
    result = faults(uploaded(DDI_NER, tmp_path, DRUGS["gold"], broken))
    assert result == ["1.xml line 1: broken XML: unclosed token"]
    entities = "<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'>" + "".join(
        f"<!ENTITY {b} '{f'&{a};' * 10}'>" for a, b in zip("abcdefghi", "bcdefghij", strict=True)
    )
    bomb = f"{entities}]><sentence id='&j;'/>".encode()
    [found] = faults(uploaded(DDI_NER, tmp_path, DRUGS["gold"], bomb))
    assert "limit on input amplification factor" in found
    large = b"x\n" * 100_001
    assert "expected at most" in faults(uploaded(DDI_NER, tmp_path, DRUGS["gold"], large))[0]
    with pytest.raises(InputError, match="no mention"):
        DDI_NER.read_gold(placed(tmp_path, b"article\n"))


def test_names_as_xml_count_as_those_of_the_table(tmp_path: Path) -> None:
    xml = (
        "<document><sentence id='d1.s0'><entity charOffset='0-6' text='Aspirin' type='drug'/>"
        "</sentence></document>"
    )
    one = scored(DDI_NER, tmp_path, DRUGS["gold"], xml.encode())
    other = scored(DDI_NER, tmp_path, DRUGS["gold"], b"d1.s0|0-6|Aspirin|drug\n")
    zip_of = scored(DDI_NER, tmp_path, DRUGS["gold"], zipped({"deep/run.xml": xml}))
    assert one.values == other.values == zip_of.values
    assert one.values["cor"] == 1


def test_every_fault_of_confidences_has_its_line(tmp_path: Path) -> None:
    run = "a-b\t0.9\na-b\t1\nx\t1\na-c\tnan\nb-c\t1e999\nb-d\t0x1\nwhat\n\tx\n"
    assert faults(uploaded(PPI_3D, tmp_path, LABELS.encode(), run.encode())) == [
        "line 2, column 1: pair 'a-b' comes twice, first in line 1; expected it once",
        "line 3, column 1: pair 'x' is not in the gold",
        "line 4, column 2: 'nan'; expected a number such as 0.93 or 1e-7",
        "line 5, column 2: '1e999'; expected a number such as 0.93 or 1e-7",
        "line 6, column 2: '0x1'; expected a number such as 0.93 or 1e-7",
        "line 7: 'what'; expected pair<TAB>confidence, a number",
        "line 8: '\\tx'; expected pair<TAB>confidence, a number",
        "the file: no line for pair 'c-d'; expected each pair once",
    ]
    wide = "a-b\t0.9\n".encode("utf-16")
    found = faults(uploaded(PPI_3D, tmp_path, LABELS.encode(), wide))
    assert found == ["line 1: byte 0xff is not UTF-8; expected UTF-8 text"]


def test_a_gold_of_pairs_names_its_faults(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"file:1: column 2: label .* .and 1 more"):
        PPI_3D.read_gold(placed(tmp_path, b"a\t2\nb\t0\nb\t1\n"))
    with pytest.raises(InputError, match="only one kind of label"):
        PPI_3D.read_gold(placed(tmp_path, b"a\t1\n"))


def test_a_pair_of_a_newer_gold_ranks_last(tmp_path: Path) -> None:
    gold = {"a": True, "b": False, "c": True}
    scorer = PPI_3D.scorer(gold)
    for pair, confidence in {"a": 0.9, "b": -1.0, "gone": 1.0}.items():
        scorer.keep(pair, confidence)  # type: ignore[arg-type]
    score = scorer.score()
    assert (score.values["auroc"], score.articles_scored) == (0.5, 2)


def test_ranks_of_several_runs_follow_the_direction_of_the_measure() -> None:
    runs = {
        "low": ResampledRun(0.1, lambda: np.full(100, 0.1), 5),
        "high": ResampledRun(0.9, lambda: np.full(100, 0.9), 5),
        "none": ResampledRun(None, lambda: np.empty(0), 5),
    }
    rising, falling = intervals(runs, rising=True), intervals(runs, rising=False)
    assert {name: one.best_rank for name, one in rising.items()} == {"low": 1, "high": 2}
    assert {name: one.best_rank for name, one in falling.items()} == {"low": 2, "high": 1}
    assert intervals({}, rising=False) == {}
    test = PPI_3D.paired({}, runs["low"], runs["none"], "score")
    assert (test.difference, test.p, test.pairs) == (None, 1.0, ())
