"""Pages and docstrings are without words that readers stumble over."""

import re

import pytest

from tests.shared import ROOT

ODD = re.compile(
    r"\b(?:told|tells?|telling|wanted|anew|afresh|whence|led\s+on|made\s+of|stands?\s+in|by\s+hand"
    r"|(?<!control.)rooms?|the\s+head|(?:answer's|request's|response's|HTTP)\s+heads?)\b",
    re.IGNORECASE,
)
CODE = re.compile(r"(`+).+?\1")
DOCSTRING = re.compile(r'^\s*"""(.*?)"""', re.MULTILINE | re.DOTALL)
PAGES = [*ROOT.glob("[RS]*.md"), ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]


def odd_words(text: str) -> list[str]:
    """Return the words of a text, code spans aside, that its readers stumble over."""
    return ODD.findall(CODE.sub("`Code`", text))


def docstrings(source: str) -> list[str]:
    """Return the texts of docstrings: of modules, classes, functions and values."""
    return [text.strip() for text in DOCSTRING.findall(source)]


def test_no_page_has_odd_words() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{number}": words
        for path in PAGES
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
        if (words := odd_words(line))
    }
    assert found == {}


@pytest.mark.parametrize("package", ["metaserver", "scoring", "annotators"])
def test_no_docstring_has_odd_words(package: str) -> None:
    texts = [
        (path, text)
        for path in (ROOT / package).rglob("*.py")
        for text in docstrings(path.read_text("utf-8"))
    ]
    assert len(texts) > 100
    assert [(path, text) for path, text in texts if odd_words(text)] == []


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
