"""Text of a PDF's paragraphs: broken words, characters of typesetting."""

import pytest

from metaserver.curation.pdf_text import joined


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("phosphory\ufffelation", "phosphorylation"),
        ("phosphory\x02lation", "phosphorylation"),  # as older PDFium has it
        ("phosphory-\nlation", "phosphorylation"),
        ("phosphory\u00ad\nlation", "phosphorylation"),
        ("phosphory\ufffe\nlation", "phosphorylation"),
        ("beta-\ncatenin and DNA-\nbinding", "beta-catenin and DNA-binding"),
        ("serum-\nstarved: of serum, starved", "serum-starved: of serum, starved"),
        ("TNF\ufffealpha and IL\ufffe2", "TNF-alpha and IL-2"),
        ("EGF\ufffereceptor", "EGF-receptor"),
        ("Inter\ufffeaction", "Interaction"),
        ("kinase\ufffedead, not kinase-dead", "kinase-dead, not kinase-dead"),
        ("GST\ufffeGRB2 and GSTGRB2", "GSTGRB2 and GSTGRB2"),  # as it stands elsewhere
        ("up\ufffeto\ufffedate, up-to", "up-todate, up-to"),
        ("a \ufffe b\ufffe", "a - b-"),
        ("\ufb01nd e\ufb03cient soft\u00adware", "find efficient software"),
        ("nul\x00 tab\there\x1f", "nul tab here"),
        ("α-actinin binds 5′-UTR", "α-actinin binds 5′-UTR"),
        ("blanks  within\nand lines", "blanks within and lines"),
        ("", ""),
    ],
)
def test_characters_and_broken_words(lines: str, text: str) -> None:
    assert joined([lines.split("\n")]) == text


def test_paragraphs_are_lines_of_their_own() -> None:
    assert joined([["A title"], ["of phosphory-", "lation."]]) == "A title\nof phosphorylation."
    assert joined([]) == ""


def test_long_runs_take_no_long_time() -> None:
    run = "a" * 200_000
    assert joined([[f"{run}\ufffe{run}"]]) == run + run
    assert len(joined([["a\ufffe" * 100_000 + "b"]])) >= 100_001
