"""NER: the mentions of typed entities in an article, scored as SemEval-2013 task 9.1.

A mention is a contiguous part of the text: `offset` is its first character, and its length is that
of its words. Both count code points of the article as it was sent, from 0. The payload is a list
of `[offset, mention, type]`, by place.

The hub does not compare the words with the article: task 9.1 scores only places and types. A team
sees wrong offsets in its self-test (`annotators check`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from metaserver.base.boards import Column
from metaserver.base.records import ArticleId, TaskName
from metaserver.exchange.wire.contract import MENTIONS, check_optional, read, read_member
from metaserver.exchange.wire.validation import Report, Vocabulary
from metaserver.tasks.ner_scores import NerGold, NerPayload, NerScorer, read_gold
from scoring.cells import FORMULA, inert

MAX_OFFSET = 10**8  # no text is so long, and the evaluator reads nine digits

COLUMNS = (
    Column(key="cor", heading="COR", count=True, help="Mentions of the right place and type"),
    Column(key="inc", heading="INC", count=True, help="Overlaps of another place or type"),
    Column(key="par", heading="PAR", count=True, help="Overlaps of another place, of any type"),
    Column(key="mis", heading="MIS", count=True, help="Gold mentions that nothing overlaps"),
    Column(key="spu", heading="SPU", count=True, help="Mentions that overlap nothing in the gold"),
    Column(key="strict_precision", heading="P", help="Strict precision: place and type"),
    Column(key="strict_recall", heading="R", help="Strict recall: place and type"),
    Column(key="strict_f", heading="F strict", help="F-score of the same place and type"),
    Column(key="exact_f", heading="F exact", help="F-score of the same place, of any type"),
    Column(key="partial_f", heading="F partial", help="F-score where an overlap counts half"),
    Column(key="type_f", heading="F type", help="F-score of the same type where places overlap"),
)


class _Sent(NamedTuple):
    """A mention with values of the agreed types; `length` is as the server sent it."""

    path: str
    offset: int
    words: str
    type: str
    length: int | None


@dataclass(frozen=True, kw_only=True)
class NamedEntities:
    """The task NER."""

    name: TaskName
    title: str
    key: str
    columns: tuple[Column, ...] = COLUMNS
    order: tuple[str, ...] = ("strict_f", "exact_f")

    def check(self, value: object, report: Report, vocabulary: Vocabulary) -> NerPayload | None:
        """Return the valid mentions, None where a value is not of the agreed type."""
        array = read(value, list, self.key, report)
        if array is None:
            return None
        report.hits_sent += len(array)
        mentions = [_read(hit, f"{self.key}[{place}]", report) for place, hit in enumerate(array)]
        readable = [mention for mention in mentions if mention is not None]
        payload = _unique([mention for mention in readable if _is_valid(mention, report)], report)
        return payload if len(readable) == len(array) else None

    def count(self, payload: NerPayload) -> int:
        """Return the number of mentions in the payload."""
        return len(payload)

    def member(self, payload: NerPayload) -> list[dict[str, Any]]:
        """Return the mentions as structs, by place."""
        names = ("offset", "mention", "type")
        return [dict(zip(names, mention, strict=True)) for mention in payload]

    def read_gold(self, path: Path) -> NerGold:
        """Read a gold table (or corpus XML, its sentences being the articles).

        Raises `InputError` that names file and line.
        """
        return read_gold(path)

    def scorer(self, gold: NerGold) -> NerScorer:
        """Return an empty scorer for one run against `gold`."""
        return NerScorer(gold)

    def within(self, gold: NerGold, articles: Collection[ArticleId]) -> NerGold:
        """Return the gold of these articles alone."""
        return gold.within(frozenset(articles))

    def gold_articles(self, gold: NerGold) -> Collection[ArticleId]:
        """Return the articles that the gold has."""
        return [ArticleId(article) for article in gold.articles]

    def labels(self, gold: NerGold) -> Mapping[ArticleId, frozenset[str]]:
        """Return the mentions of each article: their places, from 0, and types."""
        return {
            ArticleId(article): frozenset(
                f"{';'.join(f'{start}-{end - 1}' for start, end in mention.span)} {mention.type}"
                for mention in mentions
            )
            for article, mentions in gold.articles.items()
        }

    def result_lines(self, answers: Iterable[tuple[ArticleId, NerPayload]]) -> Iterator[str]:
        """Yield the lines of a run's result file for task 9.1, with inclusive offsets.

        The words are only for readers (task 9.1 compares places and types), so formulas in them
        are made inert.
        """
        for article, payload in answers:
            for offset, words, kind in payload:
                words_shown = inert(" ".join(words.split()))
                yield f"{article}\t{offset}-{offset + len(words) - 1}\t{words_shown}\t{kind}\n"


NER = NamedEntities(name=TaskName("NER"), title="Named entities", key=MENTIONS)


def _read(value: object, path: str, report: Report) -> _Sent | None:
    struct = read(value, dict, path, report)
    if struct is None:
        return None
    offset = read_member(struct, "offset", int, path, report)
    words = read_member(struct, "mention", str, path, report)
    kind = read_member(struct, "type", str, path, report)
    length = struct.get("length")
    readable = length is None or (length := read(length, int, f"{path}.length", report)) is not None
    check_optional(struct, {"section": str, "confidence": float}, path, report)
    if offset is None or words is None or kind is None or not readable:
        return None
    return _Sent(path, offset, words, kind, length)


def _is_valid(mention: _Sent, report: Report) -> bool:
    """Return whether a mention's values are valid; a wrong length often means counted bytes."""
    faults = []
    if not 0 <= mention.offset <= MAX_OFFSET:
        faults.append(("offset", f"expected 0 to {MAX_OFFSET}, got {mention.offset}"))
    if not mention.words:
        faults.append(("mention", "expected one character or more"))
    if not mention.type.isprintable() or not mention.type.strip() or mention.type[0] in FORMULA:
        faults.append(("type", f"expected a word, got {mention.type!r}"))
    if mention.length is not None and mention.length != len(mention.words):
        message = f"got {mention.length}, but the mention has {len(mention.words)} code points"
        faults.append(("length", message))
    for member, message in faults:
        report.hit(f"{mention.path}.{member}", message)
    return not faults


def _unique(mentions: Sequence[_Sent], report: Report) -> NerPayload:
    """Return the mentions by place, without repetitions of a place and type."""
    first: dict[tuple[int, int, str], _Sent] = {}
    for mention in mentions:
        place = (mention.offset, len(mention.words), mention.type)
        if (earlier := first.setdefault(place, mention)) is not mention:
            report.hit(mention.path, f"the place and type of {earlier.path} again")
    return [[at, first[at, size, kind].words, kind] for at, size, kind in sorted(first)]
