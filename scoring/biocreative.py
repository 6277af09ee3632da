"""BioCreative II.5 scoring of one run, article by article or all at once.

A `RunScorer` is the one place where runs are scored: the live scoreboard puts answers as they land,
`evaluate_files` puts a whole file. Both therefore give the same digits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from scoring.averages import mean_and_deviation, micro_auc
from scoring.columns import Places
from scoring.confusion import Confusion
from scoring.errors import OptionError
from scoring.gold import ActGold, Gold, ItemGold
from scoring.ranking import Matches, f_beta
from scoring.scorecard import (
    ActScorecard,
    ArticlePolicy,
    ArticleScore,
    Averaged,
    ItemScorecard,
    Pooled,
    Scorecard,
    Signature,
    score_article,
)
from scoring.tasks import Classification, Hit, Item, Task, by_rank

Answer: TypeAlias = Sequence[Hit] | Classification
"""A run's answer for one article: hits (INT, IPT) or a classification (ACT)."""

Prepared: TypeAlias = Matches | Classification
"""The part of an answer that a scorer keeps; as small as the gold, however long the answer is."""


class RunScorer:
    """Scores one run against a gold standard as its answers land.

    Answers may come in any order and may be replaced; the scorecard depends only on the last
    answer of each article, to the last bit. Articles that are not in the gold are counted and
    ignored.
    """

    def __init__(
        self,
        task: Task | str,
        gold: Gold,
        *,
        articles: ArticlePolicy = "answered",
        cutoff: int | None = None,
        beta: float = 1.0,
        run: str = "",
        release: str | None = None,
        digest: bool = True,
    ) -> None:
        """Prepare an empty run, called `run` in its scorecard.

        `release` is the UniProt release that the answers were checked against; `articles`,
        `cutoff` and `beta` are those of `evaluate_files`. `digest` says whether the signature has
        the gold's digest (`Signature.gold`).
        """
        signature = Signature(
            task=Task(task),
            gold=gold.digest if digest else None,
            articles=articles,
            cutoff=cutoff,
            beta=beta,
            release=release,
        )
        self._scorer = new_scorer(gold, signature, run)

    def put(self, article_id: str, answer: Answer) -> None:
        """Score one article's answer, in place of any earlier one of the same article."""
        self._scorer.put(article_id, answer)

    def prepare(self, article_id: str, answer: Answer) -> Prepared:
        """Return the part of an answer that `keep` needs; changes nothing, may run in a thread."""
        return self._scorer.prepare(article_id, answer)

    def keep(self, article_id: str, prepared: Prepared) -> None:
        """Score an answer that was prepared by a scorer of the same gold; quick."""
        self._scorer.keep(article_id, prepared)

    def scorecard(self) -> Scorecard:
        """Return the score of all answers put so far; costs one pass over the gold's articles."""
        return self._scorer.scorecard()


def new_scorer(gold: Gold, signature: Signature, run: str) -> ItemScorer | ActScorer:
    """Return the empty scorer of a run that is to be scored as the signature says."""
    if gold.task is not signature.task:
        raise OptionError(f"a gold standard of {gold.task} cannot score {signature.task} answers")
    if isinstance(gold, ActGold):
        return ActScorer(gold, signature, run)
    return ItemScorer(gold, signature, run)


def match(hits: Sequence[Hit], gold: frozenset[Item]) -> Matches:
    """Return the ranks of the correct hits after ordering by rank and closing gaps."""
    ordered = sorted(hits, key=by_rank)
    ranks = tuple(place for place, hit in enumerate(ordered, start=1) if hit.item in gold)
    return Matches(ranks, len(ordered), len(gold))


class ItemScorer:
    """Scores one INT or IPT run; keeps one score an article."""

    def __init__(self, gold: ItemGold, signature: Signature, run: str) -> None:
        self._gold, self._run, self._signature = gold, run, signature
        self._scores: dict[str, ArticleScore] = {}
        self._ignored: dict[str, int] = {}

    def put(self, article: str, answer: Answer) -> None:
        """Score one article's hits."""
        self.put_matches(article, self.prepare(article, answer))

    def prepare(self, article: str, answer: Answer) -> Matches:
        """Return the ranks of the correct hits of an answer."""
        if isinstance(answer, Classification):
            raise OptionError(f"a classification cannot be scored as {self._signature.task}")
        return match(answer, self._gold.items.get(article, frozenset()))

    def keep(self, article: str, prepared: Prepared) -> None:
        """Score one article whose answer was prepared."""
        assert isinstance(prepared, Matches)
        self.put_matches(article, prepared)

    def put_matches(self, article: str, matches: Matches) -> None:
        """Score one article whose hits were matched already, as the fast reader does."""
        if article in self._gold.items:
            cut = matches.cut(self._signature.cutoff)
            self._scores[article] = score_article(cut, self._signature.beta)
        else:
            self._ignored[article] = matches.hits

    def scorecard(self) -> ItemScorecard:
        """Return the score of all articles put so far."""
        scores = self._counted()
        lists = [score.matches for score in scores.values()]
        correct = sum(len(matches.ranks) for matches in lists)
        hits = sum(matches.hits for matches in lists)
        gold = sum(matches.gold for matches in lists)
        return ItemScorecard(
            run=self._run,
            articles=scores,
            articles_in_gold=len(self._gold),
            articles_ignored=len(self._ignored),
            hits_ignored=sum(self._ignored.values()),
            tp=correct,
            fp=hits - correct,
            fn=gold - correct,
            macro=_averaged([score for score in scores.values() if score.matches.gold]),
            micro=Pooled(
                correct / hits if hits else 0.0,
                correct / gold if gold else 0.0,
                f_beta(correct, hits, gold, self._signature.beta),
                micro_auc(lists),
            ),
            signature=self._signature,
        )

    def _counted(self) -> Mapping[str, ArticleScore]:
        scores = self._scores
        if self._signature.articles == "answered":
            return {
                article: scores[article]
                for article in self._gold.items
                if article in scores and scores[article].matches.hits
            }
        return {
            article: scores.get(article) or score_article(Matches((), 0, len(items)))
            for article, items in self._gold.items.items()
        }


def _averaged(scores: Sequence[ArticleScore]) -> Averaged:
    columns = [
        [score.precision for score in scores],
        [score.recall for score in scores],
        [score.f_score for score in scores],
        [score.auc_ipr or 0.0 for score in scores],
    ]
    means, deviations = zip(*map(mean_and_deviation, columns), strict=True)
    return Averaged(*means, *deviations)


class ActScorer:
    """Scores one ACT run; one answer moves many ranks, so the list is ordered when it is read."""

    def __init__(self, gold: ActGold, signature: Signature, run: str) -> None:
        self._gold, self._run, self._signature = gold, run, signature
        self._place = {article: place for place, article in enumerate(gold.articles)}
        self._truth = gold.truth
        self._reported = np.zeros(len(gold), dtype=bool)
        self._relevant = np.zeros(len(gold), dtype=bool)
        self._confidence = np.zeros(len(gold))
        self._rank = np.zeros(len(gold), dtype=np.int64)
        self._ignored: set[str] = set()

    def put(self, article: str, answer: Answer) -> None:
        """Take one article's classification."""
        self.keep(article, self.prepare(article, answer))

    def prepare(self, article: str, answer: Answer) -> Classification:
        """Return the classification unchanged: it needs no slow preparation."""
        if not isinstance(answer, Classification):
            raise OptionError("a list of hits cannot be scored as ACT")
        return answer

    def keep(self, article: str, answer: Prepared) -> None:
        """Take one article's classification."""
        assert isinstance(answer, Classification)
        place = self._place.get(article)
        if place is None:
            self._ignored.add(article)
            return
        self._reported[place] = True
        self._relevant[place] = answer.relevant
        self._confidence[place] = answer.confidence
        self._rank[place] = answer.rank or 0

    def scorecard(self) -> ActScorecard:
        """Return the score of all articles put so far."""
        listed = self._ranked_list()
        truth, relevant = self._truth[listed], self._relevant[listed]
        ranks = np.flatnonzero(truth) + 1
        return ActScorecard(
            run=self._run,
            articles_in_gold=len(self._gold),
            articles_ignored=len(self._ignored),
            confusion=Confusion(
                tp=int(np.count_nonzero(truth & relevant)),
                fp=int(np.count_nonzero(~truth & relevant)),
                fn=int(np.count_nonzero(truth & ~relevant)),
                tn=int(np.count_nonzero(~truth & ~relevant)),
            ),
            matches=Matches(tuple(ranks.tolist()), len(listed), self._gold.positives),
            articles=self._gold.articles,
            ranked=listed,
            called=relevant,
            signature=self._signature,
        )

    def _ranked_list(self) -> Places:
        """Return the places of the reported articles: positives as ranked, negatives reversed.

        Online answers carry no rank: the more confident ranks first in its class, ties by article.
        """
        reported = np.flatnonzero(self._reported)
        order = np.lexsort((-self._confidence[reported], self._rank[reported]))
        ranked = reported[order]  # stable: equal keys stay in the order of their article ids
        positive = self._relevant[ranked]
        return np.concatenate([ranked[positive], ranked[~positive][::-1]])
