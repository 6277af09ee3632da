"""`scoring usefulness`: what a curator finds by cutoff, and how long it takes."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from scoring import figures
from scoring.errors import OptionError
from scoring.evaluation import evaluate_files
from scoring.files import read_gold
from scoring.gold import ItemGold
from scoring.options import (
    add_format,
    add_interval_resamples,
    add_policy,
    add_runs,
    add_seed,
    add_task_and_gold,
    check_names,
    framed,
    positive,
    scorecards_of,
)
from scoring.pictures import add_pictures, check_pictures, save_pictures
from scoring.scorecard import ItemScorecard
from scoring.tables import csv_table, latex_table, text_table
from scoring.usefulness import (
    AUTHOR_MINUTES,
    BETA,
    CUTOFFS,
    SECONDS,
    authors_usefulness,
    usefulness,
    usefulness_table,
)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser("usefulness", help="measure what runs save a curator")
    add_task_and_gold(parser, act=False)
    add_runs(parser)
    add_policy(parser)
    parser.set_defaults(beta=BETA)
    parser.add_argument(
        "--cutoffs",
        type=_cutoffs,
        default=CUTOFFS,
        metavar="N,...",
        help=f"candidates of an article (default {','.join(map(str, CUTOFFS))})",
    )
    parser.add_argument(
        "--seconds",
        type=_above_0,
        default=SECONDS,
        metavar="S",
        help=f"that a curator needs for a candidate (default {SECONDS:g})",
    )
    parser.add_argument("--authors", type=Path, metavar="RUN", help="the authors' own answers")
    parser.add_argument(
        "--author-minutes",
        type=_above_0,
        default=AUTHOR_MINUTES,
        metavar="M",
        help=f"that authors need for an article (default {AUTHOR_MINUTES:g})",
    )
    add_interval_resamples(parser)
    add_seed(parser)
    add_pictures(parser)
    add_format(parser)
    parser.set_defaults(command=measure_usefulness)


def measure_usefulness(args: argparse.Namespace) -> int:
    """Print a line a run and cutoff, and draw them where asked for."""
    check_pictures(args)
    if args.cutoff:
        raise OptionError("--cutoff does not apply here; expected --cutoffs")
    if args.authors and args.authors not in args.runs:  # the same file may be both
        check_names([*args.runs, args.authors])
    gold = read_gold(args.task, args.gold)
    assert isinstance(gold, ItemGold)
    cards = [card for card in scorecards_of(args, gold) if isinstance(card, ItemScorecard)]
    sampled = {"resamples": args.resamples, "seed": args.seed}
    found = usefulness(gold, cards, cutoffs=args.cutoffs, seconds=args.seconds, **sampled)
    authors = None
    if args.authors:
        card = evaluate_files(args.task, gold, args.authors, articles=args.articles, beta=args.beta)
        assert isinstance(card, ItemScorecard)
        authors = authors_usefulness(gold, card, minutes=args.author_minutes, **sampled)
    signature = str(cards[0].signature)
    chart = figures.usefulness(found, authors, args.author_minutes, args.beta, signature)
    save_pictures(args, chart)
    rows = [*found, *([authors] if authors else [])]
    if args.format == "json":
        print(json.dumps([asdict(one) | {"signature": signature} for one in rows], indent=2))
        return 0
    table = usefulness_table(rows, args.beta)
    if args.format == "csv":
        print(csv_table(table))
    elif args.format == "latex":
        print(framed(args, f"% {signature}\n{latex_table(table)}"))
    else:
        print(f"{text_table(table)}\n\n{signature}")
    return 0


def _cutoffs(text: str) -> list[int]:
    """Return the values of `--cutoffs`, rising and each once."""
    return sorted({positive(one) for one in text.split(",")})


def _above_0(text: str) -> float:
    """Return the value of an option that is a number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r}; expected a number above 0")
    return value
