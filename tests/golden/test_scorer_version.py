"""A change of a score requires a new version of the scorer, by which signatures differ."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from metaserver.base.records import ArticleId
from metaserver.exchange.wire.contract import Report
from metaserver.tasks.ner import NER
from scoring import (
    SCORER_VERSION,
    VIEWS,
    ItemGold,
    evaluate_files,
    evaluate_runs,
    read_gold,
    select_views,
)
from tests.fakes.vocabulary import FakeVocabulary

SCORES = {"3": "05d98ff751fbcbd7"}
"""The digest of the scores of the campaign below, for the current version only."""

ARTICLES = range(7)
COUNTS_AND_MEASURES = ("tp", "fp", "fn", "tn", "macro", "micro", "per_type", "auc_ipr", "mcc")


def test_the_same_scores_have_the_same_version(tmp_path: Path) -> None:
    scores = json.dumps([*bc_scores(tmp_path), ner_score(tmp_path)], sort_keys=True)
    found = hashlib.sha256(scores.encode()).hexdigest()[:16]
    assert found == SCORES[SCORER_VERSION], (
        "scores changed: raise SCORER_VERSION, and put the new digest here in place of the old"
    )


def test_every_signature_has_the_version(tmp_path: Path) -> None:
    (tmp_path / "gold.tsv").write_text("a\tP1\n")
    (tmp_path / "run.tsv").write_text("a\tP1\t1\t1\n")
    card = evaluate_files("INT", tmp_path / "gold.tsv", tmp_path / "run.tsv")
    (tmp_path / "ner.tsv").write_text("a\t0-3\ttext\tdrug\n")
    ner = NER.scorer(NER.read_gold(tmp_path / "ner.tsv")).score().detail["signature"]
    for signature in (str(card.signature), ner):
        assert signature.endswith(f"|version:{SCORER_VERSION}")


def bc_scores(folder: Path) -> Iterator[Any]:
    """Yield the scores of an INT, an IPT and an ACT run, in all views where there are any."""
    homologs, taxa = folder / "homologs", folder / "taxa"
    homologs.write_text("".join(f"{name(n)}\t{name(n + 5)},{name(n + 10)}\n" for n in range(19)))
    taxa.write_text("".join(f"{name(n)}\t{9606 + n % 3}\n" for n in range(19)))
    gold, run = folder / "gold", folder / "run"
    for task, width in (("INT", 1), ("IPT", 2)):
        write(gold, ([f"a{a}", *item(a, n, width)] for a in ARTICLES for n in range(2, a % 3 + 4)))
        write(
            run,
            (
                [f"a{a}", *item(a, rank * (a % 2 + 1), width), str(rank), str(1 / rank)]
                for rank in (3, 1, 5, 4, 2)
                for a in ARTICLES[1:]
            ),
        )
        read = read_gold(task, gold)
        assert isinstance(read, ItemGold)
        views = select_views(read, VIEWS, homologs=homologs, taxa=taxa)
        for cutoff in (None, 2):
            for card in evaluate_runs(task, read, [run], views=views, cutoff=cutoff):
                yield rounded(card.to_dict())
    write(gold, ([f"a{a}", str(a % 2)] for a in ARTICLES))
    write(run, ([f"a{a}", "1" if a > 2 else "0", str(a + 1), "0.5"] for a in ARTICLES[:5]))
    yield rounded(evaluate_files("ACT", gold, run, lenient_ranks=True).to_dict())


def ner_score(folder: Path) -> Any:
    gold = folder / "ner.tsv"
    gold.write_text("a\t0-3\ttext\tdrug\na\t8-11\ttext\tbrand\nb\t0-1\tab\tdrug\n")
    with gold.open("a") as lines:  # two of the same characters, which one of another type names
        lines.write("c\t0-3\ttext\tbrand\nc\t0-3\ttext\tdrug\n")
    scorer = NER.scorer(NER.read_gold(gold))
    answers = {
        "a": ((0, 4, "drug"), (9, 4, "drug"), (20, 2, "group")),
        "c": ((0, 4, "group"), (0, 6, "drug")),
    }
    for article, mentions in answers.items():
        sent = [
            {"offset": start, "mention": "n" * length, "type": kind}
            for start, length, kind in mentions
        ]
        scorer.put(ArticleId(article), NER.check(sent, Report(), FakeVocabulary.unasked()))
    return rounded(dict(scorer.score().detail))


def name(number: int) -> str:
    return f"P{number % 19:05d}"


def item(article: int, number: int, width: int) -> list[str]:
    return [name(3 * article + 5 * number + 7 * side) for side in range(width)]


def write(path: Path, table: Iterator[list[str]]) -> None:
    path.write_text("".join("\t".join(fields) + "\n" for fields in table))


def rounded(scores: dict[str, Any]) -> Any:
    """Return the scores to twelve digits, so that no library's last bit counts."""

    def digits(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: digits(part) for key, part in value.items()}
        return round(value, 12) if isinstance(value, float) else value

    return digits({key: scores[key] for key in COUNTS_AND_MEASURES if key in scores})
