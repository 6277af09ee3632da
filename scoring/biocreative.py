"""BioCreative II.5 scoring of one run, article by article or all at once.

A `RunScorer` is the one place where runs are scored: the live scoreboard puts answers as they land,
`evaluate_files` puts a whole file. Both therefore give the same digits.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from scoring.article_scores import ArticleScores
from scoring.columns import Places, Truths
from scoring.confusion import Confusion
from scoring.errors import OptionError
from scoring.gold import ActGold, Gold, ItemGold
from scoring.match_lists import MatchLists
from scoring.ranking import Matches
from scoring.scorecard import (
    ActScorecard,
    ArticlePolicy,
    ItemScorecard,
    Scorecard,
    Signature,
)
from scoring.tasks import Classification, Hit, Item, Task, by_rank

Answer: TypeAlias = Sequence[Hit] | Classification
"""A run's answer for one article: hits (INT, IPT) or a classification (ACT)."""

Prepared: TypeAlias = Matches | Classification
"""The part of an answer that a scorer keeps; as small as the gold, however long the answer is."""

_FEW = 32  # matches of a run that are not packed yet
_NO_LISTS = MatchLists.of(())


class ItemState(NamedTuple):
    """The answers of an INT or IPT run as its scorer keeps them.

    `ignored` has the number of hits of each article that is not in the gold.
    """

    lists: MatchLists
    ignored: Mapping[str, int]


class ActState(NamedTuple):
    """The answers of an ACT run as its scorer keeps them, in columns.

    `places` are those of the classified articles among the gold's sorted ones, rising; a rank of 0
    is none. `ignored` are the articles that are not in the gold.
    """

    places: Places
    relevant: Truths
    confidence: NDArray[np.float64]
    rank: Places
    ignored: Sequence[str]


RunState: TypeAlias = ItemState | ActState
"""The complete state of a run's scorer, to be kept and continued from."""


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

    def scorecard(self, counted: Truths | None = None) -> Scorecard:
        """Return the score of all answers put so far; costs one pass over the gold's articles.

        Where `counted` is given, it says which of the gold's articles count, in the order of
        `Gold.articles`: those without an answer as zero, others not at all. Articles with an answer
        always do.
        """
        return self._scorer.scorecard(counted)

    @property
    def answered(self) -> int:
        """The number of the gold's articles with an answer, be it empty (INT, IPT)."""
        return self._scorer.answered

    def state(self) -> RunState:
        """Return all that was put so far; a scorer that resumes from it gives the same digits."""
        return self._scorer.state()

    def resume(self, state: RunState) -> None:
        """Continue from the state of a scorer of the same gold and signature.

        Raises `ValueError` for a state that cannot be one.
        """
        self._scorer.resume(state)


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
    ranks = [place for place, hit in enumerate(ordered, start=1) if hit.item in gold]
    return Matches(tuple(ranks), len(ordered), len(gold))


class _Arrivals:
    """Matches in the order in which they arrived, in columns that grow."""

    def __init__(self) -> None:
        self._places, self._hits, self._counts = array("I"), array("I"), array("I")
        self._ranks = array("I")

    def __len__(self) -> int:
        return len(self._places)

    def add(self, place: int, matches: Matches) -> None:
        """Add the matches of the article at a place of the gold."""
        self._places.append(place)
        self._hits.append(matches.hits)
        self._counts.append(len(matches.ranks))
        self._ranks.extend(matches.ranks)

    def lists(self) -> MatchLists:
        """Return the last matches of each article."""
        return MatchLists.packed(self._places, self._hits, self._counts, self._ranks)


class _Kept(NamedTuple):
    """The lists of a run, and those that arrived since."""

    lists: MatchLists
    arrivals: _Arrivals


class _Log:
    """The last matches of each article of a run, in columns, which are replaced, never changed.

    `lists` may be called in several threads at a time, but not while something is added.
    """

    def __init__(self, lists: MatchLists = _NO_LISTS) -> None:
        self._kept = _Kept(lists, _Arrivals())

    def add(self, place: int, matches: Matches) -> None:
        """Add the matches of an article, in place of any earlier ones."""
        lists, arrivals = self._kept
        arrivals.add(place, matches)
        if len(arrivals) > max(_FEW, len(lists) // 8):  # so each is packed a few times at most
            self.lists()

    def lists(self) -> MatchLists:
        """Return the matches of all articles."""
        lists, arrivals = self._kept
        if len(arrivals):
            lists = lists.updated(arrivals.lists())
            self._kept = _Kept(lists, _Arrivals())  # at once: a thread sees the one or the other
        return lists


class ItemScorer:
    """Scores one INT or IPT run; keeps the matches of each article, in columns.

    Scorecards share the columns. `scorecard` and `state` may be called in several threads at a
    time, but not while something is put.
    """

    def __init__(self, gold: ItemGold, signature: Signature, run: str) -> None:
        self._gold, self._run, self._signature = gold, run, signature
        self._log, self._ignored = _Log(), _Log()

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
        place = self._gold.place.get(article)
        if place is None:
            self._ignored.add(self._gold.other(article), Matches((), matches.hits, 0))
        else:
            self._log.add(place, matches.cut(self._signature.cutoff))

    def state(self) -> ItemState:
        """Return all that was put so far."""
        ignored = self._ignored.lists()
        articles = self._gold.others(ignored.places.tolist())
        return ItemState(self._log.lists(), dict(zip(articles, ignored.hits.tolist(), strict=True)))

    def resume(self, state: RunState) -> None:
        """Continue from a state; raises `ValueError` for one that cannot be of this gold."""
        if not isinstance(state, ItemState):
            raise ValueError("a state of ACT cannot be scored as hits")
        state.lists.require_valid(self._gold.sizes)
        self._log = _Log(state.lists)
        self._ignored = _Log(
            MatchLists.of(
                (self._gold.other(article), Matches((), hits, 0))
                for article, hits in state.ignored.items()
            )
        )

    @property
    def answered(self) -> int:
        """The number of the gold's articles that were put."""
        return len(self._log.lists())

    def scorecard(self, counted: Truths | None = None) -> ItemScorecard:
        """Return the score of all articles put so far, and of those that are to be counted."""
        gold, ignored = self._gold, self._ignored.lists()
        signature = _of_counted(self._signature, counted)
        return ItemScorecard(
            run=self._run,
            articles=ArticleScores(
                gold.articles, gold.sizes, self._counted(counted), signature.beta
            ),
            articles_in_gold=len(gold),
            articles_ignored=int(np.count_nonzero(ignored.hits)),  # a file has no empty answer
            hits_ignored=int(ignored.hits.sum(dtype=np.int64)),
            signature=signature,
        )

    def _counted(self, counted: Truths | None) -> MatchLists:
        lists = self._log.lists()
        if counted is None and self._signature.articles == "answered":
            return lists.where(lists.hits > 0)
        counts = np.ones(len(self._gold), dtype=bool) if counted is None else counted.copy()
        counts[lists.places] = True
        places = np.flatnonzero(counts)
        if len(places) == len(lists):
            return lists
        nothing = np.zeros(len(places), dtype=np.int64)
        return MatchLists.packed(places, nothing, nothing, nothing[:0]).updated(lists)


class ActScorer:
    """Scores one ACT run; one answer moves many ranks, so the list is ordered when it is read."""

    def __init__(self, gold: ActGold, signature: Signature, run: str) -> None:
        self._gold, self._run, self._signature = gold, run, signature
        self._truth = gold.truth
        self._reported = np.zeros(len(gold), dtype=bool)
        self._relevant = np.zeros(len(gold), dtype=bool)
        self._confidence = np.zeros(len(gold))
        self._rank = np.zeros(len(gold), dtype=np.int64)
        self._ignored = _Log()

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
        place = self._gold.place.get(article)
        if place is None:
            self._ignored.add(self._gold.other(article), Matches((), 0, 0))
            return
        self._reported[place] = True
        self._relevant[place] = answer.relevant
        self._confidence[place] = answer.confidence
        self._rank[place] = answer.rank or 0

    def state(self) -> ActState:
        """Return all that was put so far."""
        places = np.flatnonzero(self._reported)
        return ActState(
            places,
            self._relevant[places],
            self._confidence[places],
            self._rank[places],
            sorted(self._gold.others(self._ignored.lists().places.tolist())),
        )

    def resume(self, state: RunState) -> None:
        """Continue from a state; raises `ValueError` for one that cannot be of this gold."""
        if not isinstance(state, ActState):
            raise ValueError("a state of hits cannot be scored as ACT")
        places = state.places
        if len({*map(len, state[:-1])}) != 1:
            raise ValueError("columns of different lengths")
        if (places[1:] <= places[:-1]).any() or (places >= len(self._gold)).any():
            raise ValueError("places that are not rising, or not of the gold")
        for column, values in (
            (self._reported, True),
            (self._relevant, state.relevant),
            (self._confidence, state.confidence),
            (self._rank, state.rank),
        ):
            column[:] = 0
            column[places] = values
        self._ignored = _Log(
            MatchLists.of((self._gold.other(one), Matches((), 0, 0)) for one in state.ignored)
        )

    @property
    def answered(self) -> int:
        """The number of the gold's articles that were classified."""
        return int(np.count_nonzero(self._reported))

    def scorecard(self, counted: Truths | None = None) -> ActScorecard:
        """Return the score of all articles put so far, and of those that are to be counted.

        The relevant ones among them are to be found; the confusion matrix has what was classified,
        as that of the official program.
        """
        signature = _of_counted(self._signature, counted)
        if counted is not None:
            counted = counted | self._reported
        listed = self._ranked_list()
        truth, relevant = self._truth[listed], self._relevant[listed]
        ranks = np.flatnonzero(truth) + 1
        positives = self._truth if counted is None else self._truth & counted
        return ActScorecard(
            run=self._run,
            articles_in_gold=len(self._gold),
            articles_ignored=len(self._ignored.lists()),
            confusion=Confusion(
                tp=int(np.count_nonzero(truth & relevant)),
                fp=int(np.count_nonzero(~truth & relevant)),
                fn=int(np.count_nonzero(truth & ~relevant)),
                tn=int(np.count_nonzero(~truth & ~relevant)),
            ),
            matches=Matches(tuple(ranks.tolist()), len(listed), int(np.count_nonzero(positives))),
            articles=self._gold.articles,
            ranked=listed,
            called=relevant,
            counted=counted,
            signature=signature,
        )

    def _ranked_list(self) -> Places:
        """Return the places of the reported articles: positives as ranked, negatives reversed.

        Online answers carry no rank: the more confident ranks first in its class, ties by article
        id, so that the ids of equal negatives fall in the list.
        """
        reported = np.flatnonzero(self._reported)
        order = np.lexsort((-self._confidence[reported], self._rank[reported]))
        ranked = reported[order]  # stable: equal keys stay in the order of their article ids
        positive = self._relevant[ranked]
        return np.concatenate([ranked[positive], ranked[~positive][::-1]])


def _of_counted(signature: Signature, counted: Truths | None) -> Signature:
    """Return the signature of a score in which the articles without an answer count as well."""
    if counted is None or signature.articles == "all":
        return signature
    return replace(signature, articles="all")
