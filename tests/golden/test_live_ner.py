"""The hand-checked cases of SemEval-2013 task 9.1, answered live mention by mention."""

from itertools import groupby
from pathlib import Path

from metaserver.base.records import ArticleId
from metaserver.exchange.wire.contract import Report
from metaserver.tasks.ner import NER
from scoring.alignment import length
from tests.fakes.vocabulary import FakeVocabulary
from tests.golden.test_semeval import cases, mentions

COUNTS = {"COR", "INC", "PAR", "MIS", "SPU"}


def test_every_case_without_names_in_pieces(tmp_path: Path) -> None:
    played = 0
    for case in cases():
        run = sorted(mentions(case["pred"]))
        if any(len(mention.span) > 1 for mention in run):
            continue  # a live mention is one stretch of text
        table = tmp_path / "gold.tsv"
        table.write_text(
            "".join(
                f"{place}\t{offsets}\t{'n' * length(gold.span)}\t{kind}\n"
                for (place, offsets, kind), gold in zip(
                    case["gold"], mentions(case["gold"]), strict=True
                )
            )
        )
        scorer = NER.scorer(NER.read_gold(table))
        for place, found in groupby(run, key=lambda mention: mention.place):
            sent = [
                {"offset": start, "mention": "n" * (end - start), "type": kind}
                for _, ((start, end),), kind in found
            ]
            payload = NER.check(sent, Report(), FakeVocabulary.unasked())
            scorer.put(ArticleId(place), payload)
        micro = scorer.score().detail["micro"]
        for criterion, expected in case["expected"].items():
            for key in COUNTS & expected.keys():
                assert micro[criterion][key.lower()] == expected[key], (case["name"], criterion)
        played += 1
    assert played == 8
