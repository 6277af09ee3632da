"""The evaluator needs no library but numpy and scipy (ADR 88)."""

import ast
import sys
from pathlib import Path

import scoring

REQUIRED = {"numpy", "scipy"}
OPTIONAL = {"matplotlib", "pandas", "plotly"}
"""Drawn with, or given as a frame, if they are installed: imported inside functions alone."""


def imported(tree: ast.Module, *, at_the_top: bool) -> set[str]:
    """Return the packages that a module imports, all or at its top level alone."""
    names: set[str] = set()
    for node in tree.body if at_the_top else ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names - sys.stdlib_module_names - {"scoring"}


def test_evaluator_imports_numpy_and_scipy_alone() -> None:
    trees = [ast.parse(path.read_text()) for path in Path(scoring.__path__[0]).rglob("*.py")]
    assert len(trees) > 80
    assert set().union(*(imported(tree, at_the_top=True) for tree in trees)) <= REQUIRED
    everywhere = set().union(*(imported(tree, at_the_top=False) for tree in trees))
    assert everywhere == REQUIRED | OPTIONAL
