"""Execution of the notebooks of docs/notebooks; `python -m tests.docs.notebooks` keeps outputs.

Only the format of notebooks and plain Python are needed: no kernel, so that CI installs none. A
cell's last expression is shown as Jupyter shows it: as PNG, HTML or text, whichever it can be.
"""

import ast
import base64
import contextlib
import io
import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"


def execute(notebook: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Return the outputs of each code cell, executed in order in one namespace."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [_outputs("".join(cell["source"]), cell["id"], namespace) for cell in cells]


def _outputs(source: str, name: str, namespace: dict[str, Any]) -> list[dict[str, Any]]:
    body = ast.parse(source, name).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), name, "exec"), namespace)
        value = None
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval"), namespace)
    outputs: list[dict[str, Any]] = []
    if text := printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(text)})
    if value is not None:
        shown = {"data": _shown(value), "metadata": {}, "output_type": "display_data"}
        outputs.append(shown)
    return outputs


def _shown(value: Any) -> dict[str, Any]:
    if hasattr(value, "_repr_png_"):
        return {"image/png": base64.b64encode(value._repr_png_()).decode()}
    if hasattr(value, "_repr_html_"):
        return {"text/html": _lines(value._repr_html_())}
    return {"text/plain": _lines(repr(value))}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main() -> None:
    """Execute every notebook and keep its outputs in it."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        notebook = json.loads(path.read_text())
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        for number, outputs in enumerate(execute(notebook)):
            cells[number] |= {"outputs": outputs, "execution_count": number + 1}
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
