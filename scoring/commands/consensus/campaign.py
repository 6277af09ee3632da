"""The input of `scoring consensus train` and `report`: gold, members' runs, their scorecards."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

from scoring.consensus.choice import (
    CRITERIA,
    TeamChoice,
    answered_articles,
    counted_articles,
    score_hits,
)
from scoring.consensus.features import MEMBER_FEATURES
from scoring.consensus.measures import BETA
from scoring.consensus.votes import CUTOFF, Hits
from scoring.errors import OptionError
from scoring.evaluation import in_view
from scoring.files import Run, item_hits, read_gold, read_run
from scoring.gold import ItemGold
from scoring.options import (
    add_lenient_ranks,
    add_runs,
    add_seed,
    add_task_and_gold,
    add_team,
    add_views,
    check_names,
    positive,
    views_of,
    warn,
    warn_of,
)
from scoring.scorecard import ArticlePolicy, ItemScorecard, Signature
from scoring.strata import gold_of
from scoring.tasks import Task
from scoring.teams import team_of
from scoring.views import View

FOLDS, AUTHOR_FOLDS = 10, 5


def add_campaign(parser: argparse.ArgumentParser) -> None:
    """Add the options that `read_campaign` reads."""
    add_task_and_gold(parser, act=False)
    add_runs(parser)
    parser.add_argument(
        "--training-cutoff",
        type=positive,
        default=CUTOFF,
        metavar="N",
        help="learn from the first N ranks of each run (default 30)",
    )
    parser.add_argument(
        "--selection-cutoff",
        type=positive,
        metavar="N",
        help="select from the first N ranks of each run (default: as for training)",
    )
    parser.add_argument("--folds", type=positive, metavar="N", help="folds of the cross-validation")
    add_seed(parser)
    add_team(parser, "only a team's best run takes part")
    parser.add_argument(
        "--criterion",
        choices=CRITERIA,
        default="f_score",
        help="macro- or micro-averaged measure by which a team's best run is chosen (default"
        " f_score)",
    )
    parser.add_argument(
        "--articles",
        choices=get_args(ArticlePolicy),
        help="gold articles that count: those that all runs have hits for, or all (default)",
    )
    add_lenient_ranks(parser)
    add_views(parser)
    parser.add_argument(
        "--features",
        type=lambda text: text.split(","),
        default=list(MEMBER_FEATURES),
        metavar="F,...",
        help=f"features of the members to learn from (default {','.join(MEMBER_FEATURES)})",
    )
    parser.set_defaults(author=None, beta=BETA, cutoff=CUTOFF)


@dataclass(frozen=True, kw_only=True)
class Campaign:
    """The gold, the members' runs and teams, and their scorecards.

    `counted` are the articles that everything is trained and scored on, as `articles` says; `cards`
    are of the runs, then of the author.
    """

    gold: ItemGold
    runs: Sequence[Run]
    teams: Sequence[str]
    author: Run | None
    articles: ArticlePolicy
    counted: frozenset[str]
    cards: Sequence[ItemScorecard]
    choice: TeamChoice | None
    folds: int

    @property
    def places(self) -> Sequence[int]:
        """The places of the runs that take part when all counted articles train."""
        return self.choice.best(self.counted) if self.choice else range(len(self.runs))


def read_campaign(args: argparse.Namespace) -> Campaign:
    """Read the files, and score the runs on the articles that count."""
    check_names([*args.runs, *([args.author] if args.author else [])])
    if args.folds is not None and args.folds < 2:
        raise OptionError("--folds 1; expected at least 2")
    for name in args.features:
        if name not in MEMBER_FEATURES:
            raise OptionError(f"feature {name!r}; expected some of {', '.join(MEMBER_FEATURES)}")
    gold = read_gold(args.task, args.gold)
    assert isinstance(gold, ItemGold)
    (view,) = views_of(args, gold)

    def read(paths: Sequence[Path]) -> list[Run]:
        runs = read_runs(args.task, paths, lenient_ranks=args.lenient_ranks)
        return [completed(in_view(gold, run, view), gold.articles) for run in runs]

    runs = read(args.runs)
    authors = read([args.author] if args.author else [])
    if authors:
        gold = _answered_by(authors[0], gold)
    members = [*runs, *authors]
    articles = args.articles or _policy(gold, members)
    counted = counted_articles(gold, members, articles)
    if len(counted) < len(gold):
        left_out = f"{len(gold) - len(counted)} of {len(gold)} gold articles are left out"
        warn_of(f"{left_out}: not all runs answered them; --articles all counts them")
    signature = _signature(args, gold, view, articles)
    cards = [score_hits(gold, _with_hits(run), run.name, signature, counted) for run in members]
    teams = [team_of(args.team, run.name) for run in runs]
    choice = None
    if args.team:
        choice = TeamChoice(teams, cards[: len(runs)], gold, args.criterion)
    return Campaign(
        gold=gold,
        runs=runs,
        teams=teams,
        author=authors[0] if authors else None,
        articles=articles,
        counted=counted,
        cards=cards,
        choice=choice,
        folds=args.folds or (AUTHOR_FOLDS if authors else FOLDS),
    )


def _policy(gold: ItemGold, runs: Sequence[Run]) -> ArticlePolicy:
    """Return which articles count by default; warn if the runs answered different ones."""
    answered = answered_articles(gold, runs)
    if not any(answered):
        raise OptionError("no article of the gold is answered by any run")
    by_all = len(frozenset.intersection(*answered))
    if by_all == len(gold):
        return "answered"
    sizes = sorted(map(len, answered))
    few_to_many = f"{sizes[0]} to {sizes[-1]}" if sizes[0] < sizes[-1] else f"{sizes[0]}"
    counted = f"runs answered {few_to_many} of {len(gold)} gold articles: all of these count, a run"
    fewer = f"--articles answered counts the {by_all} that all runs answered"
    warn_of(f"{counted} scores 0 on what it did not answer; {fewer}")
    return "all"


def read_runs(task: str, paths: Sequence[Path], *, lenient_ranks: bool) -> list[Run]:
    """Read result files; what is odd in them is printed as warnings."""
    runs = [read_run(task, path, lenient_ranks=lenient_ranks) for path in paths]
    warn(warning for run in runs for warning in run.warnings)
    return runs


def completed(run: Run, articles: Iterable[str]) -> Run:
    """Return a run with an empty answer to each article that its file does not have.

    A result file has no line for an article in which nothing was found.
    """
    return replace(run, answers={**dict.fromkeys(articles, ()), **run.answers})


def _with_hits(run: Run) -> Hits:
    return {article: hits for article, hits in item_hits(run).items() if hits}


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


def _signature(
    args: argparse.Namespace, gold: ItemGold, view: View, articles: ArticlePolicy
) -> Signature:
    return Signature(
        task=Task(args.task),
        gold=gold.digest,
        articles=articles,
        view=view.name,
        files=view.files,
        cutoff=args.cutoff,
        beta=args.beta,
        ranks="lenient" if args.lenient_ranks else "strict",
    )
