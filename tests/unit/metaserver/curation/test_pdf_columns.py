"""Lines of a page: columns that are drawn across, blanks and marks of notes, numbers of lines."""

from collections.abc import Iterable, Iterator

import pytest

from metaserver.curation.pdf_columns import lines_of
from metaserver.curation.pdf_glyphs import GlyphRun, Type

WIDTH, SIZE, LEADING = 5.0, 10.0, 12.0


def drawn(lines: Iterable[tuple[float, float, str]]) -> Iterator[GlyphRun]:
    """Yield the words of lines, each given by its left, its row and its words."""
    for left, row, words in lines:
        at, blank = left, "\n"
        for word in words.split():
            end = at + WIDTH * len(word)
            yield GlyphRun(word, at, end, Type(700 - LEADING * row, SIZE, blank=blank))
            at, blank = end + WIDTH, " "


def across(lefts: tuple[float, ...], rows: Iterable[int]) -> list[tuple[float, float, str]]:
    return [
        (left, row, f"line {row:02} of column {at}")
        for row in rows
        for at, left in enumerate(lefts)
    ]


def column(at: int, rows: Iterable[int]) -> list[str]:
    return [f"line {row:02} of column {at}" for row in rows]


def read(lines: Iterable[tuple[float, float, str]]) -> list[str]:
    return [line.text for line in lines_of(drawn(lines))]


def test_two_and_three_columns() -> None:
    rows = range(8)
    assert read(across((50, 320), rows)) == [*column(0, rows), *column(1, rows)]
    three = read(across((50, 220, 390), rows))
    assert three == [*column(0, rows), *column(1, rows), *column(2, rows)]


def test_lines_across_all_columns_and_gaps_divide_blocks() -> None:
    title, figure = "A title " * 12, "Figure 1. " * 9
    lines = [
        (50, -4, "J. Curation 12"),
        (320, -4, "page 34 of 36"),
        (50, 0, title),
        *across((50, 320), range(1, 8)),
        (50, 8, figure),
        *across((50, 320), range(9, 16)),
    ]
    assert read(lines) == [
        "J. Curation 12", "page 34 of 36", title.strip(), *column(0, range(1, 8)),
        *column(1, range(1, 8)), figure.strip(), *column(0, range(9, 16)), *column(1, range(9, 16)),
    ]  # fmt: skip


def test_ragged_lines_and_wide_blanks_stay_in_their_column() -> None:
    lines = across((50, 320), range(8))
    lines[5] = (321, 2, "indented by little")
    lines.insert(6, (430, 2, "after a wide blank"))
    found = read(lines)
    assert found[10] == "indented by little after a wide blank"


def test_what_is_drawn_in_order_is_left_alone() -> None:
    lines = across((50, 320), range(20))
    assert read(sorted(lines)) == [*column(0, range(20)), *column(1, range(20))]
    assert read(across((50,), range(20))) == column(0, range(20))
    few = read(across((50, 320), range(4)))
    assert few[0] == "line 00 of column 0 line 00 of column 1"
    assert read([]) == []


def test_cells_of_a_table_stay_on_their_line() -> None:
    cells = [(50 + 90 * at, row, f"cell {at}") for row in range(30) for at in range(5)]
    lines = lines_of(drawn(cells))
    assert [line.text for line in lines] == ["cell 0 cell 1 cell 2 cell 3 cell 4"] * 30
    assert all(line.row for line in lines)
    justified = [(50 + 40 * at, 0, word) for at, word in enumerate(["a", "line", "so", "wide"])]
    assert not lines_of(drawn(justified))[0].row  # its blanks are even


def runs(*parts: tuple[str, float, float, str]) -> Iterator[GlyphRun]:
    """Yield runs with their rise above the line, their size and what is before them."""
    at = 50.0
    for text, rise, size, blank in parts:
        at += WIDTH if blank == " " else 0
        yield GlyphRun(text, at, at + WIDTH * len(text), Type(700 + rise, size, blank=blank))
        at += WIDTH * len(text)


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([("EGFR", 0, 10, ""), ("1", 4, 7, "\n"), ("binds", 0, 10, " ")], "EGFR binds"),
        ([("EGFR,", 0, 10, ""), ("1,2", 4, 7, ""), ("binds", 0, 10, " ")], "EGFR, binds"),
        ([("GRB2", 0, 10, ""), ("3-5", 4, 7, "")], "GRB2"),
        ([("1", 4, 7, ""), ("A", 0, 10, "\n"), ("note", 0, 10, " ")], "1 A note"),
        ([("Ca", 0, 10, ""), ("2+", 4, 7, "\n")], "Ca2+"),
        ([("cm", 0, 10, ""), ("2", 4, 7, "")], "cm2"),
        ([("10", 0, 10, ""), ("6", 4, 7, "")], "106"),
        ([("H", 0, 10, ""), ("2", -2, 7, ""), ("O", 0, 10, "")], "H2O"),
        ([("up", 0, -10, "\n"), ("right", 0, -10, " "), ("next", 9, -10, "\n")], "up right|next"),
    ],
)
def test_marks_of_notes_are_left_out(parts: list[tuple[str, float, float, str]], text: str) -> None:
    assert "|".join(line.text for line in lines_of(runs(*parts))) == text


def test_numbers_of_lines_are_left_out() -> None:
    lines = [
        place
        for row in range(8)
        for place in ((20, row, f"{row + 10}"), (50, row, f"EGFR binds GRB2 {row}"))
    ]
    assert read(lines) == [f"EGFR binds GRB2 {row}" for row in range(8)]
    cells = [(left, row, words.replace("11", "31")) for left, row, words in lines]
    assert read(cells)[0] == "10 EGFR binds GRB2 0"  # they do not count
