"""Members of a consensus: the articles that count, and each team's best run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scoring.averages import mean
from scoring.biocreative import new_scorer
from scoring.consensus.votes import Hits
from scoring.errors import OptionError
from scoring.files import Run, item_hits
from scoring.gold import ItemGold
from scoring.resampling import ITEM_MEASURES, article_values
from scoring.scorecard import ArticlePolicy, ItemScorecard, Signature

CRITERIA = ITEM_MEASURES
"""The macro-averages by which a team's run can be chosen."""


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
