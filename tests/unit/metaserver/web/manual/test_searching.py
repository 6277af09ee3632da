"""Search in the documentation."""

from metaserver.web.manual.library import library, split
from metaserver.web.manual.pages import MOST_MATCHES, Search

PAGE = """# Gold

Gold is what runs are scored against.

## Versions

A new file is a version.

```
# gold in code
```

## Preview

Shows who moves, before the gold counts.
"""
SEARCH = Search(
    [
        *split("/docs/adr/0001-gold", "# Gold preview\n\nx\n"),
        *split("/docs/CHANGELOG", "# Changes\n\n## Gold\n\ngold gold\n"),
        *split("/docs/gold", PAGE),
    ]
)


def found(query: str) -> list[str]:
    return [one.section.url for one in SEARCH.find(query)]


def test_a_section_has_all_words_in_any_case() -> None:
    assert found("preview GOLD") == ["/docs/gold#preview", "/docs/adr/0001-gold"]
    assert found("code") == ["/docs/gold#versions"]


def test_headings_come_before_texts_and_decisions_last() -> None:
    assert found("gold")[0] == "/docs/gold"
    assert set(found("gold")[-2:]) == {"/docs/adr/0001-gold", "/docs/CHANGELOG#gold"}


def test_nothing_is_found_for_no_word_and_for_one_that_is_nowhere() -> None:
    assert found("") == found("   ") == found("absent") == found("gold absent") == []


def test_a_passage_has_the_words_at_odd_places() -> None:
    [one] = SEARCH.find("moves")
    assert one.parts[1] == "moves"
    assert "".join(one.parts) == "Shows who moves, before the gold counts."


def test_a_passage_begins_and_ends_at_words() -> None:
    [one] = Search(split("/docs/x", f"# X\n\n{'before ' * 40}needle {'after ' * 40}")).find(
        "needle"
    )
    assert set("".join(one.parts).split()) == {"before", "needle", "after"}


def test_letters_that_fold_to_two_do_not_shift_the_passage() -> None:
    [one] = Search(split("/docs/x", "# X\n\nStraße, and a word\n")).find("word")
    assert "".join(one.parts) == "Straße, and a word"


def test_the_documentation_itself_is_searched() -> None:
    search = Search(library().sections())
    assert search.find("timeout")[0].section.text
    assert len(search.find("a")) == MOST_MATCHES
