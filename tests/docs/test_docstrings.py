"""Docstrings begin with a verb or a noun, in plain words; a class name means one thing."""

import ast
from collections import defaultdict
from collections.abc import Iterator

import pytest

from tests.docs.language import odd_words
from tests.shared import ROOT

PACKAGES = ("metaserver", "scoring", "annotators")
CLAUSES = {"How", "What", "When", "Where", "Whether", "Which", "Who", "Whose", "Why"}
"""Words that begin a noun clause: a function's docstring begins with a verb, others with a noun."""


def trees(package: str) -> Iterator[tuple[str, ast.Module]]:
    for path in sorted((ROOT / package).rglob("*.py")):
        yield str(path.relative_to(ROOT)), ast.parse(path.read_text("utf-8"))


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each docstring: of modules, classes, functions and values."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, text.strip()


@pytest.mark.parametrize("package", PACKAGES)
def test_no_docstring_begins_with_a_clause(package: str) -> None:
    found = [
        f"{path}:{line}: {text.splitlines()[0]}"
        for path, tree in trees(package)
        for line, text in docstrings(tree)
        if text.split(maxsplit=1)[:1] and text.split(maxsplit=1)[0] in CLAUSES
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_docstring_has_odd_words(package: str) -> None:
    found = [
        f"{path}:{line}: {', '.join(words)}"
        for path, tree in trees(package)
        for line, text in docstrings(tree)
        if (words := odd_words(text))
    ]
    assert not found, "\n".join(found)


def test_the_reference_has_no_odd_words() -> None:
    """The words of docs/api.md are those of the operations, their fields and results."""
    found = {
        number: words
        for number, line in enumerate((ROOT / "docs" / "api.md").read_text().splitlines(), start=1)
        if (words := odd_words(line))
    }
    assert not found


def test_a_class_name_means_one_thing() -> None:
    places = defaultdict(list)
    for package in PACKAGES:
        for path, tree in trees(package):
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places[node.name].append(f"{path}:{node.lineno}")
    assert not {name: found for name, found in places.items() if len(found) > 1}


def test_docstrings_are_found() -> None:
    source = '"""A module."""\nclass A:\n    """A class."""\n    b = 1\n    """Its value."""\n'
    assert [*docstrings(ast.parse(source))] == [
        (1, "A module."),
        (3, "A class."),
        (5, "Its value."),
    ]
