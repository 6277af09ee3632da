"""Lines of an XML article's text: headings, paragraphs, captions and table rows, in order.

JATS (ANSI/NISO Z39.96) and publishers' DTDs structure articles similarly, and an element name means
the same wherever it occurs, so a single set of tables is used. Namespaces are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from lxml.etree import QName, _Element

_LEFT_OUT = frozenset(
    {
        "ref-list",
        "bibliography",
        "references",
        "bibl",
        "biblist",
        "data-citations",
        "contrib-group",
        "author-group",
        "author-info",
        "authgrp",
        "audecl",
        "biographies",
        "vita",
        "aff",
        "permissions",
        "object-id",
        "counts",
        "alt-text",
        "long-desc",
        "tex-math",
        "annotation",
        "annotation-xml",
        "annotations",
        "mathml",
        "image-alt",
        "linkgrp",
        "compound",
        "compoundgrp",
        "index-term",
        "indexterm",
        "listbibl",
        "authorgroup",
        "keywordgroup",
        "equationnumber",
    }
)
"""Names are in small letters: Springer's are not."""
_PARAGRAPHS = frozenset({"p", "para", "simple-para", "simplepara", "note-para"})
_LINES = _PARAGRAPHS | frozenset(
    {
        "title",
        "article-title",
        "subtitle",
        "section-title",
        "sectitle",
        "heading",
        "crosshd",
        "figtl",
        "schemetl",
        "listttl",
        "bxtitle",
        "stndfrst",
        "sec",
        "section",
        "caption",
        "legend",
        "credit",
        "list",
        "ordered-list",
        "itemized-list",
        "definition-list",
        "list-item",
        "li",
        "item",
        "def-item",
        "term",
        "def",
        "def-term",
        "def-description",
        "attrib",
        "disp-quote",
        "displayed-quote",
        "verse-line",
        "table-wrap-foot",
        "tfoot",
        "head",  # TEI's
        "figdesc",
        "abstract",
        *(f"section{level}" for level in range(1, 7)),  # Springer's
        "captioncontent",
        "unorderedlist",
        "orderedlist",
        "definitionlist",
        "listitem",
        "itemcontent",
    }
)
_LABELS = frozenset({"label", "no", "captionnumber", "itemnumber"})
# Elements that have their label as an attribute.
_LABELLED = frozenset({"caption", *(f"sec-level{level}" for level in range(1, 6))})
# An element that interrupts a sentence is moved to the end of its paragraph.
_FLOATS = frozenset(
    {
        "fig",
        "figure",
        "fig-group",
        "table-wrap",
        "table",
        "table-entry",
        "scheme",
        "chart",
        "plate",
        "boxed-text",
        "textbox",
        "fn",
        "footnote",
        "table-footnote",
        "supplementary-material",
        "e-component",
        "note",  # TEI's
    }
)
_ROWS = frozenset({"tr", "row"})
_SPACED = frozenset(
    {
        "break",
        "br",
        "hr",
        "hsp",
        "vsp",
        "newline",
        "topic",
        "linebreak",
        "lb",
        "display",
    }
)
_DISPLAYED = frozenset({"disp-formula", "display-eqn", "equation", "fd", "formula"})
_FORMULAS = _DISPLAYED | {"inline-formula", "inline-eqn", "inlineequation"}
_IMAGES = frozenset({"inline-graphic", "inline-figure", "inlinemediaobject"})
FORMULA, IMAGE = "[formula]", "[image]"
"""The marks of a formula without text, as an image or in TeX alone, and of an image in a line."""
_SUPERSCRIPTS = frozenset({"sup", "super", "superscript"})

_BLANKS = " \t\r\n"
_BLANK = re.compile(r"[ \t\r\n]+")  # XML white space; a no-break or thin space is text
_WORD = re.compile(r"\w")


def text_lines(element: _Element) -> list[str]:
    """Return the lines of an element's text; no line is empty or has blanks at its ends."""
    page = _Page()
    page.add(element)
    page.end_line()
    return page.lines


def one_line(element: _Element | None) -> str:
    """Return an element's text on one line; "" for None."""
    return "" if element is None else " ".join(text_lines(element))


def local_name(element: _Element) -> str:
    """Return an element's name without its namespace."""
    return QName(element).localname


def line_of(element: _Element) -> int | None:
    """Return the line in the file on which an element begins."""
    return cast("int | None", element.sourceline)  # the stubs do not know its type


class _Page:
    """The lines written so far, and the open line."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._open: list[str] = []
        self._label = ""  # "Figure 1", put before the text that follows it
        self._floats: list[_Element] = []  # written at the end of the paragraph
        self._paragraphs = 0  # the depth of nested paragraphs

    def add(self, element: _Element) -> None:
        name = _name(element)
        if name in _LEFT_OUT or _is_source(element) or _is_raised_citation(element):
            return
        if name == "math":
            self._write(_math(element))
        elif name in _FORMULAS:
            self._add_formula(element, " " if name in _DISPLAYED else "")
        elif name in _IMAGES:
            self._write(IMAGE)
        elif name in _FLOATS and self._paragraphs:
            self._floats.append(element)
        elif name in _ROWS:
            self._add_row(element)
        elif name in _PARAGRAPHS:
            self._add_paragraph(element)
        elif name in _LINES or name in _FLOATS:
            self.end_line()
            self._add_content(element)
            self.end_line()
        elif name in _SPACED:
            self._open.append(" ")
            self._add_content(element)
            self._open.append(" ")
        else:
            self._add_content(element)

    def end_line(self) -> None:
        line = _BLANK.sub(" ", "".join(self._open)).strip(" ")
        self._open.clear()
        if line:
            self.lines.append(line)

    def _add_content(self, element: _Element) -> None:
        labelled = False
        if _name(element) in _LABELLED and (label := element.get("label")):
            self._label, labelled = label, True
        self._write(element.text)
        for child in element:
            if _name(child) in _LABELS:
                self._label, labelled = one_line(child), True
            else:
                self.add(child)
            self._write(child.tail)
        if labelled:
            self._label = ""  # a label without text after it is dropped

    def _add_formula(self, formula: _Element, blank: str) -> None:
        """Write a formula's text; a formula without text, as an image, leaves a mark."""
        page = _Page()
        page._add_content(formula)
        page.end_line()
        text = " ".join(line for line in page.lines if line != IMAGE)
        self._write(f"{blank}{text or FORMULA}{blank}")

    def _add_paragraph(self, paragraph: _Element) -> None:
        self.end_line()
        self._paragraphs += 1
        self._add_content(paragraph)
        self._paragraphs -= 1
        self.end_line()
        if not self._paragraphs:
            floats, self._floats = self._floats, []
            for element in floats:
                self.add(element)

    def _add_row(self, row: _Element) -> None:
        """Write a table row on one line, its cells separated by tabs (as in PMC's BioC texts)."""
        self.end_line()
        cells = [one_line(cell) for cell in row]
        if any(cells):
            self.lines.append("\t".join(cells).rstrip("\t"))

    def _write(self, text: str | None) -> None:
        if text is None:
            return
        if self._label and text.strip():
            self._open.append(f"{self._label} ")
            self._label = ""
        self._open.append(text)


def _name(element: _Element) -> str:
    return local_name(element).lower()


def _is_source(element: _Element) -> bool:
    """Return whether an element is a formula in TeX, beside its MathML (Springer's)."""
    return _name(element) == "equationsource" and element.get("Format") != "MATHML"


def _math(math: _Element) -> str:
    """Return the text of MathML without the blanks between its elements.

    Sources of it in another language, and descriptions, are no text.
    """
    parts: list[str] = []
    stack = [math]
    while stack:
        element = stack.pop()
        if _name(element) not in _LEFT_OUT:
            parts.append((element.text or "").strip(_BLANKS))
            stack.extend(reversed(element))
    return "".join(parts)


def _is_raised_citation(element: _Element) -> bool:
    """Return whether an element is a superscript that only cites references.

    "p53<sup>12</sup>" must not become "p5312"; "p53 [12]" is kept as printed.
    """
    if _name(element) == "citref":  # of the RSC's: raised, if it does not say otherwise
        return element.get("position") != "baseline"
    if _is_superscript(element):
        raised = len(element) > 0 and all(map(_is_citation, element))
    else:
        raised = _is_citation(element) and len(element) > 0 and all(map(_is_superscript, element))
    return raised and not any(_WORD.search(text) for text in _own_text(element))


def _own_text(element: _Element) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        yield child.tail or ""


def _is_superscript(element: _Element) -> bool:
    if _name(element) == "hi":  # TEI's
        return element.get("rend") in ("sup", "superscript")
    return _name(element) in _SUPERSCRIPTS


def _is_citation(element: _Element) -> bool:
    """Return whether an element cites a reference.

    JATS marks it `ref-type="bibr"`; Elsevier's reference ids begin with b (bib1, bb0005).
    Elsewhere, the name says it.
    """
    match _name(element):
        case "ref":  # TEI's
            return element.get("type") == "bibr"
        case "xref":
            return element.get("ref-type") == "bibr"
        case "cross-ref" | "cross-refs":
            return (element.get("refid") or "").startswith("b")
        case "cite" | "bibrinl" | "citationref":
            return True
    return False
