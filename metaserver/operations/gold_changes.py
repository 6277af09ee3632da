"""What another version of the gold changes: labels by article, values by run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from metaserver.records import ArticleId, ServerName
from metaserver.services.scoreboard import Scoreboard
from metaserver.services.snapshots import BoardRow
from metaserver.tasks.plugin import LabelledTask, TaskPlugin


class ArticleChange(msgspec.Struct, frozen=True, kw_only=True):
    """An article whose gold is another now: the labels that it says more, and no longer."""

    article: str
    added: tuple[str, ...]
    removed: tuple[str, ...]


class RunChange(msgspec.Struct, frozen=True, kw_only=True):
    """A run's place and values by column, before and after; null where there was no board."""

    run: str
    place_before: int | None
    place_after: int | None
    before: dict[str, float | int | None] | None
    after: dict[str, float | int | None]


class LabelChanges(NamedTuple):
    """The articles that a gold has labels for, and those whose labels are others than before."""

    articles: frozenset[ArticleId]
    changes: Sequence[ArticleChange]


def label_changes(plugin: TaskPlugin, before: Scoreboard, gold: Any) -> LabelChanges:
    """Compare a gold with the one of a board; nothing is known of tasks that tell no labels."""
    if not isinstance(plugin, LabelledTask):
        return LabelChanges(frozenset(), ())
    new = plugin.labels(gold)
    old: Mapping[ArticleId, frozenset[str]] = {}
    for scored in before.scored():
        old = plugin.labels(scored.gold)
    none: frozenset[str] = frozenset()
    changes = [
        ArticleChange(
            article=article,
            added=tuple(sorted(new.get(article, none) - old.get(article, none))),
            removed=tuple(sorted(old.get(article, none) - new.get(article, none))),
        )
        for article in sorted({*new, *old})
        if new.get(article) != old.get(article)
    ]
    return LabelChanges(frozenset(new), changes)


def run_changes(plugin: TaskPlugin, before: Scoreboard, after: Scoreboard) -> Sequence[RunChange]:
    """Return every run's values before and after, in the order of the board after."""
    old: Mapping[ServerName, BoardRow] = {}
    if before.tasks():
        old = {row.run: row for row in before.board(plugin.name).rows}
    return [
        RunChange(
            run=row.run,
            place_before=old[row.run].place if row.run in old else None,
            place_after=row.place,
            before=dict(old[row.run].score.values) if row.run in old else None,
            after=dict(row.score.values),
        )
        for row in after.board(plugin.name).rows
    ]
