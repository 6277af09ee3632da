"""Values of boards at one moment: immutable, and shown by `web`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metaserver.model.records import ServerName, TaskName
from metaserver.tasks.plugin import ArticleLevel, RunIntervals, Score


@dataclass(frozen=True, kw_only=True, slots=True)
class BoardRow:
    """One run on a leaderboard; `place` is 1, 2, 2, 4, ... or None for a run without a score.

    `team` may be empty; `offline` runs were uploaded as a file. `interval` is the newest one: None
    where none was computed yet, and of another score where the run has changed since.
    """

    run: ServerName
    place: int | None
    score: Score
    team: str = ""
    offline: bool = False
    interval: RunIntervals | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Board:
    """A task's leaderboard in one view, best run first, runs without a score last.

    `resampling` describes the computation of intervals; it is empty where the task has none.
    `hidden` is the reason, in full sentences, why the reader may see no run, and empty otherwise.
    `gold` is the keyed digest of the gold, which organisers alone see. `note` is one line above the
    rows; `frozen` is the id of the board's permanent link, where it has one.
    """

    task: TaskName
    rows: Sequence[BoardRow]
    signature: str  # scorer version, article policy, gold version, UniProt release
    gold: str = ""
    view: str = "raw"
    resampling: str = ""
    hidden: str = ""
    note: str = ""
    frozen: str = ""


def marked(signature: str, gold: str) -> str:
    """Return a signature for organisers: with the keyed digest of its gold."""
    return f"{signature}|mark:{gold}" if gold else signature


@dataclass(frozen=True, kw_only=True, slots=True)
class ArticleBoard:
    """The levels of a task's articles, easiest first, as far as the reader may see them.

    `measure` is the measure of the means; it is empty where the task has no levels. `withheld`
    counts the articles that too few teams answered to be shown; `ready` is False until levels have
    been computed.
    """

    task: TaskName
    measure: str = ""
    levels: Sequence[ArticleLevel] = ()
    withheld: int = 0
    ready: bool = True
    hidden: str = ""
