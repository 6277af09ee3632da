"""The hand-checked numbers of Bacteria Biotope 2016 in ../shared/golden."""

import json
from typing import Any

import numpy as np
import pytest

from scoring.alignment import Span, overlaps, span
from scoring.bacteria_biotope import SubTask, evaluate
from scoring.biotope_scores import Item, paired, score
from scoring.knowledge_base import Fact, compare
from scoring.ontology import Ontology
from scoring.standoff import Annotations, Entity, Relation
from tests.shared import shared


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    return json.loads(shared("golden/bb3_2016.json").read_text())


@pytest.fixture(scope="module")
def ontology(golden: dict[str, Any]) -> Ontology:
    return Ontology(golden["dag"])


def test_wang_similarity(golden: dict[str, Any], ontology: Ontology) -> None:
    assert ontology.contributions("D") == pytest.approx(golden["s_values_D"], abs=1e-15)
    for names, expected in golden["wang"].items():
        a, b = names.split(",")
        assert ontology.similarity(a, b) == pytest.approx(expected, abs=1e-15)
        assert ontology.similarity(b, a) == ontology.similarity(a, b)
    several = golden["cat_multi_normalisation"]
    found = ontology.set_similarity(set(several["gold"]), set(several["pred"]))
    assert found == pytest.approx(several["bma"], abs=1e-15)


def test_jaccard(golden: dict[str, Any]) -> None:
    for case in golden["boundaries_halfopen"]:
        found = overlaps([("a", span(case["a"]))], [("a", span(case["b"]))]).jaccard
        assert found.tolist() == pytest.approx([case["jaccard"]] if case["jaccard"] else [])


def test_pairing_and_slot_error_rate(golden: dict[str, Any]) -> None:
    for case in golden["pairing"]:
        matrix = np.array(case["S"])
        candidates = [
            (int(i), int(j), float(matrix[i, j])) for i, j in zip(*np.nonzero(matrix), strict=True)
        ]
        references = [Item("a", f"R{i}", "") for i in range(matrix.shape[0])]
        predictions = [Item("a", f"P{j}", "") for j in range(matrix.shape[1])]
        pairs = paired(references, predictions, candidates)
        found = {(p.reference.id, p.prediction.id) for p in pairs if p.reference and p.prediction}
        assert found == {(f"R{i}", f"P{j}") for i, j in case["pairs"]}, case["name"]
        total = score("all", pairs, ["a"], {"ser": "ser"}).total
        assert total.pairs - total.similarity == pytest.approx(case["substitutions"])
        for name in ("insertions", "deletions", "ser", "recall", "precision", "f1"):
            if name in case:
                assert getattr(total, name) == pytest.approx(case[name]), (case["name"], name)


def _article(events: list[dict[str, Any]], text_length: int) -> Annotations:
    article = Annotations(article="a", text="x" * text_length)
    ids: dict[tuple[str, Span], str] = {}
    for number, event in enumerate(events):
        roles = {}
        for role, (kind, fragments) in event.items():
            name = ids.setdefault((kind, span(fragments)), f"T{len(ids)}")
            article.entities[name] = Entity(name, kind, span(fragments))
            roles[role] = name
        article.relations[f"R{number}"] = Relation(f"R{number}", "Lives_In", roles)
    return article


def test_events_with_entities_to_find(golden: dict[str, Any]) -> None:
    case = golden["event_ner"]
    gold, run = {"a": _article(case["ref"], 60)}, {"a": _article(case["pred"], 60)}
    scorecard = evaluate(SubTask.EVENT_NER, gold, run)
    scores = {one["name"]: one for one in scorecard.to_dict()["scores"]}
    assert sum(pair.similarity for pair in scorecard.pairs) == pytest.approx(case["sum"])
    for name in ("recall", "precision", "f1"):
        assert scores["Lives_In"][name] == pytest.approx(case[name])
        ignored = scores["Lives_In, boundaries ignored"][name]
        assert ignored == pytest.approx(case["ignore_boundaries"][name])


def test_categories(golden: dict[str, Any], ontology: Ontology) -> None:
    case = golden["cat"]
    gold, run = Annotations(article="a", text="x" * 9), Annotations(article="a", text="x" * 9)
    for number, entity in enumerate(case["entities"]):
        name = f"T{number}"
        for side, given in ((gold, entity["gold"]), (run, entity["pred"])):
            side.entities[name] = Entity(name, entity["type"], ((number, number + 1),))
            if given:
                side.referents[name] = {given}
    found = evaluate(SubTask.CAT, {"a": gold}, {"a": run}, ontology).to_dict()["scores"]
    precision = {one["name"]: one["precision"] for one in found}
    assert precision["categories"] == pytest.approx(case["precision"], abs=1e-15)
    assert precision["categories, Habitat only"] == pytest.approx(case["habitat"], abs=1e-15)
    assert precision["categories, Bacteria only"] == pytest.approx(case["bacteria"], abs=1e-15)


def test_knowledge_base(golden: dict[str, Any], ontology: Ontology) -> None:
    case = golden["kb"]
    references = [Fact(*fact) for fact in case["ref"]]
    found = compare(references, [Fact(*fact) for fact in case["pred"]], ontology)
    by_name = {",".join(fact): value for fact, value in found.by_reference.items()}
    assert by_name == pytest.approx(case["ref_scores"], abs=1e-15)
    assert found.sum == pytest.approx(case["sum"], abs=1e-15)
    assert (found.mean, found.unpaired) == (pytest.approx(case["mean"], abs=1e-15), 1)
