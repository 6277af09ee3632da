"""`scoring bb`: Bacteria Biotope 2016, all six sub-tasks."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from scoring.bacteria_biotope import BiotopeScorecard, SubTask, evaluate_paths
from scoring.biotope_scores import BiotopeScores
from scoring.files import run_name
from scoring.intervals import bounds_of, paired_tests
from scoring.knowledge_base import KnowledgeBaseScores
from scoring.options import (
    add_format,
    add_interval_resamples,
    add_tests,
    check_names,
    check_tests,
    framed,
)
from scoring.rankings import (
    RankedRun,
    pairs_table,
    ranking_report,
    ranking_table,
    tests_report,
)
from scoring.sign_flips import PairTest
from scoring.tables import Cell, text_table
from scoring.text import rereadable

_NOT_CELLS = {"name", "interval"}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser("bb", help="score runs of Bacteria Biotope (BioNLP-ST 2016)")
    parser.add_argument(
        "--task", required=True, type=SubTask, choices=list(SubTask), help="sub-task to score"
    )
    parser.add_argument(
        "--gold",
        required=True,
        type=Path,
        metavar="ZIP_OR_DIR",
        help="gold standard: .txt, .a1 and .a2 files",
    )
    parser.add_argument(
        "--run",
        required=True,
        nargs="+",
        type=Path,
        metavar="ZIP_OR_DIR",
        help="result files: .a2 files with the gold's names; several runs are ranked",
    )
    parser.add_argument(
        "--ontology",
        type=Path,
        metavar="PAIRS_OR_OBO",
        help="ontology: OBO, or child<TAB>parent per line",
    )
    parser.add_argument(
        "--pairs", action="store_true", help="print which gold and predicted items were paired"
    )
    add_tests(parser)
    add_interval_resamples(parser)
    add_format(parser)
    parser.set_defaults(command=score_biotopes)


def score_biotopes(args: argparse.Namespace) -> int:
    """Print the scorecard of one run or the ranking of several, and the pairs where asked for."""
    check_names(args.run)
    check_tests(args, args.run)
    ontology = args.ontology and rereadable(args.ontology)  # once for each run
    cards = {path: evaluate_paths(args.task, args.gold, path, ontology) for path in args.run}
    if args.tests:
        print(framed(args, tests_report(_tests(args, cards), args.format)))
        return 0
    values = {path: _values(path, card, args.resamples) for path, card in cards.items()}
    if args.format == "json":
        for path, card in cards.items():
            if args.pairs:
                values[path]["pairs"] = list(_pair_values(card))
        print(json.dumps(list(values.values()), indent=2))
        return 0
    if args.format == "text" and len(cards) == 1:
        print(*map(_report, values.values()))
    else:
        print(framed(args, _ranking(list(values.values()), args.format)))
    if args.pairs:
        runs = {run_name(path): list(_pair_values(card)) for path, card in cards.items()}
        print(f"\n{pairs_table(runs, args.format)}")
    return 0


def _tests(
    args: argparse.Namespace, cards: Mapping[Path, BiotopeScorecard]
) -> Mapping[str, Sequence[PairTest]]:
    """Return the tests of the first measure of the main score."""
    runs = {
        run_name(path): (_main(card.scores[0])[1], card.scores[0].on_resamples(args.resamples))
        for path, card in cards.items()
    }
    first = next(iter(cards.values())).scores[0]
    return {_main(first)[0]: paired_tests(runs, first.size)}


def _main(scores: BiotopeScores | KnowledgeBaseScores) -> tuple[str, float | None]:
    """Return the first measure, and its value."""
    return next((name, value) for name, value in scores.to_dict().items() if name not in _NOT_CELLS)


def _values(path: Path, card: BiotopeScorecard, resamples: int) -> dict[str, Any]:
    values = {"run": run_name(path), **card.to_dict()}
    for scores, one in zip(card.scores, values["scores"], strict=True):
        one["interval"] = bounds_of(scores.on_resamples(resamples))
    return values


def _ranking(values: list[dict[str, Any]], style: str) -> str:
    """Return the runs by the first measure of the main score; SER, an error rate, rises."""
    main = [one["scores"][0] for one in values]
    measure = next(name for name in main[0] if name not in _NOT_CELLS)
    ranked = [
        RankedRun(
            run=one["run"],
            score=scores[measure],
            bounds=scores["interval"],
            cells={name: scores[name] for name in scores if name not in _NOT_CELLS | {measure}}
            | {"articles": f"{one['articles_answered']}/{one['articles_in_gold']}"},
        )
        for one, scores in zip(values, main, strict=True)
    ]
    lowest_first = measure == "ser"
    table = ranking_table(ranked, measure, lowest_first=lowest_first)
    return ranking_report(table, style, measure, lowest_first=lowest_first)


def _report(values: dict[str, Any]) -> str:
    first, *_ = values["scores"]
    names = [name for name in first if name not in _NOT_CELLS]
    main = names[0]
    header = ["score", *names, f"95 % of {main}"]
    rows = [
        [one["name"], *(one[name] for name in names), str(one["interval"] or "n/a")]
        for one in values["scores"]
    ]
    answered = f"{values['articles_answered']}/{values['articles_in_gold']} articles answered"
    return f"{text_table([header, *rows])}\n\n{values['task']}: {answered}"


def _pair_values(card: BiotopeScorecard) -> Iterator[dict[str, Cell]]:
    for pair in sorted(card.pairs, key=lambda pair: pair.item):
        yield {
            "article": pair.item.article,
            "reference": pair.reference.id if pair.reference else None,
            "prediction": pair.prediction.id if pair.prediction else None,
            "similarity": pair.similarity,
        }
