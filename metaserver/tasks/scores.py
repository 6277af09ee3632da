"""Adapter of the evaluator to the hub's task interface: gold files and the scorer of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

import scoring
from metaserver.base.boards import Score
from metaserver.base.errors import InputError
from metaserver.base.records import ArticleId
from metaserver.tasks.dumps import dump_state, load_state
from metaserver.tasks.lazy import LazyDetail
from metaserver.tasks.plugin import Payload
from scoring import ActScorecard, Answer, Classification, FormatError, Gold, Scorecard, Task
from scoring.biocreative import Prepared, RunState
from scoring.columns import Truths

Values: TypeAlias = Mapping[str, float | int | None]
NO_CONFIDENCE = np.zeros(0)


def read_gold(task: Task, path: Path) -> Gold:
    """Read a gold file; raises `InputError` with the first problem and the number of others."""
    try:
        return scoring.read_gold(task, path)
    except FormatError as error:
        raise input_error(error) from error


def input_error(error: FormatError) -> InputError:
    """Return the error of a gold file: the first problem, and the number of others."""
    first = error.problems[0]
    column = f"column {first.column}: " if first.column else ""
    more = f" (and {len(error.problems) - 1} more)" if len(error.problems) > 1 else ""
    return InputError(first.file, f"{column}{first.message}{more}", line=first.line or None)


class AnswerScorer(Protocol):
    """A scorer of a run's answers: `scoring.RunScorer`, or one that scores them in a view."""

    def prepare(self, article_id: str, answer: Answer) -> Prepared:
        """Return the value for `keep` of an answer; changes nothing."""

    def keep(self, article_id: str, prepared: Prepared) -> None:
        """Score one article's answer, replacing any earlier one of the same article."""

    def scorecard(self, counted: Truths | None = None) -> Scorecard:
        """Return the score of all answers so far, and of the articles that are to be counted."""

    @property
    def answered(self) -> int:
        """The number of the gold's articles with an answer, be it empty."""

    def state(self) -> RunState:
        """Return all that was kept so far; changes nothing."""

    def resume(self, state: RunState) -> None:
        """Continue from a state; raises `ValueError` for one that cannot be of this gold."""


class SentAnswer(NamedTuple):
    """A prepared answer, and the mean confidence of its hits, 0 where it has none."""

    prepared: Prepared
    confidence: float


class TaskScorer:
    """A scorer of one run as its payloads arrive.

    Implements `metaserver.tasks.plugin.KeptScorer` and `CountingScorer`. `answer` converts a
    payload into the evaluator's type, or None where there is nothing to score; `values` returns the
    board's columns of a scorecard.
    """

    def __init__(
        self,
        scorer: AnswerScorer,
        gold: Gold,
        answer: Callable[[Payload], Answer | None],
        values: Callable[[Scorecard], Values],
    ) -> None:
        self._scorer = scorer
        self._gold = gold
        self._confidence = NO_CONFIDENCE  # of each article of the gold, 0: it has no hit
        self._answer = answer
        self._values = values

    def put(self, article: ArticleId, payload: Payload) -> None:
        """Score (or re-score) one article of the run; articles without gold are ignored."""
        self.keep(article, self.prepare(article, payload))

    def prepare(self, article: ArticleId, payload: Payload) -> SentAnswer | None:
        """Return the value for `keep` of a payload, or None where there is nothing to score."""
        answer = self._answer(payload)
        if answer is None:
            return None
        return SentAnswer(self._scorer.prepare(article, answer), _confidence(answer))

    def keep(self, article: ArticleId, prepared: SentAnswer | None) -> None:
        """Score (or re-score) one article by its prepared value."""
        if prepared is None:
            return
        self._scorer.keep(article, prepared.prepared)
        if (place := self._gold.place.get(article)) is not None:
            if not len(self._confidence):
                self._confidence = np.zeros(len(self._gold))
            self._confidence[place] = prepared.confidence

    def dump(self) -> bytes:
        """Return all that was kept so far, to be continued from."""
        return dump_state(self._scorer.state(), self._confidence)

    def load(self, data: bytes) -> None:
        """Continue from a dump of a scorer of the same gold; `ValueError` for any other."""
        state, confidence = load_state(data)
        self._scorer.resume(state)
        if len(confidence) not in (0, len(self._gold)):
            raise ValueError("confidences of another number of articles than the gold has")
        self._confidence = confidence.copy()

    @property
    def articles(self) -> Sequence[ArticleId]:
        """The articles of the gold, in the order of `counted`."""
        return [ArticleId(article) for article in self._gold.articles]

    def score(self) -> Score:
        """Return the score of the articles that the run has hits for, as BC II.5 published.

        Before the first, every measure is None.
        """
        return self._score(None)

    def score_all(self, counted: Truths) -> Score:
        """Return the score of the articles that count, those without an answer as zero."""
        return self._score(counted)

    def _score(self, counted: Truths | None) -> Score:
        """Return the score; before the first answer, every measure is None.

        Its curve is made here, where scores are made in bounded parts or in a thread: a board has
        the curves of all its runs.
        """
        card = self._scorer.scorecard(counted)
        answered = card.articles_scored if counted is None else self._scorer.answered
        values = self._values(card)
        if not answered:
            values = {
                key: value if isinstance(value, int) else None for key, value in values.items()
            }
        return Score(
            values=values,
            articles_scored=answered,
            articles_in_gold=card.articles_in_gold,
            articles_counted=_counted(card, counted),
            answered=self._scorer.answered,
            confidence=self._mean_confidence(),
            curve=card.curve,
            detail=LazyDetail(card.to_dict),
            card=card,
        )

    def _mean_confidence(self) -> float | None:
        positive = self._confidence[self._confidence > 0].tolist()
        return math.fsum(positive) / len(positive) if positive else None


def _confidence(answer: Answer) -> float:
    """Return the mean confidence of an answer's hits, 0 of none."""
    if isinstance(answer, Classification):
        return answer.confidence
    return math.fsum(hit.confidence for hit in answer) / len(answer) if answer else 0.0


def _counted(card: Scorecard, counted: Truths | None) -> int:
    """Return how many articles of the gold count in a score."""
    if counted is None:
        return card.articles_in_gold
    if isinstance(card, ActScorecard):
        return card.articles_in_gold if card.counted is None else int(card.counted.sum())
    return card.articles_scored
