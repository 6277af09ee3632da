"""Paragraphs of lines with places: where they end and go on, heads, notes, captions, the title."""

from collections.abc import Sequence

import pytest

from metaserver.curation.pdf_columns import LinePiece, lines_of
from metaserver.curation.pdf_glyphs import GlyphRun, Type
from metaserver.curation.pdf_paragraphs import paragraphs

WIDTH = 5.0
TOP, RIGHT, SMALL = 700.0, 300.0, 8.0
FIRST = ["We show that EGFR binds its adaptor in", "living cells, and that its rest is needed"]
LAST = ["for that of other proteins, as had been", "assumed."]
NOTE = ["1 A gift of a laboratory in the same", "town."]


def piece(text: str, base: float, *, left: float = 50.0, size: float = 10.0) -> LinePiece:
    """Return a line of words; what is not of the usual size is as wide."""
    runs, at = [], left
    for word in text.split():
        end = at + WIDTH * len(word)
        runs.append(GlyphRun(word, at, end, Type(base, size, blank=" ")))
        at = end + WIDTH / 2
    (line,) = lines_of(runs)
    return line


def lines(
    texts: Sequence[str], top: float = TOP, *, left: float = 50.0, size: float = 10.0
) -> list[LinePiece]:
    """Return lines below each other; one that begins with a blank is indented."""
    return [
        piece(text, top - 1.2 * size * at, left=left + (12 if text[0] == " " else 0), size=size)
        for at, text in enumerate(texts)
    ]


def read(*pages: Sequence[LinePiece]) -> list[str]:
    return [" ".join(each) for each in paragraphs(pages)]


WHOLE = " ".join((*FIRST, *LAST))


@pytest.mark.parametrize(
    ("texts", "count"),
    [
        ([*FIRST, *LAST], 1),
        ([*FIRST, *LAST, *FIRST, *LAST], 2),  # the first has room at its end
        ([*FIRST, f"{LAST[0]} ends.", " " + FIRST[0], *FIRST[1:], *LAST], 2),  # by its indent
        (["1. An item that goes on for one line", "   and more of it.", "2. Another."], 2),
        (["Bait", "Prey", "A name that is longer than others"], 3),
        (["The kinase that was found was that", "GRB2 of which we wrote before."], 1),
    ],
    ids=["one", "room", "indent", "items", "short lines", "a name at a line's begin"],
)
def test_lines_are_joined_to_paragraphs(texts: list[str], count: int) -> None:
    assert len(read(lines(texts))) == count


def test_distance_and_size_divide() -> None:
    below = lines(LAST, TOP - 24 - 30)
    assert read(
        [*lines(["A heading"], size=12), *lines(FIRST, TOP - 20), *lines(NOTE, 600, size=SMALL)]
    ) == [
        "A heading",
        " ".join(FIRST),
        " ".join(NOTE),
    ]
    assert read([*lines(["One sentence that is here alone."]), *below])[1] == " ".join(LAST)


@pytest.mark.parametrize(
    "between",
    [
        [],
        lines(NOTE, 100, size=SMALL),
        lines(["Figure 2. A caption in the body's type that", "goes on."], TOP, left=350),
    ],
    ids=["nothing", "a note", "a caption"],
)
def test_a_paragraph_goes_on_in_the_next_column(between: list[LinePiece]) -> None:
    last = lines(LAST, 650, left=350)
    found = read([*lines(FIRST), *between, *last])
    assert found[0] == WHOLE
    assert read([*lines(FIRST), *between], lines(LAST))[0] == WHOLE
    assert sum(len(each.split()) for each in found[1:]) == sum(
        len(line.text.split()) for line in between
    )


def test_what_ends_or_begins_a_paragraph_does_not_go_on() -> None:
    assert len(read(lines([*FIRST, "it ends here."]), lines(LAST))) == 2
    other = ["Other words begin here, as they do at", "times."]
    assert len(read(lines([*FIRST, "short"]), lines(other))) == 2
    assert len(read(lines(FIRST), lines([" " + other[0], other[1]]))) == 2


def page(number: int, head: str, title: Sequence[str] = ()) -> list[LinePiece]:
    words = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")[number - 1]
    return [
        piece(head, 750),
        *lines(title, 730, size=16),
        *lines([f"The {words} is one of those that we", "named."]),
        *lines([f"And {words} comes again at the end of", "it."], 300),
        piece(f"Page {number} of 6", 40),
    ]


@pytest.mark.parametrize("count", [2, 6])
@pytest.mark.parametrize("heads", [["J. Cell Sci. 99"], ["GRB2 and EGFR", "A. Author"]])
def test_running_heads_and_numbers_of_pages_are_left_out(heads: list[str], count: int) -> None:
    pages = [page(number, heads[number % len(heads)]) for number in range(1, count + 1)]
    text = "\n".join(read(*pages))
    assert "Page" not in text
    assert text.count("comes again") == count
    if count > 2 or len(heads) == 1:
        assert not any(head in text for head in heads)


def test_the_title_comes_first_and_a_head_like_it_is_none() -> None:
    title = "GRB2 binds the receptor"
    pages = [page(1, "A journal", [title]), *(page(number, title) for number in range(2, 6))]
    found = read(*pages)
    assert found[:2] == [title, "A journal"]
    assert found.count(title) == 1


def test_heads_alone_are_no_paragraphs() -> None:
    assert read(*([piece("Downloaded from a library", 750)] for _ in range(4))) == []
    assert read([], []) == []


def test_lines_that_repeat_within_pages_stay() -> None:
    texts = [*FIRST, *LAST, *FIRST, "EGFR binds GRB2.", *FIRST, *LAST]
    pages = [lines(texts, TOP - 9 * number) for number in range(2)]
    assert "\n".join(read(*pages)).count("EGFR binds GRB2.") == 2
