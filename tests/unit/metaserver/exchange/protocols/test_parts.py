"""Parts of a text: they are the text, none is too long, and they end where a reader would stop."""

from hypothesis import given
from hypothesis import strategies as st

from metaserver.exchange.protocols.pubannotation import best, parts_of, pass_on, summed
from metaserver.exchange.wire.contract import Report


@given(st.text(alphabet="ab. \nü𝄞", max_size=200), st.integers(min_value=1, max_value=50))
def test_parts_are_the_text(text: str, most: int) -> None:
    parts = list(parts_of(text, most))
    assert "".join(part for _, part in parts) == text
    assert all(len(part) <= most for _, part in parts)
    assert all(text[begin : begin + len(part)] == part for begin, part in parts)
    assert len(parts) <= max(1, len(text))


def test_a_part_ends_with_a_paragraph_a_sentence_or_a_word() -> None:
    assert [part for _, part in parts_of("one two\nthree four", 12)] == ["one two\n", "three four"]
    assert [part for _, part in parts_of("One. Two three", 8)] == ["One. ", "Two ", "three"]
    assert [part for _, part in parts_of("abcdefgh", 3)] == ["abc", "def", "gh"]
    assert list(parts_of("as it is", 0)) == [(0, "as it is")]
    assert list(parts_of("", 10)) == [(0, "")]


def test_what_parts_declare_is_summed() -> None:
    one = {"tokens_in": 3, "cost": 0.5, "model": "a", "requests": True}
    other = {"tokens_in": 4, "cost": "x", "model": "b", "requests": 1}
    assert summed(one, other) == {"tokens_in": 7, "cost": "x", "model": "b", "requests": 1}
    assert summed(None, None) == {}


def test_an_article_is_relevant_if_a_part_is() -> None:
    assert best([(False, 0.9), None, (True, 0.2)]) == (True, 0.2)
    assert best([None, None]) is None


def test_notes_are_passed_on() -> None:
    notes, report = Report(), Report()
    notes.note("/a", "moved")
    pass_on(notes, report)
    assert [str(one) for one in report.problems] == ["/a: moved"]
