"""`scoring agree`: the agreement of annotators, pair by pair and together."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from scoring.agreement import Agreement, Estimate, agree, annotations_of
from scoring.errors import FileProblem, FormatError, OptionError
from scoring.files import read_gold, run_name
from scoring.gold import Gold
from scoring.options import add_format, add_interval_resamples, add_seed, framed
from scoring.tables import Cell, Table, csv_table, latex_table, text_table
from scoring.tasks import Task
from scoring.teams import team_of


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser("agree", help="measure how far annotators agree")
    parser.add_argument(
        "--task", required=True, choices=[str(task) for task in Task], help="task of the files"
    )
    parser.add_argument(
        "annotators", nargs="+", type=Path, metavar="FILE", help="one gold file per annotator"
    )
    parser.add_argument(
        "--articles",
        choices=["common", "all"],
        default="common",
        help="articles that both annotated (default), or all: an article without items counts as"
        " empty",
    )
    parser.add_argument(
        "--group",
        metavar="REGEX",
        help="the first group that it matches in a file's name is the database: agreement within"
        " and between databases",
    )
    add_interval_resamples(parser)
    add_seed(parser)
    add_format(parser)
    parser.set_defaults(command=measure_agreement)


def measure_agreement(args: argparse.Namespace) -> int:
    """Print the agreement of each pair, of all, and of groups."""
    annotators = {run_name(path): annotations_of(gold) for path, gold in _read(args).items()}
    if len(annotators) < len(args.annotators):
        raise OptionError("two files have the same name; expected a name an annotator")
    found = agree(
        annotators,
        everywhere=args.articles == "all",
        group_of=partial(team_of, args.group) if args.group else None,
        resamples=args.resamples,
        seed=args.seed,
    )
    if args.format == "json":
        print(json.dumps(_values(args, found), indent=2))
        return 0
    table, more = _pairs_table(found), _overall_table(found)
    if args.format == "text":
        count = f"{len(found.annotators)} annotators, {found.articles} articles"
        print("\n\n".join([text_table(table), text_table(more), count]))
    elif args.format == "csv":
        print(csv_table(table))
    else:
        print(framed(args, latex_table(table)))
    return 0


def _read(args: argparse.Namespace) -> dict[Path, Gold]:
    """Read all files; raises one `FormatError` with the problems of all."""
    golds: dict[Path, Gold] = {}
    problems: list[FileProblem] = []
    for path in args.annotators:
        try:
            golds[path] = read_gold(args.task, path)
        except FormatError as error:
            problems += error.problems
    if problems:
        raise FormatError(problems)
    return golds


def _values(args: argparse.Namespace, found: Agreement) -> dict[str, Any]:
    return {"task": args.task, "articles_counted": args.articles, **asdict(found)}


def _pairs_table(found: Agreement) -> Table:
    names = list(found.pairs[0].measures)
    header: list[Cell] = ["a", "b", "articles"]
    for name in names:
        header += [name, "95 %"]
    rows: list[list[Cell]] = [header]
    for pair in found.pairs:
        cells: list[Cell] = [pair.a, pair.b, pair.articles]
        for name in names:
            cells += _cells(pair.measures[name])
        rows.append(cells)
    return rows


def _overall_table(found: Agreement) -> Table:
    first = next(iter(found.pairs[0].measures))
    named = {f"mean {first} {name}": one for name, one in found.groups.items()}
    rows = [[name, *_cells(one)] for name, one in {**found.overall, **named}.items()]
    return [["all", "value", "95 %"], *rows]


def _cells(one: Estimate) -> list[Cell]:
    return [one.value, str(one.bounds or "n/a")]
