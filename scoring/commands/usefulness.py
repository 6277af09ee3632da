"""`scoring usefulness`: what a curator finds by cutoff, and how long it takes."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from scoring import figures
from scoring.errors import OptionError
from scoring.evaluation import evaluate_runs
from scoring.files import read_gold
from scoring.gold import ItemGold
from scoring.options import (
    add_articles,
    add_format,
    add_interval_resamples,
    add_lenient_ranks,
    add_seed,
    add_task_and_gold,
    add_views,
    check_names,
    framed,
    positive,
    views_of,
    warn,
)
from scoring.pictures import add_pictures, check_pictures, save_pictures
from scoring.scorecard import ItemScorecard, Signature
from scoring.tables import csv_table, latex_table, text_table
from scoring.tasks import Task
from scoring.usefulness import (
    AUTHOR_MINUTES,
    BETA,
    CUTOFFS,
    SECONDS,
    Usefulness,
    authors_usefulness,
    best_cutoff,
    usefulness,
    usefulness_table,
)
from scoring.views import View


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser("usefulness", help="measure how much work runs save a curator")
    add_task_and_gold(parser, act=False)
    parser.add_argument(
        "runs", nargs="*", type=Path, metavar="RUN", help="result files (default: the ideal run)"
    )
    add_articles(parser)
    add_lenient_ranks(parser)
    add_views(parser)
    parser.add_argument("--cutoff", help=argparse.SUPPRESS)  # else short for --cutoffs
    parser.add_argument(
        "--beta",
        type=_betas,
        default=[BETA],
        metavar="B,...",
        help=f"weights of recall in F-beta (default {BETA:g})",
    )
    parser.add_argument(
        "--cutoffs",
        type=_cutoffs,
        default=CUTOFFS,
        metavar="N,...",
        help="candidates shown per article, a list or a range such as 1-30 (default"
        f" {','.join(map(str, CUTOFFS))})",
    )
    parser.add_argument(
        "--seconds",
        type=_above_0,
        default=SECONDS,
        metavar="S",
        help=f"seconds that a curator needs per candidate (default {SECONDS:g})",
    )
    parser.add_argument(
        "--authors", type=Path, metavar="RUN", help="result file with the authors' own answers"
    )
    parser.add_argument(
        "--author-minutes",
        type=_above_0,
        default=AUTHOR_MINUTES,
        metavar="M",
        help=f"minutes that authors need per article (default {AUTHOR_MINUTES:g})",
    )
    add_interval_resamples(parser)
    add_seed(parser)
    add_pictures(parser)
    add_format(parser)
    parser.set_defaults(command=measure_usefulness)


def measure_usefulness(args: argparse.Namespace) -> int:
    """Print a line per run and cutoff, and draw them if `--out` or `--html` asks for it."""
    check_pictures(args)
    if args.cutoff:
        raise OptionError("--cutoff does not apply here; expected --cutoffs")
    check_names(dict.fromkeys([*args.runs, *filter(None, [args.authors])]))  # a file may be both
    gold = read_gold(args.task, args.gold)
    assert isinstance(gold, ItemGold)
    (view,) = views_of(args, gold)
    signatures = [_signature(args, gold, view, beta) for beta in args.beta]
    cards = _scored(args, gold, view, args.runs)
    sampled = {"betas": args.beta, "resamples": args.resamples, "seed": args.seed}
    found = usefulness(gold, cards, cutoffs=args.cutoffs, seconds=args.seconds, **sampled)
    authors: list[Usefulness] = []
    if args.authors:
        (card,) = _scored(args, gold, view, [args.authors])
        authors = authors_usefulness(gold, card, minutes=args.author_minutes, **sampled)
    chart = figures.usefulness(found, authors, args.author_minutes, "; ".join(signatures))
    save_pictures(args, chart)
    rows = [*found, *authors]
    if args.format == "json":
        signed = dict(zip(args.beta, signatures, strict=True))
        print(json.dumps([asdict(one) | {"signature": signed[one.beta]} for one in rows], indent=2))
        return 0
    table = usefulness_table(rows)
    notes = [_best_cutoff(gold, beta) for beta in args.beta]
    if args.format == "csv":
        print(csv_table(table))
    elif args.format == "latex":
        comments = "\n".join(f"% {one}" for one in [*notes, *signatures])
        print(framed(args, f"{comments}\n{latex_table(table)}"))
    else:
        print("\n".join([text_table(table), "", *notes, "", *signatures]))
    return 0


def _scored(
    args: argparse.Namespace, gold: ItemGold, view: View, runs: Sequence[Path]
) -> list[ItemScorecard]:
    cards = evaluate_runs(
        args.task,
        gold,
        runs,
        articles=args.articles,
        lenient_ranks=args.lenient_ranks,
        views=(view,),
    )
    warn(warning for card in cards for warning in card.warnings)
    return [card for card in cards if isinstance(card, ItemScorecard)]


def _signature(args: argparse.Namespace, gold: ItemGold, view: View, beta: float) -> str:
    signature = Signature(
        task=Task(args.task),
        gold=gold.digest,
        articles=args.articles,
        view=view.name,
        files=view.files,
        beta=beta,
        ranks="lenient" if args.lenient_ranks else "strict",
    )
    return str(signature)


def _best_cutoff(gold: ItemGold, beta: float) -> str:
    cutoff, f_score = best_cutoff(gold, beta)
    return f"the ideal system's F_{beta:g} is highest at cutoff {cutoff}: {f_score:.3f}"


def _cutoffs(text: str) -> list[int]:
    """Return the values of `--cutoffs`, rising and each once; `1-30` are all from 1 to 30."""
    low, dash, high = text.partition("-")
    if not dash:
        return sorted({positive(one) for one in text.split(",")})
    if positive(low) > positive(high) or int(high) > _MOST_CUTOFF:
        message = f"{text!r}; expected cutoffs that rise, at most {_MOST_CUTOFF}"
        raise argparse.ArgumentTypeError(message)
    return list(range(int(low), int(high) + 1))


_MOST_CUTOFF = 1000


def _betas(text: str) -> list[float]:
    """Return the values of `--beta`, in order and each once."""
    return list(dict.fromkeys(_above_0(one) for one in text.split(",")))


def _above_0(text: str) -> float:
    """Return the value of an option that is a number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r}; expected a number above 0")
    return value
