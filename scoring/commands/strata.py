"""`scoring strata`: scores by species, journal, year or part, and which of these are harder."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from scoring.errors import OptionError
from scoring.files import read_gold
from scoring.options import (
    add_format,
    add_policy,
    add_resampling,
    add_runs,
    add_task_and_gold,
    scorecards_of,
    warn_of,
)
from scoring.report import record_table
from scoring.resampling import ACT_MEASURES, ITEM_MEASURES
from scoring.strata import (
    StratumDifference,
    StratumScore,
    read_strata,
    stratum_differences,
    stratum_scores,
)
from scoring.tables import Cell, Table, csv_table, latex_table, text_table

TABLES = ("scores", "differences")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser(
        "strata", help="score groups of articles (strata), and test which group is harder"
    )
    add_task_and_gold(parser)
    add_runs(parser)
    add_policy(parser)
    parser.add_argument(
        "--strata",
        type=Path,
        required=True,
        metavar="FILE",
        help="groups, per line: article<TAB>name<TAB>value, such as species and human",
    )
    parser.add_argument("--name", metavar="NAME", help="use only the groups with this name")
    parser.add_argument(
        "--measure",
        default="auc_ipr",
        metavar="M",
        help=f"measure of the differences (default auc_ipr): {', '.join(ITEM_MEASURES)}; ACT:"
        f" {', '.join(ACT_MEASURES)}",
    )
    add_resampling(parser)
    parser.add_argument(
        "--table", choices=TABLES, help="print only this table (default for CSV: scores)"
    )
    add_format(parser)
    parser.set_defaults(command=strata)


def strata(args: argparse.Namespace) -> int:
    """Print the scores on each stratum, then the differences between them."""
    gold = read_gold(args.task, args.gold)
    found, ignored = read_strata(args.strata, gold)
    if args.name:
        if args.name not in found:
            raise OptionError(f"--name {args.name!r}; expected one of {', '.join(sorted(found))}")
        found = {args.name: found[args.name]}
    if ignored:
        warn_of(f"{args.strata}: {ignored} lines of articles that are not in the gold")
    cards = scorecards_of(args, gold)
    scores = stratum_scores(gold, cards, found)
    differences: Sequence[StratumDifference] = ()
    if args.table != "scores":
        differences = stratum_differences(
            gold, cards, found, measure=args.measure, resamples=args.resamples, seed=args.seed
        )
    signature = f"{cards[0].signature}|seed:{args.seed}"
    print(_report(scores, differences, args.format, args.table, args.measure, signature))
    return 0


def _report(
    scores: Sequence[StratumScore],
    differences: Sequence[StratumDifference],
    style: str,
    table: str | None,
    measure: str,
    signature: str,
) -> str:
    if style == "json":
        tables = {
            "scores": list(map(asdict, scores)),
            "differences": list(map(asdict, differences)),
        }
        return json.dumps({**tables, "measure": measure, "signature": signature}, indent=2)
    both = TABLES if differences else TABLES[:1]
    shown = [table] if table else TABLES[:1] if style == "csv" else both
    made = {
        name: _score_table(scores) if name == "scores" else _difference_table(differences)
        for name in shown
    }
    if style == "csv":
        return csv_table(made[shown[0]])
    if style == "latex":
        return "\n".join([f"% {signature}", *(latex_table(made[name]) for name in shown)])
    parts = []
    if "scores" in shown:
        parts += [text_table(made["scores"]), ""]
    if "differences" in shown:
        title = f"differences of {measure}, articles of each stratum resampled: 95% intervals"
        parts += [title, text_table(made["differences"]), ""]
    return "\n".join([*parts, signature])


def _score_table(scores: Sequence[StratumScore]) -> Table:
    header: list[Cell] = ["name", "value", "run", "articles", *scores[0].scores]
    rows: list[list[Cell]] = [
        [
            one.name,
            one.value,
            one.run,
            f"{one.articles_scored}/{one.articles_in_gold}",
            *one.scores.values(),
        ]
        for one in scores
    ]
    return [header, *rows]


def _difference_table(differences: Sequence[StratumDifference]) -> Table:
    if not differences:
        raise OptionError("each name has one stratum only; expected two, to compare them")
    return record_table(differences)
