"""`scoring ensemble`: train a consensus of runs, report what it gains, apply it to other runs."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from scoring.cross_validation import (
    CRITERIA,
    CrossValidation,
    TeamChoice,
    counted_articles,
    cross_validate,
    score_hits,
)
from scoring.ensemble import CUTOFF, Ensemble, item_hits, train
from scoring.errors import OptionError
from scoring.evaluation import in_view
from scoring.files import Run, read_gold, read_run, result_lines
from scoring.gold import ItemGold
from scoring.options import (
    add_articles,
    add_format,
    add_lenient_ranks,
    add_runs,
    add_seed,
    add_task_and_gold,
    add_team,
    add_views,
    check_names,
    framed,
    positive,
    views_of,
    warn,
    warn_of,
)
from scoring.report import scores_report
from scoring.scorecard import ItemScorecard, Signature
from scoring.strata import gold_of
from scoring.tables import Cell
from scoring.tasks import Task, pair
from scoring.teams import team_of
from scoring.views import View

FOLDS, AUTHOR_FOLDS = 10, 5
_BETA = 10.0  # the overview's: a curator prefers removing a candidate to searching for one


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
    parser.add_argument(
        "--training-cutoff",
        type=positive,
        default=CUTOFF,
        metavar="N",
        help="best ranks of each run to learn from (default 30)",
    )
    parser.add_argument(
        "--selection-cutoff",
        type=positive,
        metavar="N",
        help="best ranks of each run to select from (default: the training cutoff)",
    )
    parser.add_argument("--cutoff", type=positive, default=CUTOFF, metavar="N")
    parser.add_argument(
        "--beta", type=float, default=_BETA, metavar="B", help="of the report's F (default 10)"
    )
    parser.add_argument(
        "--folds", type=positive, metavar="N", help="default 10; 5 with --author, as the overview"
    )
    add_seed(parser)
    add_team(parser, "only a team's best run takes part")
    parser.add_argument(
        "--criterion",
        choices=CRITERIA,
        default="f_score",
        help="macro-average by which a team's run is chosen (default f_score)",
    )
    parser.add_argument(
        "--explain", nargs="+", metavar="ID", help="article and accessions of one candidate"
    )
    add_articles(parser)
    add_lenient_ranks(parser)
    add_views(parser)
    add_format(parser)
    parser.set_defaults(command=ensemble)


@dataclass(frozen=True, kw_only=True)
class _Campaign:
    """The command's input: the gold, the members' runs, and their scorecards.

    `counted` are the articles that everything is trained and scored on.
    """

    gold: ItemGold
    runs: Sequence[Run]
    applied: Sequence[Run]
    author: Run | None
    counted: frozenset[str]
    cards: Sequence[ItemScorecard]  # of the runs, then of the author
    choice: TeamChoice | None

    @property
    def places(self) -> Sequence[int]:
        """The places of the runs that take part when all counted articles train."""
        return self.choice.best(self.counted) if self.choice else range(len(self.runs))

    def trained(self, args: argparse.Namespace) -> Ensemble:
        """Return the ensemble of all counted articles."""
        return train(
            self.gold,
            [self.runs[place] for place in self.places],
            training_cutoff=args.training_cutoff,
            selection_cutoff=args.selection_cutoff,
            articles=self.counted,
        )

    def combined(self) -> list[Run]:
        """Return the members' runs that are to be combined."""
        return [(self.applied or self.runs)[place] for place in self.places]


def ensemble(args: argparse.Namespace) -> int:
    """Print members and cross-validated consensus; write the consensus to `--out`."""
    _check(args)
    campaign = _read_campaign(args)
    if args.explain:
        print(*_explained(args, campaign), sep="\n")
        return 0
    validated = _validated(args, campaign)
    consensus = validated.hits
    if campaign.applied:
        trained = campaign.trained(args)
        consensus = trained.rank(campaign.combined(), cutoff=args.cutoff)
    if args.out:
        args.out.write_text("".join(result_lines(args.task, consensus.items())))
    seeded = replace(campaign.cards[0].signature, seed=args.seed)
    card = score_hits(campaign.gold, validated.hits, "consensus", seeded, campaign.counted)
    extra = _memberships(campaign, validated) if campaign.choice else ()
    print(framed(args, scores_report([*campaign.cards, card], args.format, extra=extra)))
    return 0


def _read_campaign(args: argparse.Namespace) -> _Campaign:
    """Read the files, and score the runs on the articles that count."""
    gold = read_gold(args.task, args.gold)
    assert isinstance(gold, ItemGold)
    (view,) = views_of(args, gold)

    def read(paths: Sequence[Path]) -> list[Run]:
        return [in_view(gold, run, view) for run in _read(args, paths)]

    runs, applied = read(args.runs), read(args.apply or [])
    authors = read([args.author] if args.author else [])
    if authors:
        gold = _answered_by(authors[0], gold)
    members = [*runs, *authors]
    counted = counted_articles(gold, members, args.articles)
    if len(counted) < len(gold):
        left_out = f"{len(gold) - len(counted)} of {len(gold)} gold articles are left out"
        warn_of(f"{left_out}: not all runs answered them; --articles all counts them")
    signature = _signature(args, gold, view)
    cards = [score_hits(gold, item_hits(run), run.name, signature, counted) for run in members]
    choice = None
    if args.team:
        teams = [team_of(args.team, run.name) for run in runs]
        choice = TeamChoice(teams, cards[: len(runs)], gold, args.criterion)
    return _Campaign(
        gold=gold,
        runs=runs,
        applied=applied,
        author=authors[0] if authors else None,
        counted=counted,
        cards=cards,
        choice=choice,
    )


def _answered_by(author: Run, gold: ItemGold) -> ItemGold:
    """Return the gold of the articles that the authors answered; the others are left out."""
    answered = frozenset(article for article, hits in item_hits(author).items() if hits)
    part = gold_of(gold, answered)
    assert isinstance(part, ItemGold)
    if not part:
        raise OptionError(f"{author.name} has answers for no article of the gold")
    if len(part) < len(gold):
        left_out = f"{len(gold) - len(part)} of {len(gold)} gold articles are left out"
        warn_of(f"{left_out}: their authors gave no answer")
    return part


def _validated(args: argparse.Namespace, campaign: _Campaign) -> CrossValidation:
    return cross_validate(
        campaign.gold,
        campaign.runs,
        articles=args.articles,
        choice=campaign.choice,
        author=campaign.author,
        folds=args.folds or (AUTHOR_FOLDS if campaign.author else FOLDS),
        training_cutoff=args.training_cutoff,
        selection_cutoff=args.selection_cutoff,
        cutoff=args.cutoff,
        seed=args.seed,
    )


def _memberships(campaign: _Campaign, validated: CrossValidation) -> list[Mapping[str, Cell]]:
    """Return, a row a scorecard, in how many folds a run was its team's, and whether in the end."""
    folds = len(validated.members)
    rows: list[Mapping[str, Cell]] = []
    for place in range(len(campaign.cards) + 1):  # runs, author, consensus
        of_runs = place < len(campaign.runs)
        taken = sum(place in fold for fold in validated.members)
        member = "yes" if place in campaign.places else "no"
        rows.append(
            {
                "folds": f"{taken}/{folds}" if of_runs else None,
                "member": member if of_runs else None,
            }
        )
    return rows


def _check(args: argparse.Namespace) -> None:
    check_names([*args.runs, *([args.author] if args.author else [])])
    if args.folds is not None and args.folds < 2:
        raise OptionError("--folds 1; expected at least 2")
    if args.apply and len(args.apply) != len(args.runs):
        raise OptionError(f"--apply has {len(args.apply)} runs; expected {len(args.runs)}")
    if args.apply and args.author:
        raise OptionError("--author is cross-validated; it does not go with --apply")
    if args.explain and len(args.explain) != (2 if args.task == Task.INT else 3):
        raise OptionError("--explain needs an article and the accessions of one candidate")


def _signature(args: argparse.Namespace, gold: ItemGold, view: View) -> Signature:
    return Signature(
        task=Task(args.task),
        gold=gold.digest,
        articles=args.articles,
        view=view.name,
        files=view.files,
        cutoff=args.cutoff,
        beta=args.beta,
        ranks="lenient" if args.lenient_ranks else "strict",
    )


def _read(args: argparse.Namespace, paths: Sequence[Path]) -> list[Run]:
    runs = [read_run(args.task, path, lenient_ranks=args.lenient_ranks) for path in paths]
    warn(warning for run in runs for warning in run.warnings)
    return runs


def _explained(args: argparse.Namespace, campaign: _Campaign) -> Iterator[str]:
    article, *accessions = args.explain
    item = accessions[0] if len(accessions) == 1 else pair(accessions[0], accessions[1])
    trained = campaign.trained(args)
    parts = trained.explain(campaign.combined(), article, item)
    yield f"log-odds that {' '.join(accessions)} is correct for {article}, by run:"
    yield from (f"{value:+9.4f}  {name}" for name, value in parts.items())
    yield f"{sum(parts.values()):+9.4f}  in all"
