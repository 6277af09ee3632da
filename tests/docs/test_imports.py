"""The packages of the hub import what their docstrings say that they may import, and all of it.

A docstring says "It may import A, B and C." or "... A and all below.": A, and each package in a
lower layer of the contract in pyproject.toml; or "It may import nothing of the hub."
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.shared import ROOT

HUB = ROOT / "metaserver"
OTHERS = ("scoring", "annotators")
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
[LAYERS] = [
    [set(layer.split(" | ")) for layer in contract["layers"]]
    for contract in CONTRACTS["contracts"]
    if contract["type"] == "layers"
]
PACKAGES = sorted(set().union(*LAYERS))
SENTENCE = re.compile(r"\bIt may import (.+?)\.(?=\s|$)")
BELOW, NOTHING = "all below", "nothing of the hub"


@dataclass(frozen=True, kw_only=True)
class MayImport:
    """The packages that a docstring names, and whether it allows those of lower layers."""

    named: Sequence[str]
    below: bool

    @classmethod
    def read(cls, docstring: str) -> MayImport:
        """Read the one sentence on imports; `AssertionError` where there is none."""
        found = SENTENCE.findall(" ".join(docstring.split()))
        assert len(found) == 1, "expected one sentence 'It may import ...'"
        words = re.split(r", | and ", re.sub(r" \(.*?\)", "", found[0]))
        named = [word for word in words if word not in (BELOW, NOTHING)]
        assert not (NOTHING in words and named)
        return cls(named=named, below=BELOW in words)

    def lower(self) -> set[str]:
        """Return the packages in layers below the named ones."""
        if not self.below:
            return set()
        last = max(layer for layer, names in enumerate(LAYERS) if names & {*self.named})
        return set().union(*LAYERS[last + 1 :])


def files(package: str) -> Sequence[Path]:
    """Return the modules of a package, its `__init__` first; or the one module."""
    folder = HUB / package
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]


def names_of(node: ast.AST) -> Iterator[str]:
    """Yield the dotted names that a statement imports from, relative ones excluded."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module == HUB.name:
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield node.module


def imported(package: str) -> set[str]:
    """Return the packages of the project that a package imports, in functions too."""
    found = set()
    for path in files(package):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            for name in names_of(node):
                top, _, rest = name.partition(".")
                if top in OTHERS:
                    found.add(top)
                elif top == HUB.name:
                    found.add(rest.partition(".")[0])
    return found - {package}


def test_the_packages_are_those_of_the_contract() -> None:
    assert "web" in PACKAGES
    assert [name for name in PACKAGES if not files(name)] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_a_docstring_says_what_its_package_imports(package: str) -> None:
    docstring = ast.get_docstring(ast.parse(files(package)[0].read_text("utf-8")))
    may = MayImport.read(docstring or "")
    real = imported(package)
    unknown = {*may.named} - {*PACKAGES, *OTHERS}
    assert not unknown, "no packages of the project"
    assert real <= {*may.named} | may.lower(), "imported, and not said"
    assert {*may.named} <= real, "said, and not imported"


@pytest.mark.parametrize(
    ("docstring", "named", "below"),
    [
        ("Values. It may import nothing of the hub.", [], False),
        ("Boards. It may\nimport store, tasks and all below. More.", ["store", "tasks"], True),
        ("Tasks. It may import wire, files and scoring (it).", ["wire", "files", "scoring"], False),
    ],
)
def test_sentences_are_read(docstring: str, named: Sequence[str], below: bool) -> None:
    assert MayImport.read(docstring) == MayImport(named=named, below=below)


@pytest.mark.parametrize("docstring", ["", "It imports store.", "It may import nothing much"])
def test_a_docstring_without_the_sentence_is_found(docstring: str) -> None:
    with pytest.raises(AssertionError, match="expected one sentence"):
        MayImport.read(docstring)


def test_all_below_is_what_the_contract_has_below() -> None:
    assert MayImport(named=["wire"], below=False).lower() == set()
    lower = MayImport(named=["store", "tasks"], below=True).lower()
    assert {"wire", "model"} <= lower
    assert not lower & {"store", "tasks", "client", "cli"}


def test_imports_are_found() -> None:
    tree = ast.parse(
        "import metaserver.store.tables\n"
        "from metaserver import concurrency\n"
        "from metaserver.wire.values import Value\n"
        "from . import near\n"
        "def later():\n    from scoring import Run\n"
    )
    found = [name for node in ast.walk(tree) for name in names_of(node)]
    assert sorted(found) == [
        "metaserver.concurrency", "metaserver.store.tables", "metaserver.wire.values", "scoring",
    ]  # fmt: skip
