"""Tables of pages as CSV and JSON: the same rows, order and decimals."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from metaserver.base.boards import OWN_COLUMNS, BoardRow, Column
from metaserver.base.usage import DECLARED, RunUsage
from metaserver.web.public.leaderboard import IntervalStatus, Leaderboard
from metaserver.web.ui.formatting import moment
from scoring.cells import inert


class TableValue(NamedTuple):
    """A value of a row under its name in both forms, and as the page writes it."""

    key: str
    value: Any
    text: str


def to_csv(leaderboard: Leaderboard) -> str:
    """Return a board as CSV."""
    return lines(
        field_names(leaderboard),
        ([f.text for f in fields(leaderboard, r)] for r in leaderboard.rows()),
    )


def to_dict(leaderboard: Leaderboard) -> dict[str, Any]:
    """Return a board as JSON-ready values: what the CSV has, numbers as numbers."""
    frozen = leaderboard.frozen
    return {
        "phase": leaderboard.phase,
        "task": leaderboard.board.task,
        "view": leaderboard.choice.view,
        "show": leaderboard.choice.show,
        "sort": str(leaderboard.choice.sort),
        "signature": leaderboard.board.signature,
        "articles": leaderboard.board.articles,
        "ranking": leaderboard.board.ranking and msgspec.to_builtins(leaderboard.board.ranking),
        "provisional": leaderboard.board.provisional,
        "catching_up": leaderboard.board.catching_up or None,
        "intervals": leaderboard.board.resampling or None,
        "frozen": frozen
        and {"phase": frozen.phase, "at": moment(frozen.at), "reason": frozen.reason},
        "runs": [
            {
                field.key: field.value
                for field in fields(leaderboard, row)
                if field.key != "articles"
            }
            | {
                "articles_scored": row.articles_scored,
                "articles_counted": row.counted,
                "articles_in_gold": row.articles_in_gold,
                "confidence": row.confidence,
                "below_min_coverage": row.below,
            }
            for row in leaderboard.rows()
        ],
    }


def field_names(leaderboard: Leaderboard) -> list[str]:
    """Return the names of a row's fields, in order."""
    ranks = ["rank_low", "rank_high"] if leaderboard.board.resampling else []
    bounds = [f"{leaderboard.main}_low", f"{leaderboard.main}_high", "interval"] if ranks else []
    own_keys = [column.key for column in OWN_COLUMNS]
    return [
        "place", *ranks, "team", "title", *own_keys[1:],
        *(c.key for c in leaderboard.task.columns), *bounds,
        "articles_in_gold", "below_min_coverage", "protocol",
        *(DECLARED if leaderboard.declared else ()),
    ]  # fmt: skip


def fields(leaderboard: Leaderboard, row: BoardRow) -> list[TableValue]:
    """Return what a row shows, in the order of `field_names`."""
    place, *rest = [_field(row, column) for column in leaderboard.columns]
    team = [
        TableValue("team", row.team or None, row.team),
        TableValue("title", row.title or None, row.title),
    ]
    ranks, bounds = _interval(leaderboard, row) if leaderboard.board.resampling else ([], [])
    coverage = [
        TableValue("articles_in_gold", row.articles_in_gold, str(row.articles_in_gold)),
        TableValue("below_min_coverage", row.below, "yes" if row.below else "no"),
    ]
    protocol = TableValue("protocol", row.protocol or None, row.protocol)
    usage = _usage(row) if leaderboard.declared else ()
    return [place, *ranks, *team, *rest, *bounds, *coverage, protocol, *usage]


def _field(row: BoardRow, column: Column) -> TableValue:
    if column.key == "run":  # its team is a field of its own
        return TableValue("run", row.run, row.run)
    number = row.value(column.key)
    rounded = round(number, column.decimals) if isinstance(number, float) else number
    return TableValue(column.key, rounded, row.text(column))


def _usage(row: BoardRow) -> Sequence[TableValue]:
    """Return what the run's answers took, as its team declares."""
    values = (row.usage or RunUsage(articles=0)).declared
    return [
        TableValue(name, value or None, str(value or ""))
        for name, value in zip(DECLARED, values, strict=True)
    ]


def _interval(leaderboard: Leaderboard, row: BoardRow) -> tuple[list[TableValue], list[TableValue]]:
    """Return the fields of a run's rank interval and of its score's."""
    low, high = leaderboard.bounds(row)
    status = leaderboard.interval_status(row)
    best: int | None = None
    worst: int | None = None
    if row.interval is not None and low:
        best, worst = row.interval.best_rank, row.interval.worst_rank
    missing = "n/a" if status is IntervalStatus.NONE else ""
    return (
        [
            TableValue("rank_low", best, missing if best is None else str(best)),
            TableValue("rank_high", worst, missing if worst is None else str(worst)),
        ],
        [
            TableValue(f"{leaderboard.main}_low", float(low) if low else None, low or missing),
            TableValue(f"{leaderboard.main}_high", float(high) if high else None, high or missing),
            TableValue("interval", status.value, status.value),
        ],
    )


def lines(heading: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    r"""Return a table as CSV (RFC 4180); no cell is a formula to a spreadsheet.

    >>> lines(["server"], [["blue-1"], ["=1+1"]])
    "server\r\nblue-1\r\n'=1+1\r\n"
    """
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(heading)
    for row in rows:
        writer.writerow([inert(text) for text in row])
    return out.getvalue()
