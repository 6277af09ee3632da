"""What PDFium says of the glyphs of a page: words, with their places and the size of their type."""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import byref, c_double
from math import hypot
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from pypdfium2 import PdfTextPage

RAISED = 0.15
"""How far above the line's base a raised glyph begins, in sizes of its type."""
JUMP = 2.0
"""The step between glyphs, in sizes of the type, that is none within a word."""
_TEX_LIGATURES = {
    **dict(zip((0x0B, 0x0C, 0x0E, 0x0F), ("ff", "fi", "ffi", "ffl"), strict=True)),
    **dict(zip(range(0x1B, 0x20), ("ff", "fi", "fl", "ffi", "ffl"), strict=True)),
}
"""Places of TeX's encodings OT1 and T1, which are all that its bitmap fonts say of a letter."""


class Type(NamedTuple):
    """What the glyphs of a run have in common; lengths are in points.

    `size` is below 0 if they are not drawn upright. `raised`: numbers that their font draws above
    the line. `blank` is what PDFium has before them: nothing, a blank or a line's end, which it
    also has before and after what is raised.
    """

    base: float
    size: float
    raised: bool = False
    blank: str = ""


class GlyphRun(NamedTuple):
    """A word, or a part of one, that is drawn on one base line."""

    text: str
    left: float
    right: float
    type: Type


class _Glyphs:
    """The glyphs of a page, by their places in the order in which they are drawn."""

    def __init__(self, page: PdfTextPage) -> None:
        from pypdfium2 import raw

        self._raw: Final = raw
        self._page: Final = page.raw
        self._matrix: Final = raw.FS_MATRIX()
        self._numbers: Final = [c_double() for _ in range(4)]
        self._references: Final = [byref(number) for number in self._numbers]

    def text(self, place: int) -> str:
        code = self._raw.FPDFText_GetUnicode(self._page, place)
        return _TEX_LIGATURES.get(code) or chr(code)

    def origin(self, place: int) -> tuple[float, float]:
        x, base = self._numbers[:2]
        self._raw.FPDFText_GetCharOrigin(self._page, place, *self._references[:2])
        return x.value, base.value

    def box(self, place: int) -> tuple[float, float, float]:
        """Return its left, right and bottom."""
        left_edge, right, bottom, _ = self._numbers
        self._raw.FPDFText_GetCharBox(self._page, place, *self._references)
        return left_edge.value, right.value, bottom.value

    def size(self, place: int) -> float:
        matrix = self._matrix
        self._raw.FPDFText_GetMatrix(self._page, place, byref(matrix))
        in_font = self._raw.FPDFText_GetFontSize(self._page, place)
        size: float = max(in_font * hypot(matrix.c, matrix.d), 1.0)
        return -size if abs(matrix.b) > abs(matrix.a) / 4 else size

    def run(self, letters: list[str], last: int, type_: Type) -> GlyphRun:
        """Return the run of so many glyphs that ends at a place."""
        first_left, first_right, _ = self.box(last - len(letters) + 1)
        last_left, last_right, _ = self.box(last)
        left_edge, right = min(first_left, last_left), max(first_right, last_right)
        text = "".join(letters)
        if not text.isascii():  # PDFium has letters beyond U+FFFF as two
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return GlyphRun(text, left_edge, right, type_)


def glyph_runs(page: PdfTextPage) -> Iterator[GlyphRun]:
    """Yield what is drawn on a page, in the order of drawing."""
    glyphs = _Glyphs(page)
    letters: list[str] = []
    type_ = Type(0.0, 0.0)
    x, blank = 0.0, ""
    for place in range(page.count_chars()):
        text = glyphs.text(place)
        if text.isspace():
            if letters:
                yield glyphs.run(letters, place - 1, type_)
                letters, blank = [], ""
            blank = "\n" if text == "\n" else blank or " "
            continue
        x_before = x
        x, base = glyphs.origin(place)
        goes_on = base == type_.base and 0 <= x - x_before < JUMP * abs(type_.size)
        size = type_.size if goes_on else glyphs.size(place)
        raised = text.isdecimal() and glyphs.box(place)[2] > base + RAISED * size > base
        if letters and not (goes_on and raised == type_.raised):
            yield glyphs.run(letters, place - 1, type_)
            letters, blank = [], ""
        if not letters:
            type_ = Type(base, size, raised, blank)
        letters.append(text)
    if letters:
        yield glyphs.run(letters, place, type_)
