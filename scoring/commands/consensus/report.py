"""`scoring consensus report`: what a consensus of runs gains, cross-validated."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from scoring.commands.consensus.campaign import Campaign, add_campaign, read_campaign
from scoring.consensus.choice import score_hits
from scoring.consensus.contribution import contributions
from scoring.consensus.measures import BETA, LIKELY, calibration_error
from scoring.consensus.model import LEARNED, METHODS
from scoring.consensus.progressive import PartialPanel, progressive
from scoring.consensus.validation import CrossValidation, as_many_as, cross_validate
from scoring.consensus.votes import CUTOFF, Hits
from scoring.errors import OptionError
from scoring.files import item_hits, result_lines
from scoring.options import add_format, framed, positive
from scoring.report import scores_report
from scoring.scorecard import ItemScorecard
from scoring.tables import Cell, styled_table, table_of

SHOWN = ("stacked", "maxent", "rrf1", "combsum", "votes")
TABLES = ("scores", "progressive", "contributions")
ERRORS: Mapping[str, float] = {"ECE": 0.0, f"ECE above {LIKELY}": LIKELY}
"""The columns of calibration errors, with the least probability that counts in each."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser(
        "report", help="compare methods of consensus with the runs that they combine"
    )
    add_campaign(parser)
    parser.add_argument(
        "--methods",
        type=lambda text: text.split(","),
        default=list(SHOWN),
        metavar="M,...",
        help=f"methods to compare, of {', '.join(METHODS)} (default: {','.join(SHOWN)})",
    )
    parser.add_argument(
        "--table",
        choices=TABLES,
        default="scores",
        help="scores (default); progressive: AUC iP/R while only some runs have answered; "
        "contributions: what each team contributes to the first method",
    )
    parser.add_argument(
        "--author",
        type=Path,
        metavar="RUN",
        help="result file with the authors' answers; their number is the cutoff",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="write the cross-validated consensus of the first method to this file",
    )
    parser.add_argument(
        "--cutoff",
        type=positive,
        default=CUTOFF,
        metavar="N",
        help="candidates per article (default 30)",
    )
    parser.add_argument(
        "--beta",
        type=float,
        default=BETA,
        metavar="B",
        help="weight of recall in F-beta (default 10)",
    )
    add_format(parser)
    parser.set_defaults(command=report)


def report(args: argparse.Namespace) -> int:
    """Print the table; write the first method's consensus to `--out`."""
    for method in args.methods:
        if method not in METHODS:
            raise OptionError(f"method {method!r}; expected one of {', '.join(METHODS)}")
    if args.author and args.table != "scores":
        raise OptionError("--author goes with the table of scores")
    campaign = read_campaign(args)
    found = {method: _validated(args, campaign, method) for method in args.methods}
    if args.out:
        hits = _hits(campaign, found[args.methods[0]], args.cutoff)
        args.out.write_text("".join(result_lines(args.task, hits.items())), encoding="utf-8")
    if args.table == "scores":
        print(framed(args, _scores(args, campaign, found)))
    else:
        rows = (
            _progress(found)
            if args.table == "progressive"
            else _contributions(args, campaign, found[args.methods[0]])
        )
        print(framed(args, _rows(rows, args.format)))
    return 0


def _validated(args: argparse.Namespace, campaign: Campaign, method: str) -> CrossValidation:
    return cross_validate(
        campaign.gold,
        campaign.runs,
        method=method,
        articles=campaign.articles,
        choice=campaign.choice,
        author=campaign.author,
        folds=campaign.folds,
        training_cutoff=args.training_cutoff,
        selection_cutoff=args.selection_cutoff,
        thresholds=campaign.author is None,
        seed=args.seed,
        features=args.features,
    )


def _hits(
    campaign: Campaign, validated: CrossValidation, cutoff: int, *, short: bool = False
) -> Hits:
    hits = validated.hits(cutoff, short=short)
    return as_many_as(item_hits(campaign.author), hits) if campaign.author else hits


def _scores(
    args: argparse.Namespace, campaign: Campaign, found: Mapping[str, CrossValidation]
) -> str:
    """Return the scores of runs and methods; a short list ends at the least probability."""
    cards = list(campaign.cards)
    extra = [_membership(campaign, next(iter(found.values())), at) for at in range(len(cards))]
    seeded = replace(cards[0].signature, seed=args.seed)

    def add(name: str, hits: Hits, errors: Sequence[float | None]) -> None:
        card = score_hits(campaign.gold, hits, name, seeded, campaign.counted)
        cards.append(card)
        cells = {"candidates": _length(card), **dict(zip(ERRORS, errors, strict=True))}
        extra.append(dict.fromkeys(extra[0]) | cells)

    for method, validated in found.items():
        errors: list[float | None] = [None] * len(ERRORS)
        if method in LEARNED:
            said, correct = validated.probabilities, validated.votes.correct.astype(float)
            errors = [calibration_error(said, correct, least=least) for least in ERRORS.values()]
        add(f"consensus {method}", _hits(campaign, validated, args.cutoff), errors)
        if validated.thresholds:
            short = _hits(campaign, validated, args.cutoff, short=True)
            add(f"consensus {method}, short", short, errors)
    return scores_report(cards, args.format, extra=extra)


def _membership(campaign: Campaign, validated: CrossValidation, place: int) -> dict[str, Cell]:
    """Return how long a run's lists are, and with teams in how many folds it was its team's."""
    cells: dict[str, Cell] = {"candidates": _length(campaign.cards[place])}
    cells |= dict.fromkeys(ERRORS)
    if campaign.choice:
        of_runs = place < len(campaign.runs)
        taken = sum(place in fold for fold in validated.members)
        member = "yes" if place in campaign.places else "no"
        cells["folds"] = f"{taken}/{len(validated.members)}" if of_runs else None
        cells["member"] = member if of_runs else None
    return cells


def _length(card: ItemScorecard) -> float | None:
    """Return the mean number of candidates of the articles that were scored."""
    return (card.tp + card.fp) / card.articles_scored if card.articles_scored else None


def _progress(found: Mapping[str, CrossValidation]) -> list[dict[str, Cell]]:
    """Return AUC iP/R by the number of runs that answered, a column a method."""
    columns: dict[str, Sequence[PartialPanel]] = {}
    for method, validated in found.items():
        most = int(validated.votes.answered.sum(axis=1).max())
        columns[method] = progressive(validated, range(1, most + 1))
    return [
        {"answered": rows[0].answered}
        | {method: one.auc_ipr for method, one in zip(columns, rows, strict=True)}
        for rows in zip(*columns.values(), strict=True)
    ]


def _contributions(
    args: argparse.Namespace, campaign: Campaign, validated: CrossValidation
) -> list[dict[str, Cell]]:
    """Return a row a team; values that are not sure are left out."""
    teams = dict(zip((run.name for run in campaign.runs), campaign.teams, strict=True))
    return [asdict(one) for one in contributions(validated, teams, seed=args.seed)]


def _rows(rows: Sequence[Mapping[str, Cell]], style: str) -> str:
    if style == "json":
        return json.dumps(rows, indent=2)
    return styled_table(table_of(rows), style)
