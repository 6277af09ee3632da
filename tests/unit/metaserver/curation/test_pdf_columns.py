"""Columns of a page whose lines are drawn across them: where they are, and what is left alone."""

from collections.abc import Iterable, Iterator

from metaserver.curation.pdf_columns import Character, GlyphBox, by_column, may_be_across

WIDTH, HEIGHT, LEADING = 5.0, 10.0, 12.0


def drawn(lines: Iterable[tuple[float, float, str]]) -> Iterator[Character]:
    """Yield the characters of lines, each given by its left, its row and its words."""
    for left, row, words in lines:
        bottom = 700 - LEADING * row
        for place, letter in enumerate(words):
            at = left + WIDTH * place
            yield Character(letter, GlyphBox(at, bottom, at + WIDTH, bottom + HEIGHT))
        yield Character("\r", None)
        yield Character("\n", None)


def across(lefts: tuple[float, ...], rows: Iterable[int]) -> list[tuple[float, float, str]]:
    return [
        (left, row, f"line {row:02} of column {at}")
        for row in rows
        for at, left in enumerate(lefts)
    ]


def column(at: int, rows: Iterable[int]) -> list[str]:
    return [f"line {row:02} of column {at}" for row in rows]


def read(lines: Iterable[tuple[float, float, str]]) -> list[str] | None:
    text = by_column(drawn(lines))
    return None if text is None else text.split("\n")


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
    assert read(sorted(lines)) is None
    assert read(across((50,), range(20))) is None
    assert read([(50, row, words) for row in range(9) for words in ("EGFR binds GRB2",)]) is None
    assert read(across((50, 320), range(4))) is None  # too few
    assert read([]) is None


def test_cells_of_a_table_are_left_alone() -> None:
    cells = [(50 + 90 * at, row, f"cell {at}") for row in range(30) for at in range(5)]
    assert read(cells) is None


def test_runs_of_text_say_whether_a_page_is_worth_a_closer_look() -> None:
    def boxes(lines: Iterable[tuple[float, float, str]]) -> list[GlyphBox]:
        return [
            GlyphBox(left, 700 - LEADING * row, left + WIDTH * len(words), 710 - LEADING * row)
            for left, row, words in lines
        ]

    lines = across((50, 320), range(20))
    assert may_be_across(boxes(lines))
    assert not may_be_across(boxes(sorted(lines)))
    assert not may_be_across([])
