"""What the boards show at one moment: frozen values, made by the services, drawn by `web`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metaserver.model.records import ServerName, TaskName
from metaserver.tasks.plugin import ArticleLevel, RunIntervals, Score


@dataclass(frozen=True, kw_only=True, slots=True)
class BoardRow:
    """One run on a leaderboard; `place` is 1, 2, 2, 4, ... or None for a run without a score.

    `team` may be empty; `offline` runs were uploaded as a file. `interval` is the newest there is:
    None where none was made yet, of another score where the run has changed since.
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

    `resampling` tells how intervals are made; it is empty where the task has none. Where `hidden`
    tells why the reader may see no run, in whole sentences, there are none. `gold` is the keyed
    digest of the gold, which organisers alone see. `note` is one line that stands above the rows;
    `frozen` is the id of the board's permanent link, where it has one.
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
    """Return a signature as organisers see it: with the keyed digest of its gold."""
    return f"{signature}|mark:{gold}" if gold else signature


@dataclass(frozen=True, kw_only=True, slots=True)
class ArticleBoard:
    """How hard the articles of a task are, the easiest first, as far as the reader may know.

    `measure` is what the means are of; it is empty where the task has no levels. `withheld` counts
    the articles that too few teams answered to be shown; `ready` is False while nothing was
    computed yet.
    """

    task: TaskName
    measure: str = ""
    levels: Sequence[ArticleLevel] = ()
    withheld: int = 0
    ready: bool = True
    hidden: str = ""
