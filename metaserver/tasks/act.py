"""ACT: classifying articles that report protein interactions, with a confidence.

The payload is `[relevant, confidence]`, or empty if the server sent an empty array. A result file's
payload also has the rank.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from metaserver.base.boards import Column
from metaserver.base.lanes import HitAside
from metaserver.base.records import ArticleId, TaskName
from metaserver.exchange.wire.contract import Report, read
from metaserver.exchange.wire.usual import CONFIDENCE, SPACE
from metaserver.exchange.wire.validation import Vocabulary
from metaserver.tasks.plugin import RunFile
from metaserver.tasks.result_files import read_result_file
from metaserver.tasks.scores import ListTask, TaskScorer, Values
from scoring import (
    ActGold,
    ActScorecard,
    Answer,
    Classification,
    Gold,
    RunScorer,
    Scorecard,
    Task,
    result_lines,
)
from scoring.resampling import ACT_MEASURES

ActPayload: TypeAlias = list[Any]

_WORDS = {True: "relevant", False: "irrelevant"}

_USUAL = re.compile(
    f"<value>{SPACE}<boolean>([01])</boolean>{SPACE}</value>{SPACE}{CONFIDENCE}{SPACE}"
)

COLUMNS = (
    Column(
        key="specificity", heading="Specificity", help="Irrelevant articles left out, TN/(TN+FP)"
    ),
    Column(key="sensitivity", heading="Sensitivity", help="Relevant articles found, TP/(TP+FN)"),
    Column(key="accuracy", heading="Accuracy", help="Articles classified correctly"),
    Column(key="mcc", heading="MCC", help="Matthews' correlation coefficient, -1 to 1"),
    Column(
        key="precision_at_full_recall",
        heading="P at full R",
        help="Precision where the last relevant article is found; n/a where one never is",
    ),
    Column(
        key="auc_ipr",
        heading="AUC iP/R",
        help="Area under the interpolated precision/recall curve of the ranked articles",
    ),
)


@dataclass(frozen=True, kw_only=True)
class ArticleClassification(ListTask):
    """The task ACT."""

    columns: tuple[Column, ...] = COLUMNS
    order: tuple[str, ...] = ("auc_ipr", "mcc")
    resampled: tuple[str, ...] = ACT_MEASURES
    level: str = "rank"

    def check(self, value: object, report: Report, vocabulary: Vocabulary) -> ActPayload | None:
        """Return the classification, empty if it is invalid; None if its type is wrong."""
        array = read(value, list, self.key, report)
        if not array:
            return array
        report.hits_sent += 1
        if len(array) != 2:
            report.shape(self.key, f"expected [boolean, double], got array of {len(array)}")
            return None
        relevant = read(array[0], bool, f"{self.key}[0]", report)
        confidence = read(array[1], float, f"{self.key}[1]", report)
        if relevant is None or confidence is None:
            return None
        if not 0.0 < confidence <= 1.0:
            report.hit(
                f"{self.key}[1]", f"expected a confidence above 0 and up to 1, got {confidence}"
            )
            return []
        return [relevant, confidence]

    def check_usual(
        self, array: str, report: Report, vocabulary: Vocabulary
    ) -> tuple[ActPayload | None, Sequence[HitAside]] | None:
        """Return the classification in an array's text, None if it has another form."""
        if not array:
            return self.check([], report, vocabulary), ()
        match = _USUAL.fullmatch(array)
        if match is None:
            return None
        confidence = 1 if match[2] is None else float(match[2])
        return self.check([match[1] == "1", confidence], report, vocabulary), ()

    def count(self, payload: ActPayload) -> int:
        """Return 1, or 0 if there is no classification."""
        return 1 if payload else 0

    def member(self, payload: ActPayload) -> ActPayload:
        """Return the classification: relevant or not, and the confidence."""
        return payload[:2]

    def scorer(self, gold: Gold) -> TaskScorer:
        """Return an empty scorer for a run against `gold`."""
        return TaskScorer(RunScorer(Task.ACT, gold, digest=False), gold, _answer, _values)

    def within(self, gold: ActGold, articles: Collection[ArticleId]) -> ActGold:
        """Return the gold for these articles only."""
        kept_articles = frozenset[str](articles)
        relevant = {
            article: truth for article, truth in gold.relevant.items() if article in kept_articles
        }
        return gold if len(relevant) == len(gold) else replace(gold, relevant=relevant)

    def labels(self, gold: ActGold) -> Mapping[ArticleId, frozenset[str]]:
        """Return each article's class."""
        return {
            ArticleId(article): frozenset([_WORDS[relevant]])
            for article, relevant in gold.relevant.items()
        }

    def stated(self, payload: ActPayload) -> frozenset[str]:
        """Return the class that an answer states, if any."""
        return frozenset(_WORDS[relevant] for relevant in payload[:1])

    def read_run(
        self, path: Path, articles: Collection[ArticleId], vocabulary: Vocabulary
    ) -> RunFile:
        """Read a result file in BC II.5 format; its ranks are kept, since they order the run."""

        def check(
            answer: Answer, _evidence: Mapping[int, str], report: Report
        ) -> tuple[ActPayload | None, Sequence[HitAside]]:
            assert isinstance(answer, Classification)
            payload = self.check([answer.relevant, answer.confidence], report, vocabulary)
            return [*payload, answer.rank] if payload else payload, ()

        return read_result_file(Task.ACT, path, articles, check)

    def result_lines(self, answers: Iterable[tuple[ArticleId, ActPayload]]) -> Iterator[str]:
        """Yield a run's result file in BC II.5 format, with line ends."""
        return result_lines(
            Task.ACT,
            ((article, Classification(*payload)) for article, payload in answers if payload),
        )


ACT = ArticleClassification(name=TaskName("ACT"), title="Article classification", key="interaction")


def _answer(payload: ActPayload) -> Classification | None:
    return Classification(*payload) if payload else None


def _values(card: Scorecard) -> Values:
    assert isinstance(card, ActScorecard)
    confusion = card.confusion
    return {
        "specificity": confusion.specificity,
        "sensitivity": confusion.sensitivity,
        "accuracy": confusion.accuracy,
        "mcc": confusion.mcc,
        "precision_at_full_recall": card.precision_at_full_recall,
        "auc_ipr": card.auc_ipr,
    }
