"""Bacteria Biotope 2016 (BioNLP-ST BB3): the six sub-tasks.

Deléger et al. 2016 (https://aclanthology.org/W16-3002) and the task's evaluation page
(https://2016.bionlp-st.org/tasks/bb3/bb3-evaluation).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from scoring.biotope_categories import score_categories, score_categories_ner
from scoring.biotope_events import score_events, score_events_ner
from scoring.biotope_scores import BiotopeScores, MatchedPair
from scoring.errors import OptionError
from scoring.knowledge_base import KnowledgeBaseScores, compare, facts
from scoring.ontology import Ontology, read_ontology
from scoring.standoff import Annotations, Schema, read_standoff_gold, read_standoff_run
from scoring.text import Source

SCHEMA = Schema(
    relations={
        "Lives_In": {
            "Bacteria": frozenset({"Bacteria"}),
            "Location": frozenset({"Habitat", "Geographical"}),
        }
    },
    knowledge_bases={"Bacteria": "NCBI_Taxonomy", "Habitat": "OntoBiotope"},
)


class SubTask(StrEnum):
    """A sub-task; with `+ner` the entities have to be found too."""

    EVENT = "event"  # Lives_In events between given entities
    EVENT_NER = "event+ner"
    CAT = "cat"  # categories of given entities
    CAT_NER = "cat+ner"
    KB = "kb"  # distinct facts of the corpus
    KB_NER = "kb+ner"


@dataclass(frozen=True, kw_only=True, slots=True)
class BiotopeScorecard:
    """The main score, the alternate ones after it, and the pairs of the main score."""

    subtask: SubTask
    articles_answered: int
    articles_in_gold: int
    scores: Sequence[BiotopeScores | KnowledgeBaseScores]
    pairs: Sequence[MatchedPair]

    def to_dict(self) -> dict[str, Any]:
        """Return the scorecard, without the pairs, as JSON-ready values."""
        return {
            "task": self.subtask,
            "articles_answered": self.articles_answered,
            "articles_in_gold": self.articles_in_gold,
            "scores": [scores.to_dict() for scores in self.scores],
        }


def evaluate_paths(
    subtask: SubTask | str, gold: Path | str, run: Path | str, ontology: Source | str | None = None
) -> BiotopeScorecard:
    """Score a run (zip file or folder of `.a2`) against a gold (with `.txt`, `.a1` and `.a2`).

    Raises `FormatError` for the files, `OptionError` where a category needs the ontology.
    """
    subtask = SubTask(subtask)
    known = read_ontology(ontology) if ontology is not None else None
    reference = read_standoff_gold(gold, SCHEMA)
    given = not subtask.endswith("+ner")
    answered = read_standoff_run(run, SCHEMA, reference, entities_given=given)
    return evaluate(subtask, reference, answered, known)


def evaluate(
    subtask: SubTask,
    gold: Mapping[str, Annotations],
    run: Mapping[str, Annotations],
    ontology: Ontology | None = None,
) -> BiotopeScorecard:
    """Score a run that has an entry for each article of the gold."""
    scores, pairs = _judge(subtask, gold, run, ontology)
    return BiotopeScorecard(
        subtask=subtask,
        articles_answered=sum(found.answered for found in run.values()),
        articles_in_gold=len(gold),
        scores=scores,
        pairs=pairs,
    )


def _judge(
    subtask: SubTask,
    gold: Mapping[str, Annotations],
    run: Mapping[str, Annotations],
    ontology: Ontology | None,
) -> tuple[Sequence[BiotopeScores | KnowledgeBaseScores], Sequence[MatchedPair]]:
    if subtask is SubTask.EVENT:
        return score_events(gold, run)
    if subtask is SubTask.EVENT_NER:
        return score_events_ner(gold, run)
    if ontology is None:
        raise OptionError(f"--task {subtask} needs --ontology, child<TAB>parent lines or OBO")
    if subtask is SubTask.CAT:
        return score_categories(gold, run, ontology)
    if subtask is SubTask.CAT_NER:
        return score_categories_ner(gold, run, ontology)
    found = compare(facts(gold), facts(run), ontology)
    return [found], found.pairs
