"""`scoring ppi3d`: the score of 3-D protein interaction predictors."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from scoring import figures
from scoring.errors import OptionError
from scoring.files import run_name
from scoring.intervals import Bounds, paired_tests
from scoring.options import (
    add_format,
    add_interval_resamples,
    add_tests,
    check_names,
    check_tests,
    framed,
    positive,
)
from scoring.pair_files import read_labels, scored_pairs
from scoring.pictures import add_pictures, check_pictures, save_pictures
from scoring.ppi3d import (
    RESAMPLES,
    Ppi3dScorecard,
    curves,
    evaluate,
    intervals,
    read_scores,
    scores_on_resamples,
    simulated_tables,
)
from scoring.rankings import RankedRun, ranking_report, ranking_table, tests_report
from scoring.tables import Cell, styled_table, table_of, text_table


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser(
        "ppi3d", help="score predictors of protein interactions from 3-D structures"
    )
    parser.add_argument(
        "--scores",
        nargs="+",
        type=Path,
        metavar="TSV",
        help="score files with label (0 or 1) and confidence per line, with --gold pair and"
        " confidence; several files are ranked",
    )
    parser.add_argument(
        "--simulate",
        type=positive,
        metavar="PAIRS",
        help="instead of --scores: compute the paper's Tables 2 to 4 from its simulated predictors",
    )
    parser.add_argument(
        "--gold",
        type=Path,
        metavar="TSV",
        help="all pairs to be scored, per line: pair and label (0 or 1)",
    )
    add_tests(parser)
    add_interval_resamples(parser, default=RESAMPLES)
    add_pictures(parser)
    add_format(parser)
    parser.set_defaults(command=score_pairs)


def score_pairs(args: argparse.Namespace) -> int:
    """Print the measures of one list of scored pairs, or the ranking of several."""
    if bool(args.scores) == bool(args.simulate):
        raise OptionError("expected either --scores or --simulate")
    if args.simulate:
        return _simulate(args)
    check_pictures(args)
    check_names(args.scores)
    check_tests(args, args.scores)
    if args.tests and not args.gold:
        raise OptionError("--tests: expected --gold, by which pairs of several files are the same")
    labels = read_labels(args.gold) if args.gold else None
    pairs = {
        path: read_scores(path) if labels is None else scored_pairs(path, labels)
        for path in args.scores
    }
    cards = {path: evaluate(*scored) for path, scored in pairs.items()}
    if args.tests:
        runs = {
            run_name(path): (cards[path].score, scores_on_resamples(*scored, args.resamples))
            for path, scored in pairs.items()
        }
        tests = paired_tests(runs, len(next(iter(pairs.values()))[0]))
        print(framed(args, tests_report({"score": tests}, args.format)))
        return 0
    bounds = {
        path: intervals(*scored, resamples=args.resamples) if args.resamples else {}
        for path, scored in pairs.items()
    }
    if args.out or args.html:
        drawn = {run_name(p): (curves(*pairs[p]), card.score) for p, card in cards.items()}
        save_pictures(args, figures.predictors(drawn))
    if args.format == "json":
        values = [
            {"run": run_name(path), **card.to_dict(), "intervals": bounds[path]}
            for path, card in cards.items()
        ]
        print(json.dumps(values, indent=2))
    elif args.format == "text" and len(cards) == 1:
        print(*(_report(card, bounds[path]) for path, card in cards.items()))
    else:
        table = ranking_table([_ranked(p, card, bounds[p]) for p, card in cards.items()], "score")
        print(framed(args, ranking_report(table, args.format, "score")))
    return 0


def _simulate(args: argparse.Namespace) -> int:
    """Print the cells of the paper's tables."""
    if args.gold or args.out or args.html:
        raise OptionError("--gold, --out and --html do not go with --simulate")
    if args.simulate > _MOST_PAIRS:
        raise OptionError(f"{args.simulate} pairs; expected at most {_MOST_PAIRS:,}")
    rows = simulated_tables(args.simulate)
    if args.format == "json":
        print(json.dumps(rows, indent=2))
    else:
        print(framed(args, styled_table(table_of(rows), args.format)))
    return 0


_MOST_PAIRS = 10_000_000


def _ranked(path: Path, card: Ppi3dScorecard, bounds: dict[str, tuple[float, float]]) -> RankedRun:
    values = card.to_dict()
    return RankedRun(
        run=run_name(path),
        score=card.score,
        bounds=Bounds(*bounds["score"]) if bounds else None,
        cells={name: values[name] for name in values if name != "score"},
    )


def _report(card: Ppi3dScorecard, bounds: dict[str, tuple[float, float]]) -> str:
    shown = {name: str(Bounds(*found)) for name, found in bounds.items()}
    rows: list[list[Cell]] = [
        [name, value, shown.get(name, "")] for name, value in card.to_dict().items()
    ]
    return text_table([["measure", "value", "95 %"], *rows])
