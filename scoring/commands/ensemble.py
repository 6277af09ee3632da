"""`scoring ensemble`: train a consensus of runs, report what it gains, apply it to other runs."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from scoring.ensemble import (
    CUTOFF,
    cross_validate,
    item_hits,
    one_run_a_team,
    score_hits,
    train,
)
from scoring.errors import OptionError
from scoring.files import Run, read_gold, read_run, result_lines
from scoring.gold import ItemGold
from scoring.options import (
    add_format,
    add_lenient_ranks,
    add_runs,
    add_task_and_gold,
    positive,
    warn,
)
from scoring.report import scores_report
from scoring.scorecard import Signature
from scoring.tasks import Task, pair

_BETA = 10.0  # the overview's: a curator rather strikes a candidate out than looks for one


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser("ensemble", help="train a consensus of INT or IPT runs")
    add_task_and_gold(parser, act=False)
    add_runs(parser)
    parser.add_argument(
        "--apply", nargs="+", type=Path, metavar="RUN", help="the same members' runs to combine"
    )
    parser.add_argument(
        "--author", type=Path, metavar="RUN", help="authors' answers, whose number is the cutoff"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="result file of the consensus")
    parser.add_argument("--training-cutoff", type=positive, default=CUTOFF, metavar="N")
    parser.add_argument("--cutoff", type=positive, default=CUTOFF, metavar="N")
    parser.add_argument(
        "--beta", type=float, default=_BETA, metavar="B", help="of the report's F (default 10)"
    )
    parser.add_argument("--folds", type=positive, default=10, metavar="N")
    parser.add_argument("--seed", type=int, default=2009, metavar="N")
    parser.add_argument(
        "--team",
        metavar="REGEX",
        help="its first group in a run's name is the team; only a team's best run takes part",
    )
    parser.add_argument(
        "--explain", nargs="+", metavar="ID", help="article and accessions of one candidate"
    )
    add_lenient_ranks(parser)
    add_format(parser)
    parser.set_defaults(command=ensemble)


def ensemble(args: argparse.Namespace) -> int:
    """Print members and cross-validated consensus; write the consensus to `--out`."""
    _check(args)
    gold = read_gold(args.task, args.gold)
    assert isinstance(gold, ItemGold)
    signature = _signature(args, gold)
    runs, applied = _chosen(args, gold, signature)
    if args.explain:
        print(*_explained(args, gold, runs, applied or runs), sep="\n")
        return 0
    author = _read(args, [args.author])[0] if args.author else None
    consensus = cross_validate(
        gold,
        runs,
        author=author,
        folds=args.folds,
        training_cutoff=args.training_cutoff,
        cutoff=args.cutoff,
        seed=args.seed,
    )
    members = [*runs, author] if author else runs
    cards = [score_hits(gold, item_hits(run), run.name, signature) for run in members]
    cards.append(score_hits(gold, consensus, "consensus", replace(signature, seed=args.seed)))
    if applied:
        trained = train(gold, runs, training_cutoff=args.training_cutoff)
        consensus = trained.rank(applied, cutoff=args.cutoff)
    if args.out:
        args.out.write_text("".join(result_lines(args.task, consensus.items())))
    print(scores_report(cards, args.format))
    return 0


def _check(args: argparse.Namespace) -> None:
    if args.folds < 2:
        raise OptionError("--folds 1; expected at least 2")
    if args.apply and len(args.apply) != len(args.runs):
        raise OptionError(f"--apply has {len(args.apply)} runs; expected {len(args.runs)}")
    if args.apply and args.author:
        raise OptionError("--author is cross-validated; it does not go with --apply")
    if args.explain and len(args.explain) != (2 if args.task == Task.INT else 3):
        raise OptionError("--explain needs an article and the accessions of one candidate")


def _signature(args: argparse.Namespace, gold: ItemGold) -> Signature:
    return Signature(
        task=Task(args.task),
        gold=gold.digest,
        cutoff=args.cutoff,
        beta=args.beta,
        ranks="lenient" if args.lenient_ranks else "strict",
    )


def _chosen(
    args: argparse.Namespace, gold: ItemGold, signature: Signature
) -> tuple[list[Run], list[Run]]:
    """Return the members' runs to train on and to apply, a team's best only where asked for."""
    runs, applied = _read(args, args.runs), _read(args, args.apply or [])
    if not args.team:
        return runs, applied
    teams = [_team(args.team, run.name) for run in runs]
    places = one_run_a_team(gold, runs, teams, signature)
    return [runs[at] for at in places], [applied[at] for at in places if applied]


def _team(pattern: str, name: str) -> str:
    """Return the team of a run; a run whose name does not match is a team of its own."""
    try:
        found = re.search(pattern, name)
    except re.error as error:
        raise OptionError(f"--team {pattern!r}: {error}") from error
    return found[1] if found and found.re.groups else name


def _read(args: argparse.Namespace, paths: Sequence[Path]) -> list[Run]:
    runs = [read_run(args.task, path, lenient_ranks=args.lenient_ranks) for path in paths]
    warn(warning for run in runs for warning in run.warnings)
    return runs


def _explained(
    args: argparse.Namespace, gold: ItemGold, runs: Sequence[Run], applied: Sequence[Run]
) -> Iterator[str]:
    article, *accessions = args.explain
    item = accessions[0] if len(accessions) == 1 else pair(accessions[0], accessions[1])
    trained = train(gold, runs, training_cutoff=args.training_cutoff)
    parts = trained.explain(applied, article, item)
    yield f"log-odds that {' '.join(accessions)} is correct for {article}, by run:"
    yield from (f"{value:+9.4f}  {name}" for name, value in parts.items())
    yield f"{sum(parts.values()):+9.4f}  in all"
