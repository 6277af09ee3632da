"""`scoring bb`: Bacteria Biotope 2016, all six sub-tasks."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scoring.bacteria_biotope import BiotopeScorecard, SubTask, evaluate_paths
from scoring.biotope_scores import BiotopeScores, Sums
from scoring.intervals import Bounds, interval, resample_count
from scoring.knowledge_base import KnowledgeBaseScores
from scoring.tables import text_table


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser("bb", help="score bacteria biotopes (BioNLP-ST 2016)")
    parser.add_argument("--task", required=True, type=SubTask, choices=list(SubTask))
    parser.add_argument(
        "--gold", required=True, type=Path, metavar="ZIP_OR_DIR", help=".txt, .a1 and .a2 files"
    )
    parser.add_argument(
        "--run", required=True, type=Path, metavar="ZIP_OR_DIR", help=".a2 files of the same names"
    )
    parser.add_argument(
        "--ontology", type=Path, metavar="PAIRS_OR_OBO", help="child<TAB>parent lines or OBO"
    )
    parser.add_argument("--pairs", action="store_true", help="print which items were paired")
    parser.add_argument(
        "--resamples", type=resample_count, default=10_000, metavar="N", help="0: no intervals"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=score_biotopes)


def score_biotopes(args: argparse.Namespace) -> int:
    """Print the scorecard of one run, and its pairs where asked for."""
    card = evaluate_paths(args.task, args.gold, args.run, args.ontology)
    values = card.to_dict()
    for scores, one in zip(card.scores, values["scores"], strict=True):
        one["interval"] = _bounds(scores, args.resamples)
    if args.json:
        pairs = {"pairs": list(_pair_values(card))} if args.pairs else {}
        print(json.dumps({**values, **pairs}, indent=2))
        return 0
    print(_report(values))
    if args.pairs:
        rows = [list(one.values()) for one in _pair_values(card)]
        print(f"\n{text_table([['article', 'reference', 'prediction', 'S_p'], *rows])}")
    return 0


def _bounds(scores: BiotopeScores | KnowledgeBaseScores, resamples: int) -> Bounds | None:
    """Return the interval of the first measure, by article (facts: by reference)."""
    if isinstance(scores, KnowledgeBaseScores):
        rows = [(value, 1.0) for value in scores.by_reference.values()]
        return interval(rows, lambda value, count: value / count, resamples=resamples)
    member = next(iter(scores.measures.values()))
    sums = scores.by_article.values()
    return interval(sums, lambda *row: getattr(Sums(*row), member), resamples=resamples)


def _report(values: dict[str, Any]) -> str:
    first, *_ = values["scores"]
    names = [name for name in first if name not in ("name", "interval")]
    main = names[0]
    header = ["score", *names, f"95 % of {main}"]
    rows = [
        [one["name"], *(one[name] for name in names), str(one["interval"] or "n/a")]
        for one in values["scores"]
    ]
    answered = f"{values['articles_answered']}/{values['articles_in_gold']} articles answered"
    return f"{text_table([header, *rows])}\n\n{values['task']}: {answered}"


def _pair_values(card: BiotopeScorecard) -> Iterator[dict[str, Any]]:
    for pair in sorted(card.pairs, key=lambda pair: pair.item):
        yield {
            "article": pair.item.article,
            "reference": pair.reference.id if pair.reference else "-",
            "prediction": pair.prediction.id if pair.prediction else "-",
            "similarity": pair.similarity,
        }
