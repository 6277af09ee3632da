"""PDFs, written by hand: pages of lines, and what a hostile peer makes of the format."""

import zlib
from collections.abc import Sequence

PAGE = (
    b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents %d 0 R"
    b"/Resources<</Font<</F 3 0 R>>>>>>"
)
FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"
CATALOG = b"<</Type/Catalog/Pages 2 0 R>>"


def pdf(pages: Sequence[Sequence[str]]) -> bytes:
    """Return a PDF with the lines of each page, in one column."""
    return _of_contents([_lines(page) for page in pages])


def journal(pages: Sequence[tuple[str, Sequence[str], Sequence[str]]], *, across: bool) -> bytes:
    """Return a PDF whose pages have a running head and two columns.

    The columns are drawn one after the other, or line by line `across` both.
    """
    contents = []
    for head, *columns in pages:
        lines = [
            (50 + 270 * side, 700 - 12 * at, line)
            for side, column in enumerate(columns)
            for at, line in enumerate(column)
        ]
        if across:
            lines.sort(key=lambda line: (-line[1], line[0]))
        contents.append(stream(_at(50, 770, head) + b"".join(_at(*line) for line in lines)))
    return _of_contents(contents)


def image_alone() -> bytes:
    """Return a PDF of one page with a picture, and no text."""
    picture = b"q 200 0 0 200 50 500 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x7f EI Q"
    return _of_contents([stream(picture)])


def meaning(text: str) -> bytes:
    """Return a PDF with the letter "a" in a font that says that it stands for another text."""
    code = text.encode("utf-16-be").hex().encode()
    table = stream(
        b"begincmap 1 begincodespacerange <00> <ff> endcodespacerange"
        b" 1 beginbfchar <61> <%s> endbfchar endcmap" % code
    )
    tree = b"<</Type/Pages/Count 1/Kids[4 0 R]>>"
    font = FONT.removesuffix(b">>") + b"/ToUnicode 6 0 R>>"
    content = stream(b"BT /F 10 Tf 50 700 Td (TNF-a) Tj ET")
    return written([CATALOG, tree, font, PAGE % 5, content, table])


def unpacking_to(size: int) -> bytes:
    """Return a PDF whose page has a content that unpacks to so many bytes."""
    packed = zlib.compress(b"BT /F 1 Tf (a) Tj ET\n" * (size // 21), 9)
    return _of_contents([stream(packed, b"/Filter/FlateDecode")])


def counting(pages: int) -> bytes:
    """Return a PDF of which one page is told to be so many."""
    kids = b" ".join([b"4 0 R"] * pages)
    tree = b"<</Type/Pages/Count %d/Kids[%s]>>" % (pages, kids)
    return written([CATALOG, tree, FONT, PAGE % 5, stream(b"BT /F 9 Tf (one) Tj ET")])


def circular() -> bytes:
    """Return a PDF whose tree of pages has itself as a child."""
    tree = b"<</Type/Pages/Count 9/Kids[2 0 R 2 0 R 2 0 R]>>"
    return written([CATALOG, tree, FONT])


def nested(depth: int) -> bytes:
    """Return a PDF whose catalog has arrays in arrays."""
    deep = b"<</Type/Catalog/Pages 2 0 R/Deep %s%s>>" % (b"[" * depth, b"]" * depth)
    tree = b"<</Type/Pages/Count 1/Kids[4 0 R]>>"
    return written([deep, tree, FONT, PAGE % 5, stream(b"BT /F 9 Tf (deep) Tj ET")])


def locked() -> bytes:
    """Return a PDF that opens with a password alone: its digests are of none that is empty."""
    entry = b"<</Filter/Standard/V 1/R 2/P -4/O<%s>/U<%s>>>" % (b"41" * 32, b"42" * 32)
    tree = b"<</Type/Pages/Count 1/Kids[4 0 R]>>"
    objects = [CATALOG, tree, FONT, PAGE % 5, stream(b"x"), entry]
    return written(objects, b"/Encrypt 6 0 R/ID[<00><00>]")


def stream(content: bytes, more: bytes = b"") -> bytes:
    """Return an object with a content."""
    return b"<</Length %d%s>>stream\n%s\nendstream" % (len(content), more, content)


def written(objects: Sequence[bytes], trailer: bytes = b"") -> bytes:
    """Return a file of objects, the first of which is its catalog."""
    out, places = b"%PDF-1.5\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size, at = len(objects) + 1, len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, table)
    return out + b"trailer<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF" % (size, trailer, at)


def _of_contents(contents: Sequence[bytes]) -> bytes:
    numbers = range(4, 4 + 2 * len(contents), 2)
    kids = b" ".join(b"%d 0 R" % number for number in numbers)
    objects = [CATALOG, b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(contents), kids), FONT]
    for number, content in zip(numbers, contents, strict=True):
        objects += [PAGE % (number + 1), content]
    return written(objects)


def _lines(lines: Sequence[str]) -> bytes:
    drawn = b" ".join(b"(%s) Tj T*" % _escaped(line) for line in lines)
    return stream(b"BT /F 10 Tf 50 750 Td 12 TL %s ET" % drawn)


def _at(left: int, bottom: int, line: str) -> bytes:
    return b"BT /F 10 Tf %d %d Td (%s) Tj ET " % (left, bottom, _escaped(line))


def _escaped(line: str) -> bytes:
    plain = line.encode("cp1252")
    return plain.replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")
