"""An article in parts: nothing is lost, nothing is too long."""

from hypothesis import given
from hypothesis import strategies as st

from annotators.llm.chunks import chunks, enclosed

TEXTS = st.text(alphabet="aB. \nα🧬", max_size=400)


@given(TEXTS, st.integers(20, 100))
def test_every_part_fits_and_nothing_is_lost(text: str, size: int) -> None:
    parts = chunks(text, size)
    assert all(len(part) <= size for part in parts)
    title = text.partition("\n")[0] + "\n"
    head = title if len(parts) > 1 and len(title) - 1 <= size // 2 else ""
    assert text.removeprefix(head) == "".join(part.removeprefix(head) for part in parts)


def test_parts_are_cut_between_paragraphs_then_between_sentences() -> None:
    text = "Title\nOne paragraph.\nAnother is longer. It has two sentences.\n"
    assert chunks(text, 30) == [
        "Title\nOne paragraph.\n", "Title\nAnother is longer. ", "Title\nIt has two sentences.\n",
    ]  # fmt: skip


def test_the_markers_are_not_in_the_text() -> None:
    text = "An article."
    for _ in range(3):
        inner = enclosed(text)
        first, last = inner.splitlines()[0], inner.splitlines()[-1]
        assert first == last
        assert first not in text
        text = inner
    assert enclosed(text) == enclosed(text)
