"""Values of leaderboards: live and frozen ones, and how hard articles are.

A frozen board is a document that holds all that its page shows, columns included: what a later
version of the hub or another gold would make of the runs does not change it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import msgspec

from metaserver.model.records import TaskName
from metaserver.model.scores import ArticleLevel, Column, RunIntervals, Score

View: TypeAlias = str
"""The treatment of hits before they are scored: "raw", "mapped", "filtered" or "both"."""

RAW: View = "raw"
FORMAT = 1
"""Raised when a document of an earlier format can no longer be read as it is."""


class BoardRow(msgspec.Struct, frozen=True, kw_only=True):
    """A run on a board, live or frozen: `values` by column, null where a measure has none.

    `place` is 1, 2, 2, 4, ... or null for a run without a score. `team` may be empty; `offline`
    runs were uploaded as a file. `curve` has the precision/recall steps as (recall, precision), or
    none. `interval` is the newest there is of the first measure and of the rank, 95 %: null where
    none was made yet, of another score where the run has changed since.
    """

    run: str
    place: int | None
    team: str = ""
    offline: bool = False
    articles_scored: int
    articles_in_gold: int
    values: Mapping[str, float | int | None]
    curve: tuple[tuple[float, float], ...] = ()
    interval: RunIntervals | None = None

    @classmethod
    def of(
        cls,
        run: str,
        place: int | None,
        score: Score,
        *,
        team: str = "",
        offline: bool = False,
        interval: RunIntervals | None = None,
    ) -> BoardRow:
        """Return the row of a score, without what only the hub may know of it."""
        return cls(
            run=run,
            place=place,
            team=team,
            offline=offline,
            articles_scored=score.articles_scored,
            articles_in_gold=score.articles_in_gold,
            values=score.values,
            curve=tuple(score.curve),
            interval=interval,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Board:
    """A task's leaderboard in one view, best run first, runs without a score last.

    `resampling` describes the computation of intervals; it is empty where the task has none.
    `hidden` is the reason, in full sentences, why the viewer may see no run, and empty otherwise.
    `gold` is the keyed digest of the gold, which organisers alone see. `note` is one line above the
    rows; `frozen` is the id of the board's permanent link, where it has one. `catching_up` says how
    many servers' stored answers are in it while the hub reads them, and is empty otherwise.
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
    catching_up: str = ""


def marked(signature: str, gold: str) -> str:
    """Return a signature as organisers see it: with the keyed digest of its gold."""
    return f"{signature}|mark:{gold}" if gold else signature


@dataclass(frozen=True, kw_only=True, slots=True)
class ArticleBoard:
    """The levels of a task's articles, easiest first, as far as the viewer may see them.

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


class FrozenView(msgspec.Struct, frozen=True, kw_only=True):
    """A `Board` in one view; `gold` is the keyed digest of its gold, for organisers."""

    signature: str
    gold: str = ""
    resampling: str
    rows: tuple[BoardRow, ...]


class FrozenBoard(msgspec.Struct, frozen=True, kw_only=True):
    """A task's leaderboards at the moment `at` (seconds since the Unix epoch), by view.

    `columns` and `order` are those of the task plug-in at that moment; `reason` is why it was
    frozen, in a few words.
    """

    name: TaskName
    title: str
    phase: str
    reason: str
    at: float
    columns: tuple[Column, ...]
    order: tuple[str, ...]
    views: Mapping[str, FrozenView]
    format: int = FORMAT

    def board(self, view: str) -> Board:
        """Return the board in one of `views`."""
        frozen = self.views[view]
        return Board(
            task=self.name,
            rows=frozen.rows,
            signature=frozen.signature,
            view=view,
            resampling=frozen.resampling,
        )

    def encode(self) -> bytes:
        """Return the JSON document."""
        return msgspec.json.encode(self)

    @classmethod
    def decode(cls, document: bytes) -> FrozenBoard:
        """Read a document of `encode`; raises `msgspec.ValidationError` for anything else."""
        return msgspec.json.decode(document, type=cls)
