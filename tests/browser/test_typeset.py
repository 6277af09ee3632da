"""An article's PDF, as three programs typeset it: its proteins still stand in one sentence."""

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from annotators.baselines.cooccurrence import pair_scores
from annotators.baselines.proteins import SHIPPED_NAMES, read_proteins
from annotators.matching import Dictionary
from metaserver.curation.pdf_child import text_of
from tests.conformance.foreign import CACHE, missing
from tests.fakes import typeset
from tests.tools import tool

LAYOUTS = [(1, False), (1, True), (2, False), (2, True)]


@cache
def names() -> Dictionary:
    return Dictionary(read_proteins(SHIPPED_NAMES))


def pairs(text: str) -> set[tuple[str, str]]:
    return set(pair_scores(text, names().find(text)))


def is_read(content: bytes) -> None:
    text, there = text_of(content, 1_000_000), pairs(typeset.plain())
    found = pairs(text)
    assert len(there) == 16
    assert len(found & there) >= 15
    assert found <= there
    lines = text.split("\n")
    assert lines[0] == typeset.TITLE
    assert not [line for line in lines if typeset.HEAD in line or line.startswith("Page ")]
    assert {"Introduction", "Results", "Methods"} <= {line.lstrip("1234567890 ") for line in lines}


@pytest.mark.slow
def test_a_browser(chromium: Browser) -> None:
    for columns, indented in LAYOUTS:
        page = chromium.new_page()
        page.set_content(typeset.html(columns, indented=indented))
        is_read(page.pdf(prefer_css_page_size=True))
        page.close()


@pytest.mark.nightly
def test_latex(tmp_path: Path) -> None:
    command = [tool("pdflatex"), "-interaction=batchmode", "a.tex"]
    for columns, indented in LAYOUTS:
        (tmp_path / "a.tex").write_text(typeset.latex(columns, indented=indented), "utf-8")
        subprocess.run(command, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
        is_read((tmp_path / "a.pdf").read_bytes())


@pytest.mark.nightly
def test_typst(tmp_path: Path) -> None:
    installed = CACHE / "python"
    if not (installed / "typst").is_dir():
        missing("Typst")
    code = "import sys, typst; typst.compile(sys.argv[1], output=sys.argv[2])"
    for columns, indented in LAYOUTS:
        (tmp_path / "a.typ").write_text(typeset.typst(columns, indented=indented), "utf-8")
        subprocess.run(
            [sys.executable, "-c", code, "a.typ", "a.pdf"],
            cwd=tmp_path,
            env={"PYTHONPATH": str(installed)},
            check=True,
        )
        is_read((tmp_path / "a.pdf").read_bytes())
