"""Articles with marks: the text stays as it is, whatever it holds and wherever places are."""

import re
from html import unescape

from hypothesis import given
from hypothesis import strategies as st

from metaserver.curation.pages import marking
from metaserver.curation.pages.marking import MarkedPiece, MarkedPlace, paragraphs, shade, split

MARK = re.compile(r'<mark class="m a([1-5])" data-c="([^"]*)">([^<]*)</mark>')
TEXTS = st.text(alphabet='ab <>&"\n\r𝛼é', max_size=60)
PLACES = st.lists(
    st.builds(
        MarkedPlace, st.integers(-3, 70), st.integers(-3, 70),
        st.sampled_from(["P1", "Q2", 'x"><script>']),
    ),
    max_size=12,
)  # fmt: skip


def plain(html: str) -> str:
    return unescape(re.sub(r"<[^>]*>", "", html))


def test_overlapping_places_are_split_at_their_boundaries() -> None:
    places = [MarkedPlace(0, 12, "P1"), MarkedPlace(4, 8, "Q2"), MarkedPlace(10, 14, "Q2")]
    assert list(split(places, 20)) == [
        MarkedPiece(0, 4, ("P1",)), MarkedPiece(4, 8, ("P1", "Q2")), MarkedPiece(8, 10, ("P1",)),
        MarkedPiece(10, 12, ("P1", "Q2")), MarkedPiece(12, 14, ("Q2",)),
    ]  # fmt: skip


def test_a_place_may_go_over_the_end_of_a_line() -> None:
    text = "The EGF\nreceptor is here"
    first, second = paragraphs(text, [MarkedPlace(4, 16, "P1")], {"P1": 1.0})
    assert first == (0, 'The <mark class="m a5" data-c="P1">EGF</mark>')
    assert second == (8, '<mark class="m a5" data-c="P1">receptor</mark> is here')


def test_shades_are_of_the_largest_agreement() -> None:
    assert [shade(value) for value in (0.0, 0.1, 0.2, 0.21, 0.4, 0.6, 0.8, 0.81, 1.0)] == [
        1, 1, 1, 2, 2, 3, 4, 5, 5,
    ]  # fmt: skip
    [line] = paragraphs("ab", [MarkedPlace(0, 2, "P1"), MarkedPlace(0, 2, "Q2")], {"Q2": 0.6})
    assert MARK.findall(line.html) == [("3", "P1 Q2", "ab")]


@given(TEXTS, PLACES)
def test_the_text_stays_and_nothing_of_it_is_markup(text: str, places: list[MarkedPlace]) -> None:
    found = paragraphs(text, places, {"P1": 0.5})
    for at, html in found:
        line = plain(html)
        assert text[at : at + len(line)] == line
        assert "<" not in MARK.sub("", html)
        assert ">" not in MARK.sub("", html)
    lines = [line for line in text.split("\n") if line.strip()]
    assert [plain(html) for _, html in found] == lines


@given(PLACES)
def test_each_character_has_the_candidates_of_its_places(places: list[MarkedPlace]) -> None:
    named = {
        at: piece.accessions for piece in split(places, 60) for at in range(piece.start, piece.end)
    }
    for at in range(60):
        there = {one.accession for one in places if 0 <= one.start <= at < one.end <= 60}
        assert named.get(at, ()) == tuple(sorted(there))


def test_what_is_marked_is_bounded() -> None:
    many = [MarkedPlace(at, at + 1, "P1") for at in range(0, 2 * marking.MOST_PIECES + 10, 2)]
    assert len(list(split(many, 10**6))) == marking.MOST_PIECES
    assert list(split([MarkedPlace(0, marking.LONGEST + 1, "P1")], 10**6)) == []
    [piece] = split([MarkedPlace(0, 5, f"P{number:05}") for number in range(200)], 10)
    assert len(piece.accessions) == marking.MOST_NAMED
