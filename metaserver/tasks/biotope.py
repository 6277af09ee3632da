"""The six sub-tasks of Bacteria Biotope 2016 (BB3) as offline tasks, and their files.

The gold is a zip: `.txt`, `.a1` and `.a2` of each article and, where categories are compared, one
ontology. A run is a zip of `.a2` files. The payload of an article is the text of its `.a2` file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from metaserver.base.boards import Column, Score
from metaserver.base.errors import InputError
from metaserver.base.records import ArticleId, Problem, TaskName
from metaserver.tasks.plugin import RunFile
from metaserver.tasks.result_files import (
    GOLD_LIMITS,
    MAX_PROBLEMS,
    ResampledRun,
    WholeRunScorer,
    WholeRunTask,
    fault,
    gold_error,
    read_unzipped,
    unzipped,
)
from metaserver.tasks.scores import undefined
from scoring import SCORER_VERSION, FileProblem, FormatError
from scoring.alignment import Span, most_own_overlaps
from scoring.bacteria_biotope import SCHEMA, BiotopeScorecard, SubTask, evaluate
from scoring.biotope_categories import BACTERIA, HABITAT
from scoring.knowledge_base import facts
from scoring.ontology import Ontology, read_ontology
from scoring.standoff import (
    Annotations,
    Entity,
    annotated,
    read_standoff_gold,
    read_standoff_run,
    written_annotations,
)

# -- files of BB3: a gold zip with all that runs are read and scored with, and zips of runs --------

MOST_LINES = 50_000
"""The maximum number of lines in a run's `.a2` files; the development set has 2,000."""
MOST_PAIRS = 2_000_000
"""The maximum number of overlapping pairs among a run's entities: see `most_own_overlaps`."""
MOST_EVENT_PAIRS = 50_000_000
"""The maximum number of pairs among a run's events, per article, each also with itself.

By Cauchy and Schwarz, the pairs with a gold's events are then at most the root of this times the
gold's own number: 2 million for 20 events in each of 161 articles.
"""
MOST_CATEGORIES = 20
"""The maximum number of categories per entity; the gold has three at most."""
MOST_FACTS = 20_000
"""Most facts that a run may state, before those that come again are left out."""
ONTOLOGIES = (".obo", ".tsv")


@dataclass(frozen=True, kw_only=True, slots=True)
class BiotopeGold:
    """The texts, given entities and references by article; the ontology if needed."""

    subtask: SubTask
    articles: Mapping[str, Annotations]
    ontology: Ontology | None

    @property
    def entities_given(self) -> bool:
        """True if a run annotates the gold's entities, False if it has to find them."""
        return not self.subtask.endswith("+ner")

    def labels(self, article: str) -> frozenset[str]:
        """Return an article's references as texts: "Lives_In 0-6 16-25"."""
        document = self.articles[article]
        places = {name: _place(entity.span) for name, entity in document.entities.items()}
        events = {
            " ".join([relation.type, *(places[member] for member in relation.roles.values())])
            for relation in document.relations.values()
        }
        categories = {
            f"{places[name]} {referent}"
            for name, referents in document.referents.items()
            for referent in referents
        }
        return frozenset(events | categories)


def read_gold(subtask: SubTask, path: Path) -> BiotopeGold:
    """Read a gold zip; raises `InputError` that names file and line.

    Example: a zip with `doc-1.txt`, `doc-1.a1`, `doc-1.a2`, and `habitats.obo` if there are
    categories.
    """
    with unzipped(path, GOLD_LIMITS) as folder:
        if folder == path:
            raise InputError(path, "not a zip; expected one with .txt, .a1 and .a2 files")
        try:
            articles = read_standoff_gold(folder, SCHEMA)
            ontology = _ontology(folder, path) if subtask in _CATEGORIZED else None
        except FormatError as error:
            raise gold_error(error, folder, path) from error
    gold = BiotopeGold(subtask=subtask, articles=articles, ontology=ontology)
    if not any(gold.labels(name) for name in articles):
        raise InputError(path, f"nothing to find for BB-{subtask}: no event, and no category")
    return gold


_CATEGORIZED = frozenset({SubTask.CAT, SubTask.CAT_NER, SubTask.KB, SubTask.KB_NER})


def _ontology(folder: Path, path: Path) -> Ontology:
    files = [
        file
        for file in sorted(folder.rglob("*"))
        if file.suffix.lower() in ONTOLOGIES and not file.name.startswith(".") and file.is_file()
    ]
    if len(files) != 1:
        names = ", ".join(str(file.relative_to(folder)) for file in files) or "none"
        expected = "expected one, .obo or .tsv with child<TAB>parent lines"
        raise InputError(path, f"ontologies in the zip: {names[:200]}; {expected}")
    return read_ontology(files[0])


def _read(path: Path, gold: BiotopeGold, folder: Path) -> RunFile:
    """Read a run's zip, which was unpacked into a folder."""
    if folder == path:
        message = "not a zip; expected a zip of .a2 files"
        return RunFile(faults=[Problem(path="the file", message=message)])
    files = [file for file in folder.rglob("*.a2") if not file.name.startswith(".")]
    lines = sum(file.read_bytes().count(b"\n") for file in files if file.is_file())
    if not files or lines > MOST_LINES:
        message = f"{lines:,} lines; expected at most {MOST_LINES:,}" if files else "no .a2 file"
        return RunFile(faults=[Problem(path="the file", message=message)])
    run = read_standoff_run(folder, SCHEMA, gold.articles, entities_given=gold.entities_given)
    if wrong := list(_excesses(run, entities_given=gold.entities_given)):
        return RunFile(faults=wrong[:MAX_PROBLEMS])
    written = written_annotations(folder)
    missing = [
        fault(FileProblem(f"{name}.a2", 0, 0, "missing: read as without annotations"), folder)
        for name in gold.articles
        if name not in written
    ]
    payloads = {ArticleId(name): text for name, text in written.items()}
    return RunFile(payloads=payloads, problems=missing[:MAX_PROBLEMS])


def _excesses(run: Mapping[str, Annotations], *, entities_given: bool) -> Iterator[Problem]:
    """Yield what would take too long to score, judging by the run only.

    Otherwise the files that are refused would show a team where the gold's entities are.
    """
    facts = 0
    for name, document in run.items():
        for entity, referents in document.referents.items():
            if len(referents) > MOST_CATEGORIES:
                message = f"{entity} has {len(referents)} categories; at most {MOST_CATEGORIES}"
                yield Problem(path=f"{name}.a2", message=message)
        facts += sum(
            len(document.referents.get(relation.roles["Bacteria"], ()))
            * len(document.referents.get(relation.roles["Location"], ()))
            for relation in document.relations.values()
        )
    if facts > MOST_FACTS:
        message = f"states {facts:,} facts; expected at most {MOST_FACTS:,}"
        yield Problem(path="the file", message=message)
    if sum(len(document.relations) ** 2 for document in run.values()) > MOST_EVENT_PAIRS:
        message = "more events in an article than can be paired; expected fewer"
        yield Problem(path="the file", message=message)
    if not entities_given and most_own_overlaps(_spans(run)) > MOST_PAIRS:
        message = "more entities that overlap each other than can be paired; expected fewer"
        yield Problem(path="the file", message=message)


def counted(
    subtask: SubTask, gold: BiotopeGold, written: Mapping[str, str]
) -> Mapping[str, object]:
    """Return the part of a run that counts for its score; facts each separately.

    Ids, line order, white space, and lines that the sub-task does not score are left out.
    """
    run = annotated(written, SCHEMA, gold.articles, entities_given=gold.entities_given)
    current = gold.ontology.current if gold.ontology else str
    if subtask in (SubTask.KB, SubTask.KB_NER):
        return {f"{fact.taxon} {current(fact.habitat)}": True for fact in facts(run)}
    said = _events if subtask in (SubTask.EVENT, SubTask.EVENT_NER) else _categories
    return {name: lines for name, document in run.items() if (lines := said(document, current))}


def _events(document: Annotations, _current: Callable[[str], str]) -> Sequence[str]:
    """Return an article's events, each once."""
    entities = document.entities
    events = {
        " ".join(
            [
                relation.type,
                *(_entity(entities[relation.roles[role]]) for role in sorted(relation.roles)),
            ]
        )
        for relation in document.relations.values()
    }
    return sorted(events)


def _categories(document: Annotations, current: Callable[[str], str]) -> Sequence[str]:
    """Return an article's entities, each with its categories."""
    return sorted(
        " ".join([_entity(entity), *sorted(set(map(current, document.referents.get(name, ()))))])
        for name, entity in document.entities.items()
        if entity.type in (BACTERIA, HABITAT)
    )


def _entity(entity: Entity) -> str:
    return f"{entity.type} {_place(entity.span)}"


def _spans(articles: Mapping[str, Annotations]) -> list[tuple[str, Span]]:
    return [
        (name, entity.span)
        for name, document in articles.items()
        for entity in document.entities.values()
    ]


def _place(fragments: Span) -> str:
    return ";".join(f"{start}-{end}" for start, end in fragments)


# -- the six sub-tasks of Bacteria Biotope 2016 (BB3) as offline tasks -----------------------------


class MeasureColumn(NamedTuple):
    """A board column: its score's place in the scorecard, and the score's member."""

    column: Column
    score: int
    member: str


@dataclass(frozen=True, kw_only=True)
class BiotopeTask(WholeRunTask):
    """A sub-task of BB3; `shown` are its columns, the measure that orders the board first."""

    subtask: SubTask
    shown: tuple[MeasureColumn, ...]
    upload: str = "a zip of .a2 files"
    items: str = "articles"
    command: str = "scoring bb --tests"

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
        """Return an empty scorer for a run against `gold`."""
        return WholeRunScorer(gold.articles, partial(self._score, gold))

    def read_upload(self, path: Path, gold: BiotopeGold) -> RunFile:
        """Read a zip of `.a2` files; a fault's path is a file and its line."""
        return read_unzipped(path, partial(_read, path, gold))

    def gold_articles(self, gold: BiotopeGold) -> Collection[str]:
        """Return the gold's articles."""
        return gold.articles.keys()

    def counted(self, gold: BiotopeGold, payloads: Mapping[ArticleId, str]) -> Mapping[str, object]:
        """Return a run's events, categories or facts in canonical form."""
        written = {str(article): text for article, text in payloads.items()}
        return counted(self.subtask, gold, written)

    def labels(self, gold: BiotopeGold) -> Mapping[ArticleId, frozenset[str]]:
        """Return each article's annotations as texts."""
        return {ArticleId(name): gold.labels(name) for name in gold.articles}

    def _score(self, gold: BiotopeGold, payloads: Mapping[ArticleId, str]) -> Score:
        written = {str(article): text for article, text in payloads.items()}
        run = annotated(
            written, SCHEMA, gold.articles, entities_given=not self.subtask.endswith("+ner")
        )
        ontology = gold.ontology.afresh() if gold.ontology else None
        card = evaluate(self.subtask, gold.articles, run, ontology)
        values = undefined(self._values(card), answered=bool(payloads))
        scores = card.scores[0]
        signature = f"{self.name}|articles:all|version:{SCORER_VERSION}"
        return Score(
            values=values,
            articles_scored=card.articles_answered,
            articles_in_gold=card.articles_in_gold,
            curve=(),
            detail={**card.to_dict(), "task": self.name, "signature": signature},
            card=ResampledRun(
                values[self.order[0]], scores.on_resamples, scores.size, scores.first_by_article
            ),
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
    """Return the columns that count for the main score, which all sub-tasks but the facts' have."""
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
    items="facts",
)  # fmt: skip
KB_NER = BiotopeTask(
    name=TaskName("BB-kb+ner"),
    title="Facts of a corpus, entities to be found",
    subtask=SubTask.KB_NER,
    shown=_FACTS,
    items="facts",
)
