"""The pages are plain English: one sentence a line, without words that readers stumble over."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.language import odd_words, prose, sentences
from tests.shared import ROOT

GENERATED = ROOT / "docs" / "api.md"
"""Its words, and its lines below the introduction, are those of the operations' docstrings."""
TOP = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
PAGES = sorted([*TOP, *(ROOT / "docs").glob("*.md")])
RECORDS = sorted((ROOT / "docs" / "adr").glob("*.md"))


def names(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize(
    "path", [path for path in (*PAGES, *RECORDS) if path != GENERATED], ids=names
)
def test_a_page_has_no_odd_words(path: Path) -> None:
    found = {
        number: words
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
        if (words := odd_words(line))
    }
    assert not found


@pytest.mark.parametrize("path", [*PAGES, *RECORDS], ids=names)
def test_a_line_of_prose_is_one_sentence(path: Path) -> None:
    text = path.read_text("utf-8")
    lines = [*prose(text.partition("\n## ")[0] if path == GENERATED else text)]
    crowded = {line.number: line.text for line in lines if len(sentences(line.text)) > 1}
    assert not crowded
    wrapped = {line.number: line.text for line in lines if line.goes_on}
    assert not wrapped


PAGE = """\
# Title. Heading

One sentence. Another one.
It is wrapped
here, see Fig. 4 of M. Miller et al. The end.

- An item with `code. Code`.
  Its second line.
1. First. `second` is another.

**Context.** One. Two.

| a | b |
|---|---|
| One. Two. | |

```
Not prose. Not prose
```

    not prose. Not prose
"""


def flaws() -> Iterator[tuple[int, int, bool]]:
    for line in prose(PAGE):
        yield line.number, len(sentences(line.text)), line.goes_on


def test_flaws_are_found() -> None:
    assert [*flaws()] == [
        (3, 2, False),
        (4, 1, True),
        (5, 1, False),
        (7, 1, False),
        (8, 1, False),
        (9, 2, False),
        (11, 2, False),
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It tells the reader what is wanted.", ["tells", "wanted"]),
        ("It stands in; done by\thand, Anew.", ["stands in", "by\thand", "Anew"]),
        ("`--tell` and `rooms` are names.", []),
        ("A heading of two bedrooms, and its headers.", []),
        ("An answer's head is read.", ["answer's head"]),
    ],
)
def test_odd_words_are_found(text: str, found: list[str]) -> None:
    assert odd_words(text) == found
