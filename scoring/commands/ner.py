"""`scoring ner`: drug names as in SemEval-2013 task 9.1."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from scoring.intervals import Bounds, interval, resample_count
from scoring.semeval_files import read_ner_gold, read_ner_run
from scoring.semeval_ner import TYPES, Compat, Criterion, MentionCounts, NerScorecard, evaluate
from scoring.tables import text_table

_COUNTS = ("cor", "inc", "par", "mis", "spu", "pos", "act")
_SCORES = ("precision", "recall", "f_score")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser("ner", help="score drug names (SemEval-2013 task 9.1)")
    parser.add_argument(
        "--gold",
        required=True,
        type=Path,
        metavar="DIR_OR_FILE",
        help="corpus XML, or a table: article, charOffset, text, type",
    )
    parser.add_argument(
        "--run", required=True, type=Path, metavar="FILE", help="sentence, charOffset, text, type"
    )
    parser.add_argument(
        "--compat",
        type=Compat,
        choices=list(Compat),
        help="semeval2013: partial precision is COR/ACT, as the organisers' program has it",
    )
    parser.add_argument(
        "--resamples", type=resample_count, default=10_000, metavar="N", help="0: no intervals"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=score_names)


def score_names(args: argparse.Namespace) -> int:
    """Print the scorecard of one run."""
    gold = read_ner_gold(args.gold)
    run = read_ner_run(args.run, gold)
    article_of = {name: sentence.document for name, sentence in gold.sentences.items()}
    card = evaluate(gold.mentions, run, compat=args.compat, article_of=article_of)
    bounds = {criterion: _bounds(card, criterion, args.resamples) for criterion in Criterion}
    if args.json:
        intervals = {str(criterion): found for criterion, found in bounds.items()}
        print(json.dumps({**card.to_dict(), "f_score_intervals": intervals}, indent=2))
    else:
        print(_report(card, bounds))
    return 0


def _bounds(card: NerScorecard, criterion: Criterion, resamples: int) -> Bounds | None:
    rows = [table[criterion] for table in card.by_article.values()]
    return interval(
        rows, lambda *row: MentionCounts(*row).f_score(card.compat), resamples=resamples
    )


def _report(card: NerScorecard, bounds: dict[Criterion, Bounds | None]) -> str:
    heading = [*map(str.upper, _COUNTS), "P", "R", "F1"]
    values = card.to_dict()
    criteria = [["all types", *heading, "95 % of F1"]]
    for criterion, found in bounds.items():
        criteria.append([criterion, *_cells(values["micro"][criterion]), str(found or "n/a")])
    types = [["strict, by type", *heading]]
    for name, table in values["per_type"].items():
        types.append([name, *_cells(table[Criterion.STRICT])])
    blank = [""] * len(_COUNTS)
    macro = [f"{card.macro()[key]:.3f}" for key in _SCORES]
    types.append([f"macro of the {len(TYPES)}", *blank, *macro])
    compat = f", compat {card.compat}" if card.compat else ""
    end = f"articles: {len(card.by_article)}, which the intervals resample{compat}"
    return "\n".join([text_table(criteria), "", text_table(types), "", end])


def _cells(counts: dict[str, float]) -> list[str]:
    return [*(str(counts[key]) for key in _COUNTS), *(f"{counts[key]:.3f}" for key in _SCORES)]
