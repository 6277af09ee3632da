"""The notebooks run from their first cell to their last, and print what they are stored with."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.docs.notebooks import FOLDER, execute

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def printed(outputs: list[dict[str, Any]]) -> str:
    """Return what a cell printed; pictures differ from one matplotlib to the next."""
    return "".join(line for one in outputs for line in one.get("text", ()))


def kinds(outputs: list[dict[str, Any]]) -> list[list[str]]:
    return [sorted(one.get("data", ())) for one in outputs]


def test_there_is_a_notebook() -> None:
    assert [path.name for path in NOTEBOOKS] == ["evaluation.ipynb"]


@pytest.mark.nightly
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_runs_and_has_its_outputs(path: Path) -> None:
    notebook = json.loads(path.read_text())
    stored = [cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    found = execute(notebook)
    assert list(map(printed, found)) == list(map(printed, stored))
    assert list(map(kinds, found)) == list(map(kinds, stored))
    assert any("image/png" in kind for cell in found for output in kinds(cell) for kind in [output])
