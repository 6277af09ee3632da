"""Tables of cells as aligned text, CSV and LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import TypeAlias

Cell: TypeAlias = str | int | float | None
Table: TypeAlias = Sequence[Sequence[Cell]]
"""Rows of cells, the header first."""


def text_table(table: Table) -> str:
    """Return the rows with aligned columns, the first to the left and the others to the right."""
    rows = [[shown(cell) for cell in row] for row in table]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def csv_table(table: Table) -> str:
    """Return the rows as CSV, every digit kept, undefined values empty."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(table)
    return out.getvalue().rstrip("\n")


def tsv_table(table: Table) -> str:
    """Return the rows as tab-separated text, every digit kept, undefined values empty."""
    rows = (["" if cell is None else str(cell) for cell in row] for row in table)
    return "\n".join(map("\t".join, rows))


def latex_table(table: Table) -> str:
    """Return the rows as a LaTeX tabular."""
    header, *rows = (" & ".join(_escaped(shown(cell)) for cell in row) for row in table)
    body = [row + r" \\" for row in rows]
    columns = "l" + "r" * (len(table[0]) - 1)
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{columns}}}",
            r"\hline",
            header + r" \\",
            r"\hline",
            *body,
            r"\hline",
            r"\end{tabular}",
        ]
    )


def shown(cell: Cell) -> str:
    """Return a cell as text: three decimals, `n/a` for an undefined value.

    A value that would round to 0.000, such as a small p, is shown with its first digit; below 1e-9
    it is noise.
    """
    if cell is None:
        return "n/a"
    if not isinstance(cell, float):
        return str(cell)
    return f"{cell:.1g}" if 1e-9 < abs(cell) < 0.0005 else f"{cell:.3f}"


def _escaped(cell: str) -> str:
    return "".join("\\" + char if char in "&%$#_{}" else char for char in cell)
