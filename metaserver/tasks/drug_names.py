"""DDI-NER: drug names as in SemEval-2013 task 9.1, from result files that name sentences.

The gold is corpus XML (a file or a zip), or a table. A run is a table or XML. A document's payload
is a list of `[sentence, offsets, type]`; a run answers every document, since a file cannot say that
a sentence was left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

from metaserver.base.boards import Column, Score
from metaserver.base.errors import InputError
from metaserver.base.records import ArticleId, Problem, TaskName
from metaserver.tasks.ner import COLUMNS, values_of
from metaserver.tasks.plugin import RunFile
from metaserver.tasks.result_files import (
    GOLD_LIMITS,
    RUN_LIMITS,
    ResampledRun,
    WholeRunScorer,
    WholeRunTask,
    gold_error,
    read_unzipped,
    unzipped,
)
from metaserver.tasks.scores import undefined
from scoring import SCORER_VERSION, FormatError
from scoring.alignment import Span, most_own_overlaps
from scoring.semeval_files import MentionCorpus, parse_offsets, read_ner_gold, read_ner_run
from scoring.semeval_ner import Criterion, MentionSpan, evaluate

Payload: TypeAlias = list[list[str]]

MOST_BYTES = RUN_LIMITS.bytes
MOST_LINES = 100_000
"""The maximum number of lines in a run, or tags in its XML; the whole DDI corpus has 18,502 names.
"""
MOST_PAIRS = 5_000_000
"""The maximum number of overlapping pairs among a run's names: see `most_own_overlaps`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DrugNameGold:
    """A corpus, and its documents by sentence."""

    corpus: MentionCorpus
    documents: Mapping[str, str]

    @classmethod
    def of(cls, corpus: MentionCorpus) -> DrugNameGold:
        """Return a corpus' gold."""
        documents = {name: sentence.document for name, sentence in corpus.sentences.items()}
        return cls(corpus=corpus, documents=documents)


@dataclass(frozen=True, kw_only=True)
class DrugNames(WholeRunTask):
    """The task DDI-NER."""

    columns: tuple[Column, ...] = (
        *COLUMNS,
        Column(key="macro_f", heading="F macro", help="Mean strict F-score of the four types"),
    )
    order: tuple[str, ...] = ("strict_f", "exact_f")
    upload: str = "a table (sentence, charOffset, text, type), or XML, also as a zip"
    items: str = "documents"
    command: str = "scoring ner --tests"

    def read_gold(self, path: Path) -> DrugNameGold:
        """Read corpus XML, its zip, or a gold table; raises `InputError`."""
        with unzipped(path, GOLD_LIMITS) as root:
            try:
                gold = DrugNameGold.of(read_ner_gold(root))
            except FormatError as error:
                raise gold_error(error, root, path) from error
        if not gold.corpus.mentions:
            raise InputError(path, "has no mention; expected at least one")
        return gold

    def scorer(self, gold: DrugNameGold) -> WholeRunScorer:
        """Return an empty scorer for a run against `gold`."""
        return WholeRunScorer(self.gold_articles(gold), partial(self._score, gold))

    def read_upload(self, path: Path, gold: DrugNameGold) -> RunFile:
        """Read a run; a fault's path is its line and column."""
        return read_unzipped(path, partial(_checked, gold))

    def gold_articles(self, gold: DrugNameGold) -> Collection[str]:
        """Return the gold's documents."""
        return frozenset(gold.documents.values())

    def counted(
        self, _gold: DrugNameGold, payloads: Mapping[ArticleId, Payload]
    ) -> Mapping[str, object]:
        """Return each document's names, in a fixed order."""
        return {str(article): sorted(names) for article, names in payloads.items() if names}

    def labels(self, gold: DrugNameGold) -> Mapping[ArticleId, frozenset[str]]:
        """Return each document's mentions: sentence, inclusive offsets, type."""
        by_article: dict[ArticleId, set[str]] = {
            ArticleId(document): set() for document in gold.documents.values()
        }
        for mention in gold.corpus.mentions:
            article = ArticleId(gold.documents[mention.place])
            by_article[article].add(f"{mention.place} {_offsets(mention.span)} {mention.type}")
        return {article: frozenset(labels) for article, labels in by_article.items()}

    def _score(self, gold: DrugNameGold, payloads: Mapping[ArticleId, Payload]) -> Score:
        card = evaluate(gold.corpus.mentions, _mentions(payloads, gold), article_of=gold.documents)
        values = {**values_of(card), "macro_f": card.macro()["f_score"]}
        shown_values = undefined(values, answered=bool(payloads))
        counts = {"articles_scored": len(payloads), "articles_in_gold": len(card.by_article)}
        signature = f"{self.name}|articles:all|version:{SCORER_VERSION}"
        return Score(
            values=shown_values,
            **counts,
            curve=(),
            detail={"task": self.name, **counts, **card.to_dict(), "signature": signature},
            card=ResampledRun(
                shown_values[self.order[0]],
                partial(card.on_resamples, Criterion.STRICT),
                len(card.by_article),
                partial(card.f_scores, Criterion.STRICT),
            ),
        )


def _checked(gold: DrugNameGold, root: Path) -> RunFile:
    files = [file for file in root.rglob("*.xml") if file.is_file()] if root.is_dir() else [root]
    contents = [file.read_bytes() for file in files]
    size = sum(map(len, contents))
    lines = sum(max(content.count(b"\n"), content.count(b"<")) for content in contents)
    if size > MOST_BYTES or lines > MOST_LINES:
        message = f"{size:,} bytes, {lines:,} lines or tags"
        expected = f"expected at most {MOST_BYTES:,} bytes and {MOST_LINES:,} lines or tags"
        return RunFile(faults=[Problem(path="the file", message=f"{message}; {expected}")])
    mentions = read_ner_run(root, gold.corpus)
    if most_own_overlaps([(mention.place, mention.span) for mention in mentions]) > MOST_PAIRS:
        message = (
            "too many names overlap one another to be paired with the gold; expected fewer overlaps"
        )
        return RunFile(faults=[Problem(path="the file", message=message)])
    payloads: dict[ArticleId, Payload] = {
        ArticleId(document): [] for document in gold.documents.values()
    }
    for mention in mentions:
        payloads[ArticleId(gold.documents[mention.place])].append(
            [mention.place, _offsets(mention.span), mention.type]
        )
    return RunFile(payloads=payloads)


def _mentions(payloads: Mapping[ArticleId, Payload], gold: DrugNameGold) -> Iterator[MentionSpan]:
    """Yield the mentions in sentences of the gold, which may be another than they were read for."""
    for payload in payloads.values():
        for place, offsets, kind in payload:
            if place in gold.documents:
                yield MentionSpan(place, parse_offsets(offsets), kind)


def _offsets(span: Span) -> str:
    """Return inclusive offsets, as the files have them."""
    return ";".join(f"{start}-{end - 1}" for start, end in span)


DDI_NER = DrugNames(name=TaskName("DDI-NER"), title="Drug names")
