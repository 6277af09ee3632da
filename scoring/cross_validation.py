"""Cross-validation of a consensus: its score on articles that it was not trained on.

All runs and their consensus are trained and scored on the same articles. What is learned, the
choice of a team's run included, is learned from the training articles of each fold alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scoring.averages import mean
from scoring.biocreative import new_scorer
from scoring.ensemble import CUTOFF, Hits, item_hits, train
from scoring.errors import OptionError
from scoring.files import Run
from scoring.gold import ItemGold
from scoring.resampling import ITEM_MEASURES, article_values
from scoring.scorecard import ArticlePolicy, ItemScorecard, Signature
from scoring.tasks import Hit

CRITERIA = ITEM_MEASURES
"""The macro-averages by which a team's run can be chosen."""


@dataclass(frozen=True, kw_only=True)
class CrossValidation:
    """A consensus of articles that the ensemble of their fold was not trained on.

    `members` has a tuple a fold: the places, among the runs, of those that took part.
    """

    hits: Hits
    members: Sequence[tuple[int, ...]]


class TeamChoice:
    """The teams of runs, of each of which the run that is best on given articles can be chosen.

    Runs of one team err together; the overview's ensemble lets each team in once.
    """

    def __init__(
        self, teams: Sequence[str], cards: Sequence[ItemScorecard], gold: ItemGold, criterion: str
    ) -> None:
        """Take the team and the scorecard of each run; `criterion` is one of `CRITERIA`."""
        if criterion not in CRITERIA:
            raise OptionError(f"criterion {criterion!r}; expected one of {', '.join(CRITERIA)}")
        if len(teams) != len(cards):
            raise OptionError(f"{len(teams)} teams; expected {len(cards)}, one a run")
        self._teams = teams
        self._articles = list(gold.items)
        self._values = article_values(gold, cards, criterion)

    def best(self, articles: frozenset[str]) -> list[int]:
        """Return the places of each team's best run on some articles; of equal runs the first."""
        some = self._values[[article in articles for article in self._articles]]
        best: dict[str, tuple[float, int]] = {}
        for place, team in enumerate(self._teams):
            scored = some[~np.isnan(some[:, place]), place]
            found = mean(scored.tolist())
            if team not in best or found > best[team][0]:
                best[team] = found, place
        return [place for _, place in best.values()]


def counted_articles(gold: ItemGold, runs: Sequence[Run], policy: ArticlePolicy) -> frozenset[str]:
    """Return the gold articles that all runs have hits for (`answered`), or all gold articles."""
    counted = frozenset(gold.items)
    if policy == "answered":
        for run in runs:
            counted &= {article for article, hits in item_hits(run).items() if hits}
    if not counted:
        raise OptionError("no article of the gold is answered by all runs; try --articles all")
    return counted


def cross_validate(
    gold: ItemGold,
    runs: Sequence[Run],
    *,
    articles: ArticlePolicy = "answered",
    choice: TeamChoice | None = None,
    author: Run | None = None,
    folds: int = 10,
    training_cutoff: int = CUTOFF,
    selection_cutoff: int | None = None,
    cutoff: int | None = CUTOFF,
    seed: int = 2009,
) -> CrossValidation:
    """Rank each counted article by an ensemble that is trained on those of the other folds.

    `articles` says which count (`counted_articles`). With a `choice`, a fold's ensemble has each
    team's best run on its training articles. With an `author`'s answers they are one more member,
    and an article keeps as many candidates as its author gave (the overview's author-plus-systems
    variant). Articles are dealt to the folds at random.
    """
    authors = [author] if author else []
    counted = counted_articles(gold, [*runs, *authors], articles)
    order = np.random.default_rng(seed).permutation([one for one in gold.items if one in counted])
    ranked: dict[str, Sequence[Hit]] = {}
    members: list[tuple[int, ...]] = []
    for held_out in np.array_split(order, min(folds, len(order))):
        fold = frozenset(held_out.tolist())
        places = choice.best(counted - fold) if choice else range(len(runs))
        chosen = [*(runs[place] for place in places), *authors]
        ensemble = train(
            gold,
            chosen,
            training_cutoff=training_cutoff,
            selection_cutoff=selection_cutoff,
            articles=counted - fold,
        )
        ranked.update(ensemble.rank(chosen, cutoff=cutoff, articles=fold))
        members.append(tuple(places))
    hits = _as_many_as(item_hits(author), ranked) if author else ranked
    return CrossValidation(hits=hits, members=members)


def _as_many_as(given: Hits, ranked: Hits) -> Hits:
    return {article: hits[: len(given.get(article, ()))] for article, hits in ranked.items()}


def score_hits(
    gold: ItemGold,
    hits: Hits,
    name: str,
    signature: Signature,
    articles: frozenset[str] | None = None,
) -> ItemScorecard:
    """Return the scorecard of hits that came from no file, on all gold articles or some.

    Gold articles that are not among `articles` are as if they had no hits.
    """
    scorer = new_scorer(gold, signature, name)
    for article, answer in hits.items():
        if articles is None or article in articles or article not in gold.items:
            scorer.put(article, answer)
    scorecard = scorer.scorecard()
    assert isinstance(scorecard, ItemScorecard)
    return scorecard
