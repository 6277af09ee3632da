"""An open test phase's boards as its teams may see them: they reveal little about the gold.

Scores have two digits, and only runs that answered most of the articles have any. What has more
digits is left out: hit counts, curves, intervals, and the order of ties. So is what concerns only
the gold's articles: how many count, and their mean confidence, which would name each to a team that
gives every article another confidence. The number of articles is the corpus', since not every
article is in the gold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import msgspec

from metaserver.base.boards import Board, BoardRow, Column
from metaserver.base.plans import PhaseLimits, PhasePlan, Ranking, in_percent
from metaserver.base.states import OVER, PhaseState, Visibility

DIGITS = 2
USUAL_COVERAGE = Ranking().min_coverage


class Scores(Protocol):
    """The part of a plan that says who sees which scores while its phase is open."""

    @property
    def kind(self) -> PhaseState | str:
        """Training or test."""

    @property
    def visibility(self) -> Visibility:
        """Score visibility."""

    @property
    def limits(self) -> PhaseLimits:
        """The upload limits."""

    @property
    def ranking(self) -> Ranking:
        """The least coverage."""

    @property
    def public_share(self) -> float:
        """The share of the gold that scores use."""


def reveals_gold(plan: PhasePlan, state: PhaseState | None) -> bool:
    """Return whether exact scores would reveal gold that answers can still be fitted to."""
    return plan.kind is not PhaseState.TRAINING and state not in OVER


def in_public_part(plan: PhasePlan, state: PhaseState | None) -> bool:
    """Return whether the scores that teams see cover only the gold's public part."""
    return plan.public_share < 1 and reveals_gold(plan, state)


def note(plan: PhasePlan) -> str:
    """Return what the scores of an open test phase have, and what they lack, for its readers."""
    min_coverage, share = plan.ranking.min_coverage, plan.public_share
    part = f" They are of a secret {in_percent(share)} of the gold's articles." if share < 1 else ""
    scored = (
        f", and only runs that answered {in_percent(min_coverage)} of the articles have any"
        if min_coverage
        else ""
    )
    return (
        f"While the phase is open, scores have {DIGITS} digits{scored}. An upload that differs in"
        f" only a few answers from an earlier one of its team has none.{part} Everything is shown"
        " when the phase is frozen."
    )


def warning(plan: Scores) -> str:
    """Return what teams can learn about an open phase's gold; empty if they see no score."""
    visibility, uploads = plan.visibility, plan.limits.uploads
    if plan.kind == PhaseState.TRAINING or visibility is Visibility.HIDDEN:
        return ""
    who = "each team sees its own scores" if visibility is Visibility.OWN else "all see all scores"
    return (
        f"with visibility {visibility}, {who} while this test phase is open, with {DIGITS} digits."
        f" Each of a team's {uploads.total} uploads of a task ({uploads.a_day} in 24 hours) lets it"
        f" check guesses about {_checked_part(plan.public_share)}, so that it can learn about as"
        f" many labels and fit its answers to them.{_few_articles(plan.ranking.min_coverage)} With"
        " hidden it learns nothing: show the scores when it is frozen"
    )


def _checked_part(share: float) -> str:
    return "the gold" if share == 1 else f"the public part of the gold ({in_percent(share)})"


def _few_articles(share: float) -> str:
    """Return what a low minimum coverage lets teams learn."""
    if share >= USUAL_COVERAGE:
        return ""
    covered = in_percent(share)
    return f" Runs of {covered} of the articles have scores, which tell more about each label."


@dataclass(frozen=True, kw_only=True, slots=True)
class AnsweredShare:
    """The articles that each run `answered`, a whole run's `articles`, and the `least` share.

    A server's run must have answered that share of the corpus. An uploaded run answers it all, but
    has no score unless it has hits for that share of the gold's number of articles: a run on a few
    articles shows their labels. `withheld` are runs that differ from their team's earlier runs in
    few answers.
    """

    answered: Mapping[str, int]
    articles: int
    withheld: Set[str] = frozenset()
    least: float

    def suffices(self, row: BoardRow) -> bool:
        """Return whether a run may show a score: it has answered enough, and is not withheld."""
        stated = not row.offline or self.answered[row.run] >= self.least * row.articles_in_gold
        return stated and row.run not in self.withheld and self.covers(row)

    def covers(self, row: BoardRow) -> bool:
        """Return whether a run has answered enough for a place."""
        if row.articles_scored < max(1.0, self.least * row.articles_in_gold):
            return False
        return row.offline or self.answered[row.run] >= self.least * self.articles


class RoundedRow(NamedTuple):
    """A run's row on a rounded board, with its inputs and its sort key."""

    made_of: tuple[BoardRow, bool, int, int, float, Sequence[str]]
    row: BoardRow
    key: tuple[bool, float]


def rounded(
    board: Board,
    columns: Sequence[Column],
    coverage: AnsweredShare,
    rows: dict[str, RoundedRow],
) -> Board:
    """Return a board with the rounded scores of runs that cover the phase, placed by them.

    Only `columns` that an open test phase may show have values. `rows` are those of the board
    before, by run: rows that have changed are made again, and kept there.
    """
    is_open = frozenset(column.key for column in columns if column.open)
    rising = frozenset(column.key for column in columns if column.rising)
    for placed in board.rows:
        row = msgspec.structs.replace(placed, place=None)  # those of others change it too
        withheld, answered = row.run in coverage.withheld, coverage.answered[row.run]
        made_of = (row, withheld, answered, coverage.articles, coverage.least, board.order)
        if row.run not in rows or rows[row.run].made_of != made_of:
            shown = _rounded(row, coverage, is_open)
            rows[row.run] = RoundedRow(made_of, shown, _key(shown, board.order[0], rising))
    for run in rows.keys() - {row.run for row in board.rows}:
        del rows[run]
    return replace(board, rows=_placed(rows), resampling="", unresampled="", digits=DIGITS)


def _rounded(row: BoardRow, coverage: AnsweredShare, is_open: Set[str]) -> BoardRow:
    is_shown = coverage.suffices(row)
    return msgspec.structs.replace(
        row,
        articles_scored=coverage.answered[row.run],
        articles_in_gold=coverage.articles,
        values={
            name: _value(value) if is_shown and name in is_open else None
            for name, value in row.values.items()
        },
        curve=(),
        interval=None,
        articles_counted=None,
        confidence=None,
        below=coverage.least > 0 and not coverage.covers(row),
    )


def _value(value: float | int | None) -> float | None:
    """Return a measure with two digits; None for an integer, which has more."""
    return round(value, DIGITS) + 0.0 if isinstance(value, float) else None


def _key(row: BoardRow, measure: str, rising: Set[str]) -> tuple[bool, float]:
    """Return a row's sort key: its shown score, best first, those without one last."""
    value = row.values.get(measure)
    return value is None, (1 if measure in rising else -1) * (value or 0.0)


def _placed(rows: dict[str, RoundedRow]) -> Sequence[BoardRow]:
    """Return rows by their shown scores, best first: ties share a place, by name."""
    first: dict[tuple[bool, float], int] = {}
    placed = []
    for count, (key, run) in enumerate(sorted((kept.key, run) for run, kept in rows.items()), 1):
        kept, unscored = rows[run], key[0]
        place = None if unscored else first.setdefault(key, count)
        if kept.row.place != place:
            shown = msgspec.structs.replace(kept.row, place=place)
            kept = rows[run] = kept._replace(row=shown)
        placed.append(kept.row)
    return placed
