"""Loading a phase: its articles, its tasks and gold, and its stored answers."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

from metaserver.base.compression import unpack_json
from metaserver.base.lanes import Corpus, LaneKey
from metaserver.base.phases import GoldVersion
from metaserver.base.records import ServerName, TaskName
from metaserver.boards.gold import PublicPart, read_gold, scored_tasks
from metaserver.boards.scoreboard import GoldMark, ScoredTask
from metaserver.config import Settings
from metaserver.exchange.http.articles import ArticleTexts, block_of
from metaserver.exchange.http.caller import PhaseArticles
from metaserver.exchange.wire.contract import MENTIONS
from metaserver.phases.live import Landed
from metaserver.store.reader import PackedAnswer, ReadStore
from metaserver.tasks.plugin import TaskPlugin, answered_tasks, installed_tasks
from metaserver.uniprot import Release, ReleaseVocabulary
from metaserver.uniprot.vocabulary import split_name

FEW = 32
"""Answers that are read, or put onto a live board on the event loop, at a time."""
MUCH = 2**18
"""Bytes of packed answers that are unpacked at a time; a single answer may have more."""
MARK_DIGITS = 16
"""How many digits of a gold's keyed checksum are in the signature for organisers."""


class Packed(Protocol):
    """A stored answer, compressed; None if an attempt brought no answer."""

    @property
    def payloads(self) -> bytes | None:
        """The compressed payloads."""


P = TypeVar("P", bound=Packed)


def gold_marks(gold: Mapping[TaskName, GoldVersion]) -> Mapping[TaskName, GoldMark]:
    """Return the marks by which boards name the gold that a phase is scored on."""
    return {
        task: GoldMark(version.version, version.checksum[:MARK_DIGITS])
        for task, version in gold.items()
    }


def vocabulary_of(
    settings: Settings, name: str, opened: Mapping[str, Release] = MappingProxyType({})
) -> ReleaseVocabulary:
    """Return a phase's vocabulary by its stored name.

    Its release is among `opened`, else it is opened in the settings' folder. A phase of uploads has
    none, and the name is empty.
    """
    if not name:
        return ReleaseVocabulary(release=Release.empty())
    release, policies = split_name(name, settings.policies())
    opened_release = opened.get(release) or Release.open(settings.release_folder(release))
    return ReleaseVocabulary(release=opened_release, **policies._asdict())


def scored_of(
    gold: Mapping[TaskName, GoldVersion],
    vocabulary: ReleaseVocabulary,
    corpus: Corpus,
    part: PublicPart | None,
) -> Sequence[ScoredTask]:
    """Return a phase's tasks that have gold; slow for a large gold."""
    golds = {
        task: read_gold(task, version.content, version.source) for task, version in gold.items()
    }
    return scored_tasks(golds, vocabulary, gold_marks(gold), corpus.ids, part)


def asked_tasks(gold: Mapping[TaskName, Any], planned: Sequence[str] = ()) -> Sequence[TaskPlugin]:
    """Return a phase's tasks: a server answers them unless registered for some of them.

    The planned tasks; otherwise all that servers answer, but the task that reads `mentions` only
    with gold, since mentions may also be sent just for display.
    """
    if planned:
        return [task for name, task in installed_tasks().items() if name in planned]
    answered = answered_tasks().items()
    return [task for name, task in answered if name in gold or task.key != MENTIONS]


def articles_of(store: ReadStore, corpus: Corpus) -> PhaseArticles:
    """Return a corpus for sending; its texts are read from the store when they are needed."""
    load = functools.partial(store.article_texts, corpus.id)
    texts = ArticleTexts(load, block=block_of(corpus.wire_bytes))
    return PhaseArticles(ids=corpus.ids, wire_bytes=corpus.wire_bytes, texts=texts)


async def stored_answers(
    store: ReadStore, corpus: Corpus, server: ServerName, key: LaneKey
) -> AsyncIterator[Sequence[Landed]]:
    """Yield a lane's accepted answers in batches, by position; a thread unpacks them.

    No transaction stays open between two batches.
    """
    after = -1
    while answers := await store.packed_answers(key, after=after, limit=FEW):
        for batch in batches(answers):
            yield await asyncio.to_thread(_unpacked, batch, server, corpus)
        after = answers[-1].position


def batches(answers: Iterable[P]) -> Iterator[Sequence[P]]:
    """Yield batches of at most `FEW` answers and `MUCH` bytes, or a single answer."""
    batch: list[P] = []
    size = 0
    for answer in answers:
        added = len(answer.payloads or b"")
        if batch and (size + added > MUCH or len(batch) == FEW):
            yield batch
            batch, size = [], 0
        batch.append(answer)
        size += added
    if batch:
        yield batch


def _unpacked(
    answers: Sequence[PackedAnswer], server: ServerName, corpus: Corpus
) -> Sequence[Landed]:
    return [
        Landed(server, corpus.ids[position], unpack_json(payloads))
        for position, payloads in answers
    ]
