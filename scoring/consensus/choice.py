"""Members of a consensus: the articles that count, and each team's best run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from scoring.averages import mean
from scoring.biocreative import new_scorer
from scoring.columns import Truths
from scoring.consensus.votes import Hits
from scoring.errors import OptionError
from scoring.files import Run, item_hits
from scoring.gold import ItemGold
from scoring.resampling import ITEM_MEASURES, article_values
from scoring.scorecard import ArticlePolicy, ItemScorecard, Signature

MICRO = "micro_"
CRITERIA = (*ITEM_MEASURES, *(MICRO + measure for measure in ITEM_MEASURES))
"""The macro-averages by which a team's run can be chosen, then the micro-averages."""


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
        self._articles = gold.articles
        self._cards = cards
        self._micro = criterion.removeprefix(MICRO) if criterion.startswith(MICRO) else None
        self._values = article_values(gold, cards, criterion.removeprefix(MICRO))

    def best(self, articles: frozenset[str]) -> list[int]:
        """Return the places of each team's best run on some articles; of equal runs the first."""
        chosen = np.array([article in articles for article in self._articles], dtype=bool)
        best: dict[str, tuple[float, int]] = {}
        for place, team in enumerate(self._teams):
            score = self._score(place, chosen)
            if team not in best or score > best[team][0]:
                best[team] = score, place
        return [place for _, place in best.values()]

    def _score(self, place: int, chosen: Truths) -> float:
        """Return the criterion of a run on the chosen articles of the gold."""
        if self._micro is not None:
            card = self._cards[place]
            score: float = getattr(
                replace(card, articles=card.articles.within(chosen)).micro, self._micro
            )
            return score
        values = self._values[chosen, place]
        return mean(values[~np.isnan(values)].tolist())


def counted_articles(gold: ItemGold, runs: Sequence[Run], policy: ArticlePolicy) -> frozenset[str]:
    """Return the gold articles that all runs have hits for (`answered`), or all gold articles."""
    if policy == "all":
        return frozenset(gold.items)
    counted = frozenset.intersection(*answered_articles(gold, runs))
    if not counted:
        raise OptionError("no article of the gold is answered by all runs; try --articles all")
    return counted


def answered_articles(gold: ItemGold, runs: Sequence[Run]) -> list[frozenset[str]]:
    """Return the gold articles that each run has hits for."""
    return [
        frozenset(gold.items) & {article for article, hits in item_hits(run).items() if hits}
        for run in runs
    ]


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
