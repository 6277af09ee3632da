"""Rules for data packages: what may be in one.

The gold of a test phase is a secret until its freeze, its articles until the organiser confirms
otherwise; the same holds for articles that another phase shares with it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from pathlib import Path

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.records import ArticleId
from metaserver.operations.context import HubContext
from metaserver.operations.kept import DATA_FOLDER, guarded
from metaserver.phases.runtime import RunningPhase
from metaserver.publication.data import DataMaker
from metaserver.tasks.plugin import CorpusTask, LabelledTask

MOST_NAMED = 3


def data_maker(hub: HubContext) -> DataMaker:
    """Return the maker of data packages, which knows their files."""
    return DataMaker(hub.store.place, Path(hub.settings.folder) / DATA_FOLDER)


def check_release(
    running: RunningPhase,
    other_phases: Collection[RunningPhase],
    now: float,
    *,
    gold: bool,
    confirmed: bool,
) -> None:
    """Raise `RefusedError` if a package may not be released; slow for large gold.

    `others` are the other phases, `confirmed` that teams would have test articles beforehand.
    """
    hidden = guarded(running, now)
    if gold and hidden:
        message = f"phase {running.name} is a test phase: its gold is released from its freeze on"
        raise RefusedError(Refusal.STATE, message, field="gold")
    if gold and not running.gold:
        message = f"phase {running.name} has no gold"
        raise RefusedError(Refusal.STATE, message, field="gold")
    positions = set(running.positions)
    labelled = _gold_articles(running) if gold else set()
    for phase in other_phases:
        if not guarded(phase, now):
            continue
        theirs = set(phase.positions) | _gold_articles(phase)
        if shared := labelled & theirs:
            message = (
                f"the gold has {_named(shared)} of the test phase {phase.name}, which is not"
                " frozen: release the articles alone"
            )
            raise RefusedError(Refusal.STATE, message, field="without_gold")
        if (shared := positions & theirs) and not confirmed:
            raise _unconfirmed(f"it has {_named(shared)} of the test phase {phase.name}")
    if hidden and not confirmed:
        raise _unconfirmed(f"phase {running.name} is a test phase")


def _unconfirmed(reason: str) -> RefusedError:
    message = f"{reason}: confirm that teams would have these test articles beforehand"
    return RefusedError(Refusal.STATE, message, field="test_articles")


def _gold_articles(running: RunningPhase) -> Set[ArticleId]:
    articles: set[ArticleId] = set()
    for scored in running.boards.scoreboard.scored():
        if isinstance(scored.plugin, CorpusTask):
            articles.update(scored.plugin.gold_articles(scored.gold))
        elif isinstance(scored.plugin, LabelledTask):
            articles.update(scored.plugin.labels(scored.gold))
        articles.update(scored.outside)
    return articles


def _named(articles: Set[ArticleId]) -> str:
    first: Sequence[str] = sorted(articles)[:MOST_NAMED]
    more = len(articles) - len(first)
    return f"articles {', '.join(first)}" + (f" and {more:,} more" if more else "")
