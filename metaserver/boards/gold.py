"""Gold for the boards: read, combined with its views, in part while a phase is open, compared."""

from __future__ import annotations

import hashlib
import hmac
import re
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import msgspec

from metaserver.base.boards import Score
from metaserver.base.errors import InputError
from metaserver.base.phases import ArticleChange, RunChange
from metaserver.base.plans import PhasePlan, Ranking
from metaserver.base.records import ArticleId, ServerName, TaskName
from metaserver.boards.scoreboard import GoldMark, ScoredTask, ranked
from metaserver.tasks.plugin import (
    AccessionTask,
    CorpusTask,
    LabelledTask,
    OfflineTask,
    TaskPlugin,
    ViewedTask,
    installed_tasks,
)
from metaserver.uniprot import ReleaseVocabulary

# -- public part: the articles of a phase's gold that its scores use while it is open --------------


@dataclass(frozen=True, kw_only=True, slots=True)
class PublicPart:
    """The public part of a phase's gold: a `share` of its articles.

    It is drawn with the hub's key, so that nobody can guess it. Each article has a number that is
    the same after a restart and in every gold version; the lowest are drawn.
    """

    key: bytes = field(repr=False)
    phase: int
    share: float

    @classmethod
    def of(cls, key: bytes, phase: int, plan: PhasePlan) -> PublicPart | None:
        """Return a phase's public part by the phase's id; None if all its gold is public."""
        share = plan.public_share
        return None if share == 1 else cls(key=key, phase=phase, share=share)

    def draw(self, articles: Iterable[ArticleId]) -> frozenset[ArticleId]:
        """Return the drawn articles among the gold's, at least one."""
        ordered = sorted(articles, key=self._number)
        return frozenset(ordered[: max(1, round(self.share * len(ordered)))])

    def _number(self, article: ArticleId) -> bytes:
        text = f"public part of {self.phase} {article}"
        return hmac.digest(self.key, text.encode(), hashlib.sha256)


# -- gold for the boards: read from a file, and combined with its task's views ---------------------

_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}\Z")


def scored_tasks(
    gold: Mapping[TaskName, Any],
    vocabulary: ReleaseVocabulary,
    marks: Mapping[TaskName, GoldMark] = MappingProxyType({}),
    corpus: Collection[ArticleId] | None = None,
    part: PublicPart | None = None,
) -> Sequence[ScoredTask]:
    """Return the tasks that have gold (as their plug-ins read it), ordered by name.

    Gold for articles outside the corpus does not count; None: there is no corpus. `part` draws what
    is scored separately, as the view `PUBLIC`.
    """
    return [
        _scored(task, gold[name], vocabulary, marks.get(name), corpus, part)
        for name, task in installed_tasks().items()
        if name in gold
    ]


def _scored(
    task: TaskPlugin,
    gold: Any,
    vocabulary: ReleaseVocabulary,
    mark: GoldMark | None,
    corpus: Collection[ArticleId] | None,
    part: PublicPart | None,
) -> ScoredTask:
    outside: Sequence[ArticleId] = ()
    if corpus is not None and isinstance(task, CorpusTask):
        outside = sorted(set(task.gold_articles(gold)).difference(corpus))
        gold = task.within(gold, corpus) if outside else gold
    views = task.view_scorers(gold, vocabulary.release) if isinstance(task, ViewedTask) else {}
    scored = ScoredTask(
        plugin=task, gold=gold, release=vocabulary.name, mark=mark, outside=outside, views=views
    )
    if part is None or not isinstance(task, CorpusTask):
        return scored
    public = task.within(gold, part.draw(task.gold_articles(gold)))
    return replace(scored, public=public, public_share=part.share)


def read_gold(task: TaskName, content: bytes, source: str) -> Any:
    """Read the content of a gold file; `InputError` names the file by its sender's name."""
    with tempfile.TemporaryDirectory(prefix="metaserver-gold-") as folder:
        suffix = _SUFFIX.search(source)  # the rest of a name can be one that no file has
        path = Path(folder) / f"gold{suffix[0] if suffix else ''}"
        path.write_bytes(content)
        try:
            return installed_tasks()[task].read_gold(path)
        except InputError as error:
            place = error.place.replace(str(path), source)
            raise InputError(place, error.message.replace(str(path), source)) from error


# -- differences of two versions of the gold: labels by article, values by run ---------------------

MOST_TOLD, MOST_LABELS = 1_000, 100
"""How many articles are listed, and how many labels per article; further ones are counted."""
NONE: frozenset[str] = frozenset()

Labels: TypeAlias = Mapping[ArticleId, frozenset[str]]


class LabelChanges(msgspec.Struct, frozen=True, kw_only=True):
    """The differences between two golds, the first listed, and all counted."""

    articles: int = 0
    added: int = 0
    removed: int = 0
    changes: tuple[ArticleChange, ...] = ()
    unknown_articles: int = 0
    unknown: tuple[str, ...] = ()


def label_changes(
    plugin: TaskPlugin, before: Any, after: Any, corpus: Collection[ArticleId]
) -> LabelChanges:
    """Compare a gold with the previous gold (None: the first) and with a corpus.

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
    """A gold's accessions that no answer can have, each with the reason; and the total."""

    reasons: Mapping[str, str]
    accessions: int

    @property
    def is_all(self) -> bool:
        """True if no answer can be right: the gold belongs to another task, or has other ids."""
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
    """Return the message for a gold that is `Unanswerable` as a whole."""
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
    """Return every run's values before and after, in the board's order after."""
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
