"""Adapter of the evaluator to the hub's task interface: gold files and the scorer of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, TypeAlias

import scoring
from metaserver.model.errors import InputError
from metaserver.model.records import ArticleId
from metaserver.model.scores import Score
from metaserver.tasks.dumps import dump_state, load_state
from metaserver.tasks.lazy import LazyDetail
from metaserver.tasks.plugin import Payload
from scoring import Answer, FormatError, Gold, Scorecard, Task
from scoring.biocreative import Prepared, RunState

Values: TypeAlias = Mapping[str, float | int | None]


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

    def scorecard(self) -> Scorecard:
        """Return the score of all answers so far."""

    def state(self) -> RunState:
        """Return all that was kept so far; changes nothing."""

    def resume(self, state: RunState) -> None:
        """Continue from a state; raises `ValueError` for one that cannot be of this gold."""


class TaskScorer:
    """A scorer of one run as its payloads arrive; implements `metaserver.tasks.plugin.KeptScorer`.

    `answer` converts a payload into the evaluator's type, or None where there is nothing to score;
    `values` returns the board's columns of a scorecard.
    """

    def __init__(
        self,
        scorer: AnswerScorer,
        answer: Callable[[Payload], Answer | None],
        values: Callable[[Scorecard], Values],
    ) -> None:
        self._scorer = scorer
        self._answer = answer
        self._values = values

    def put(self, article: ArticleId, payload: Payload) -> None:
        """Score (or re-score) one article of the run; articles without gold are ignored."""
        self.keep(article, self.prepare(article, payload))

    def prepare(self, article: ArticleId, payload: Payload) -> Prepared | None:
        """Return the value for `keep` of a payload, or None where there is nothing to score."""
        answer = self._answer(payload)
        return None if answer is None else self._scorer.prepare(article, answer)

    def keep(self, article: ArticleId, prepared: Prepared | None) -> None:
        """Score (or re-score) one article by its prepared value."""
        if prepared is not None:
            self._scorer.keep(article, prepared)

    def dump(self) -> bytes:
        """Return all that was kept so far, to be continued from."""
        return dump_state(self._scorer.state())

    def load(self, data: bytes) -> None:
        """Continue from a dump of a scorer of the same gold; `ValueError` for any other."""
        self._scorer.resume(load_state(data))

    def score(self) -> Score:
        """Return the score of all articles so far; before the first, every measure is None.

        Its curve is made here, where scores are made in bounded parts or in a thread: a board has
        the curves of all its runs.
        """
        card = self._scorer.scorecard()
        values = self._values(card)
        if not card.articles_scored:
            values = {
                key: value if isinstance(value, int) else None for key, value in values.items()
            }
        return Score(
            values=values,
            articles_scored=card.articles_scored,
            articles_in_gold=card.articles_in_gold,
            curve=card.curve,
            detail=LazyDetail(card.to_dict),
            card=card,
        )
