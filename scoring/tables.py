"""Tables of cells as aligned text, CSV and LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

from scoring.cells import inert

Cell: TypeAlias = str | int | float | None
Table: TypeAlias = Sequence[Sequence[Cell]]
"""Rows of cells, the header first."""


def table_of(rows: Sequence[Mapping[str, Cell]]) -> Table:
    """Return rows whose cells have names as a table; the first row's names are its header."""
    return [list(rows[0]), *(list(row.values()) for row in rows)]


def styled_table(table: Table, style: str) -> str:
    """Return the rows as `style` says: text, CSV or LaTeX."""
    return {"text": text_table, "csv": csv_table, "latex": latex_table}[style](table)


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


def starred_table(table: Table, stars: Collection[tuple[int, int]]) -> str:
    """Return the rows as `text_table` does, with a star at each cell of `stars`."""
    rows = [
        [
            shown(cell) + ("*" if (row, column) in stars else " ") if row and column else cell
            for column, cell in enumerate(cells)
        ]
        for row, cells in enumerate(table)
    ]
    return text_table(rows)


def csv_table(table: Table) -> str:
    """Return the rows as CSV, every digit kept, undefined values empty, no cell a formula."""
    out = io.StringIO()
    rows = ([inert(cell) if isinstance(cell, str) else cell for cell in row] for row in table)
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue().rstrip("\n")


def tsv_table(table: Table) -> str:
    """Return the rows as tab-separated text, every digit kept, undefined values empty."""
    rows = (["" if cell is None else str(cell) for cell in row] for row in table)
    return "\n".join(map("\t".join, rows))


def latex_table(table: Table, bold: Collection[tuple[int, int]] = ()) -> str:
    """Return the rows as a LaTeX tabular with the rules of the package booktabs.

    `bold` has the row and column of each cell to stress, both counted from 0, the header included.
    """
    lines = [
        " & ".join(
            rf"\textbf{{{_escaped(shown(cell))}}}"
            if (row, column) in bold
            else _escaped(shown(cell))
            for column, cell in enumerate(cells)
        )
        + r" \\"
        for row, cells in enumerate(table)
    ]
    columns = "l" + "r" * (len(table[0]) - 1)
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            lines[0],
            r"\midrule",
            *lines[1:],
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def latex_float(tabular: str, caption: str, label: str) -> str:
    """Return a tabular as a table environment with what of caption and label is given."""
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            *([rf"\caption{{{_escaped(caption)}}}"] if caption else []),
            *([rf"\label{{{label}}}"] if label else []),
            tabular,
            r"\end{table}",
        ]
    )


def best_cells(table: Table, columns: Mapping[str, bool]) -> set[tuple[int, int]]:
    """Return the places of the best value of each named column, of ties all; of one row none.

    `columns` maps the names of a header to whether the lowest value is the best. Only numbers
    count, as they are shown: what reads the same is equally good.
    """
    best: set[tuple[int, int]] = set()
    for column, name in enumerate(table[0]):
        if name not in columns:
            continue
        values = {
            row: float(shown(cells[column]))
            for row, cells in enumerate(table)
            if row and isinstance(cells[column], float)
        }
        if len(values) > 1:
            top = (min if columns[str(name)] else max)(values.values())
            best |= {(row, column) for row, value in values.items() if value == top}
    return best


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


_LATEX = {char: "\\" + char for char in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}


def _escaped(cell: str) -> str:
    return "".join(_LATEX.get(char, char) for char in cell)
