"""Differences of two versions of the gold: labels by article, values by run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import msgspec

from metaserver.base.boards import Score
from metaserver.base.phases import ArticleChange, RunChange
from metaserver.base.plans import Ranking
from metaserver.base.records import ArticleId, ServerName
from metaserver.boards.scoreboard import ranked
from metaserver.tasks.plugin import AccessionTask, LabelledTask, OfflineTask, TaskPlugin
from metaserver.uniprot import ReleaseVocabulary

MOST_TOLD, MOST_LABELS = 1_000, 100
"""Most articles that are listed, and most labels of one; the others are counted."""
NONE: frozenset[str] = frozenset()

Labels: TypeAlias = Mapping[ArticleId, frozenset[str]]


class LabelChanges(msgspec.Struct, frozen=True, kw_only=True):
    """The differences of a gold from another, the first of them listed, and all of them counted."""

    articles: int = 0
    added: int = 0
    removed: int = 0
    changes: tuple[ArticleChange, ...] = ()
    unknown_articles: int = 0
    unknown: tuple[str, ...] = ()


def label_changes(
    plugin: TaskPlugin, before: Any, after: Any, corpus: Collection[ArticleId]
) -> LabelChanges:
    """Compare a gold with the one before it (None: there was none) and with a corpus.

    Empty for tasks without labels. Slow for a large gold: call it in a thread.
    """
    if not isinstance(plugin, LabelledTask):
        return LabelChanges()
    labels_after = plugin.labels(after)
    labels_before: Labels = plugin.labels(before) if before is not None else {}
    changed = [
        article
        for article in sorted({*labels_after, *labels_before})
        if labels_after.get(article) != labels_before.get(article)
    ]
    apart = isinstance(plugin, OfflineTask)  # nothing is sent: its gold has its own articles
    unknown = [] if apart else sorted(labels_after.keys() - set(corpus))
    return LabelChanges(
        articles=len(labels_after),
        added=sum(len(_more(labels_after, labels_before, article)) for article in changed),
        removed=sum(len(_more(labels_before, labels_after, article)) for article in changed),
        changes=tuple(
            _article_change(labels_after, labels_before, article) for article in changed[:MOST_TOLD]
        ),
        unknown_articles=len(unknown),
        unknown=tuple(unknown[:MOST_TOLD]),
    )


class Unanswerable(NamedTuple):
    """The accessions of a gold that no answer can have, each with the reason; and of how many."""

    reasons: Mapping[str, str]
    accessions: int

    @property
    def is_all(self) -> bool:
        """True where no answer can be right: the gold is of another task, or of other ids."""
        return 0 < self.accessions == len(self.reasons)


def unanswerable(plugin: TaskPlugin, gold: Any, vocabulary: ReleaseVocabulary) -> Unanswerable:
    """Return the gold's accessions that the hub refuses or replaces in answers.

    Empty for tasks without accessions. Slow for a large gold: call it in a thread.
    """
    names = sorted(plugin.accessions(gold)) if isinstance(plugin, AccessionTask) else []
    rulings = vocabulary.rulings(names)
    reasons = {names[place]: rulings[place].note for place in sorted(rulings)}
    return Unanswerable(reasons, len(names))


def no_accession(release: str) -> str:
    """Return the message of a gold that is `Unanswerable` as a whole."""
    return (
        f"none of its accessions is one of UniProt {release}, so that no answer can be right:"
        " is it the gold of another task?"
    )


def _more(labels: Labels, minus: Labels, article: ArticleId) -> frozenset[str]:
    return labels.get(article, NONE) - minus.get(article, NONE)


def _article_change(after: Labels, before: Labels, article: ArticleId) -> ArticleChange:
    return ArticleChange(
        article=article,
        added=tuple(sorted(_more(after, before, article))[:MOST_LABELS]),
        removed=tuple(sorted(_more(before, after, article))[:MOST_LABELS]),
    )


def run_changes(
    plugin: TaskPlugin,
    ranking: Ranking,
    before: Mapping[ServerName, Score],
    after: Mapping[ServerName, Score],
) -> Sequence[RunChange]:
    """Return every run's values before and after, in the order of the board after."""
    rows_before = {row.run: row for row in ranked(plugin, ranking, before)}
    return [
        RunChange(
            run=row.run,
            place_before=rows_before[row.run].place if row.run in rows_before else None,
            place_after=row.place,
            before=dict(rows_before[row.run].values) if row.run in rows_before else None,
            after=dict(row.values),
        )
        for row in ranked(plugin, ranking, after)
    ]
