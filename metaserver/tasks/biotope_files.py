"""Files of BB3: a gold zip with all that runs are read and scored with, and zips of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from metaserver.base.errors import InputError
from metaserver.base.records import ArticleId, Problem
from metaserver.tasks.plugin import RunFile
from metaserver.tasks.result_files import MAX_PROBLEMS
from metaserver.tasks.uploaded import (
    GOLD_LIMITS,
    RUN_LIMITS,
    fault,
    faults,
    gold_error,
    refused,
    unzipped,
)
from scoring import FileProblem, FormatError
from scoring.alignment import Span, most_own_overlaps
from scoring.bacteria_biotope import SCHEMA, SubTask
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

MOST_LINES = 50_000
"""Most lines of a run's `.a2` files; the development set has 2,000."""
MOST_PAIRS = 2_000_000
"""Most pairs of a run's entities that overlap each other: see `most_own_overlaps`."""
MOST_EVENT_PAIRS = 50_000_000
"""Most pairs of a run's events of one article, each with itself too, in all articles.

By Cauchy and Schwarz, its pairs with a gold's events are then at most the root of this times that
of the same number of the gold: 2 million for 20 events in each of 161 articles.
"""
MOST_CATEGORIES = 20
"""Most categories of an entity; the gold has three at most."""
MOST_FACTS = 20_000
"""Most facts that a run may state, before those that come again are left out."""
ONTOLOGIES = (".obo", ".tsv")


@dataclass(frozen=True, kw_only=True, slots=True)
class BiotopeGold:
    """The texts, given entities and references by article; the ontology where it is needed."""

    subtask: SubTask
    articles: Mapping[str, Annotations]
    ontology: Ontology | None

    @property
    def entities_given(self) -> bool:
        """True if a run annotates the gold's entities, False if it has to find them."""
        return not self.subtask.endswith("+ner")

    def labels(self, article: str) -> frozenset[str]:
        """Return the references of an article as texts: "Lives_In 0-6 16-25"."""
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
    """Read a gold zip; raises `InputError` that names file and line."""
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


def read_run(path: Path, gold: BiotopeGold) -> RunFile:
    """Read a run's zip, which is not trusted; all its faults are reported by file and line."""
    try:
        with unzipped(path, RUN_LIMITS) as folder:
            if folder == path:
                message = "not a zip; expected a zip of .a2 files"
                return RunFile(faults=[Problem(path="the file", message=message)])
            try:
                return _checked(folder, gold)
            except FormatError as error:
                return RunFile(faults=faults(error, folder))
    except InputError as error:
        return RunFile(faults=refused(error, path))


def _checked(folder: Path, gold: BiotopeGold) -> RunFile:
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
    """Yield what would take too long to score, by the run alone: a team must not learn of the gold.

    Which of its files are refused would otherwise show where the gold's entities are.
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
    """Return the part of a run that counts for its score; of facts each for itself.

    Ids, the order of lines, white space, and lines that the sub-task does not score are left out.
    """
    run = annotated(written, SCHEMA, gold.articles, entities_given=gold.entities_given)
    current = gold.ontology.current if gold.ontology else str
    if subtask in (SubTask.KB, SubTask.KB_NER):
        return {f"{fact.taxon} {current(fact.habitat)}": True for fact in facts(run)}
    said = _events if subtask in (SubTask.EVENT, SubTask.EVENT_NER) else _categories
    return {name: lines for name, document in run.items() if (lines := said(document, current))}


def _events(document: Annotations, _current: Callable[[str], str]) -> Sequence[str]:
    """Return the events of an article, each once."""
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
    """Return the entities of an article, each with its categories."""
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
