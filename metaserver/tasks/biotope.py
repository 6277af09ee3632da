"""The six sub-tasks of Bacteria Biotope 2016 (BB3) as offline tasks.

The gold is a zip: `.txt`, `.a1` and `.a2` of each article and, where categories are compared, one
ontology. A run is a zip of `.a2` files. The payload of an article is the text of its `.a2` file.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from metaserver.base.boards import ArticleLevel, Column, RunIntervals, Score
from metaserver.base.records import ArticleId, TaskName
from metaserver.tasks.biotope_files import BiotopeGold, counted, read_gold, read_run
from metaserver.tasks.plugin import RunFile
from metaserver.tasks.whole_runs import ResampledRun, WholeRunScorer, intervals, undefined
from scoring import SCORER_VERSION
from scoring.bacteria_biotope import SCHEMA, BiotopeScorecard, SubTask, evaluate
from scoring.intervals import RESAMPLES
from scoring.standoff import annotated


class MeasureColumn(NamedTuple):
    """A column of the board: its score in the scorecard, by place, and the member of it."""

    column: Column
    score: int
    member: str


@dataclass(frozen=True, kw_only=True)
class BiotopeTask:
    """A sub-task of BB3; `shown` are its columns, the measure that orders the board first."""

    name: TaskName
    title: str
    subtask: SubTask
    shown: tuple[MeasureColumn, ...]
    upload: str = "a zip of .a2 files"
    resampling: str = f"{RESAMPLES:,} resamples of the articles, seed 2009"
    level: str = ""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The board's columns, left to right."""
        return tuple(shown_column.column for shown_column in self.shown)

    @property
    def order(self) -> tuple[str, ...]:
        """The first two columns."""
        return tuple(shown_column.column.key for shown_column in self.shown[:2])

    def read_gold(self, path: Path) -> BiotopeGold:
        """Read a gold zip; raises `InputError` that names file and line."""
        return read_gold(self.subtask, path)

    def scorer(self, gold: BiotopeGold) -> WholeRunScorer:
        """Return an empty scorer for one run against `gold`."""
        return WholeRunScorer(gold.articles, partial(self._score, gold))

    def read_upload(self, path: Path, gold: BiotopeGold) -> RunFile:
        """Read a zip of `.a2` files; a fault's path is a file and its line."""
        return read_run(path, gold)

    def gold_articles(self, gold: BiotopeGold) -> Collection[str]:
        """Return the articles of the gold."""
        return gold.articles.keys()

    @property
    def resampled(self) -> tuple[str, ...]:
        """The first measure alone: the evaluation resamples no other."""
        return self.order[:1]

    def counted(self, gold: BiotopeGold, payloads: Mapping[ArticleId, str]) -> Mapping[str, object]:
        """Return the events, categories or facts of a run, in one form."""
        written = {str(article): text for article, text in payloads.items()}
        return counted(self.subtask, gold, written)

    def intervals(
        self, _gold: BiotopeGold, cards: Mapping[str, ResampledRun], _measure: str
    ) -> Mapping[str, RunIntervals]:
        """Return the intervals of each run's first measure and rank."""
        return intervals(cards, rising=self.columns[0].rising)

    def levels(
        self, gold: BiotopeGold, cards: Mapping[str, ResampledRun]
    ) -> Sequence[ArticleLevel]:
        """Return no levels: a run is evaluated as a whole."""
        return []

    def labels(self, gold: BiotopeGold) -> Mapping[ArticleId, frozenset[str]]:
        """Return the annotations of each article as texts."""
        return {ArticleId(name): gold.labels(name) for name in gold.articles}

    def _score(self, gold: BiotopeGold, payloads: Mapping[ArticleId, str]) -> Score:
        written = {str(article): text for article, text in payloads.items()}
        run = annotated(
            written, SCHEMA, gold.articles, entities_given=not self.subtask.endswith("+ner")
        )
        ontology = gold.ontology.afresh() if gold.ontology else None
        card = evaluate(self.subtask, gold.articles, run, ontology)
        values = undefined(self._values(card), answered=bool(payloads))
        measure = values[self.order[0]]
        signature = f"{self.name}|articles:all|version:{SCORER_VERSION}"
        return Score(
            values=values,
            articles_scored=card.articles_answered,
            articles_in_gold=card.articles_in_gold,
            curve=(),
            detail={**card.to_dict(), "task": self.name, "signature": signature},
            card=ResampledRun(measure, card.scores[0].on_resamples),
        )

    def _values(self, card: BiotopeScorecard) -> Mapping[str, Any]:
        scores = [scores.to_dict() for scores in card.scores]
        return {
            shown_column.column.key: scores[shown_column.score][shown_column.member]
            for shown_column in self.shown
        }


def _f1(score: int, key: str, heading: str, text: str) -> MeasureColumn:
    return MeasureColumn(Column(key=key, heading=heading, help=text), score, "f1")


def _counts() -> tuple[MeasureColumn, ...]:
    """Return the counts of the main score, which every sub-task but the facts' has."""
    pairs = Column(key="pairs", heading="Pairs", count=True, help="Predictions with a reference")
    inserted = Column(
        key="insertions", heading="INS", count=True, help="Predictions without a reference"
    )
    deleted = Column(
        key="deletions", heading="DEL", count=True, help="References without a prediction"
    )
    return (
        MeasureColumn(pairs, 0, "pairs"),
        MeasureColumn(inserted, 0, "insertions"),
        MeasureColumn(deleted, 0, "deletions"),
    )


def _ser(score: int, key: str, heading: str, text: str) -> MeasureColumn:
    return MeasureColumn(Column(key=key, heading=heading, help=text, rising=True), score, "ser")


_RECALL = MeasureColumn(
    Column(key="recall", heading="R", help="Sum of S_p over references"), 0, "recall"
)
_PRECISION = MeasureColumn(
    Column(key="precision", heading="P", help="Sum of S_p over predictions"), 0, "precision"
)
_EVENTS = (
    _f1(0, "f1", "F1", "Harmonic mean of precision and recall"),
    _RECALL,
    _PRECISION,
)
_PLACES = (
    _f1(1, "habitat_f1", "F1 habitats", "F1 of events in habitats alone"),
    _f1(2, "geographical_f1", "F1 geogr.", "F1 of events in geographical places alone"),
)
_FACTS = (
    MeasureColumn(
        Column(key="mean", heading="Mean", help="Mean score of the reference facts"), 0, "mean"
    ),
    MeasureColumn(
        Column(key="sum", heading="Sum", help="Sum of the scores of the facts"), 0, "sum"
    ),
    MeasureColumn(
        Column(key="predictions", heading="Facts", count=True, help="Predicted facts"),
        0,
        "predictions",
    ),
    MeasureColumn(
        Column(
            key="unpaired", heading="Unpaired", count=True, help="Predicted facts near no reference"
        ),
        0,
        "unpaired",
    ),
)

EVENT = BiotopeTask(
    name=TaskName("BB-event"),
    title="Where bacteria live",
    subtask=SubTask.EVENT,
    shown=(*_EVENTS, *_PLACES, *_counts()),
)
EVENT_NER = BiotopeTask(
    name=TaskName("BB-event+ner"),
    title="Where bacteria live, entities to be found",
    subtask=SubTask.EVENT_NER,
    shown=(
        *_EVENTS,
        _ser(0, "ser", "SER", "Slot error rate: 0 is perfect"),
        *_PLACES,
        _f1(3, "unbounded_f1", "F1 any bounds", "F1 with boundaries ignored"),
        *_counts(),
    ),
)
CAT = BiotopeTask(
    name=TaskName("BB-cat"),
    title="Categories of bacteria and habitats",
    subtask=SubTask.CAT,
    shown=(
        MeasureColumn(
            Column(key="precision", heading="P", help="Mean similarity over the given entities"),
            0,
            "precision",
        ),
        MeasureColumn(
            Column(key="habitat_precision", heading="P habitats", help="Of habitats alone"),
            1,
            "precision",
        ),
        MeasureColumn(
            Column(key="bacteria_precision", heading="P bacteria", help="Of bacteria alone"),
            2,
            "precision",
        ),
        MeasureColumn(
            Column(key="several_precision", heading="P several", help="Of entities with several"),
            3,
            "precision",
        ),
        *(column for column in _counts() if column.member != "insertions"),
    ),
)
CAT_NER = BiotopeTask(
    name=TaskName("BB-cat+ner"),
    title="Categories, entities to be found",
    subtask=SubTask.CAT_NER,
    shown=(
        _ser(0, "ser", "SER", "Slot error rate: 0 is perfect"),
        _RECALL,
        _PRECISION,
        _ser(1, "habitat_ser", "SER habitats", "Slot error rate of habitats alone"),
        _ser(2, "bacteria_ser", "SER bacteria", "Slot error rate of bacteria alone"),
        _ser(4, "unbounded_ser", "SER any bounds", "Slot error rate with boundaries ignored"),
        _ser(8, "entity_ser", "SER entities", "Slot error rate with categories ignored"),
        *_counts(),
    ),
)
KB = BiotopeTask(
    name=TaskName("BB-kb"), title="Facts of a corpus", subtask=SubTask.KB, shown=_FACTS,
    resampling=f"{RESAMPLES:,} resamples of the facts, seed 2009",
)  # fmt: skip
KB_NER = BiotopeTask(
    name=TaskName("BB-kb+ner"),
    title="Facts of a corpus, entities to be found",
    subtask=SubTask.KB_NER,
    shown=_FACTS,
    resampling=KB.resampling,
)
