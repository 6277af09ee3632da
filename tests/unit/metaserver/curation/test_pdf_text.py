"""Text of a PDF's pages: broken words, running heads, characters of typesetting."""

from collections.abc import Sequence

import pytest

from metaserver.curation.pdf_text import joined


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("phosphory\ufffelation", "phosphorylation"),
        ("phosphory\x02lation", "phosphorylation"),  # as older PDFium has it
        ("phosphory-\r\nlation", "phosphorylation"),
        ("phosphory\u00ad\r\nlation", "phosphorylation"),
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
        (" blanks  within \r\n\r\n and lines ", "blanks  within\nand lines"),
        ("", ""),
    ],
)
def test_characters_and_broken_words(page: str, text: str) -> None:
    assert joined([page]) == text


def test_a_word_is_joined_across_pages() -> None:
    assert joined(["the phosphory-", "lation of EGFR"]) == "the phosphorylation of EGFR"


def pages(heads: Sequence[str]) -> list[str]:
    """Return pages, each with a head and its number in the foot."""
    words = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")
    return [
        "\n".join((head, f"first of {word}", *([f"{word} stays"] * 5), f"end of {word}", f"{at}"))
        for at, (head, word) in enumerate(zip(heads, words, strict=True), 98)
    ]


@pytest.mark.parametrize("heads", [["J. Cell Sci. 99"] * 6, ["Grb2 and EGFR", "A. Author"] * 3])
def test_running_heads_and_feet_are_left_out(heads: list[str]) -> None:
    lines = joined(pages(heads)).split("\n")
    assert [line for line in lines if line in heads or line.isdigit()] == [heads[0], "98"]
    assert lines[0] == heads[0]  # of the first page, where it may be the title
    assert lines.count("gamma stays") == 5
    assert {"first of zeta", "end of zeta"} <= set(lines)


def test_heads_alone_are_no_text() -> None:
    assert joined(["Downloaded from a library", "", *["Downloaded from a library"] * 3]) == ""


def test_lines_that_repeat_within_pages_stay() -> None:
    pages = [
        "\n".join(("top" * at, "a", "b" * at, "EGFR binds GRB2.", "c" * at, "d", "e"))
        for at in range(1, 6)
    ]
    assert joined(pages).count("EGFR binds GRB2.") == 5
    assert joined(["Discussion", "Discussion"]).count("Discussion") == 2  # too few pages


def test_long_runs_take_no_long_time() -> None:
    run = "a" * 200_000
    assert joined([f"{run}\ufffe{run}"]) == run + run
    assert len(joined(["a\ufffe" * 100_000 + "b"])) >= 100_001
