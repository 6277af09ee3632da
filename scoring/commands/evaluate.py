"""`scoring evaluate`: score result files against a gold standard."""

from __future__ import annotations

import argparse
from pathlib import Path

from scoring.commands.options import add_policy, add_task_and_gold
from scoring.errors import FormatError, Problem
from scoring.evaluation import evaluate_files
from scoring.files import read_gold
from scoring.report import FORMATS
from scoring.scorecard import Scorecard


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser("evaluate", help="score INT, IPT or ACT result files")
    add_task_and_gold(parser)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="result files")
    add_policy(parser)
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--format", choices=list(FORMATS), default="text", help="default: text")
    output.add_argument("--json", dest="format", action="store_const", const="json")
    parser.set_defaults(command=evaluate)


def evaluate(args: argparse.Namespace) -> int:
    """Print a scorecard a run, or every problem of all files and nothing else."""
    gold = read_gold(args.task, args.gold)
    scorecards: list[Scorecard] = []
    problems: list[Problem] = []
    for run in args.runs:
        try:
            scorecard = evaluate_files(
                args.task,
                gold,
                run,
                articles=args.articles,
                cutoff=args.cutoff,
                lenient_ranks=args.lenient_ranks,
                beta=args.beta,
            )
        except FormatError as error:
            problems += error.problems
        else:
            scorecards.append(scorecard)
    if problems:
        raise FormatError(problems)
    print(FORMATS[args.format](scorecards))
    return 0
