"""The process that reads a PDF: it has the peer's bytes, and little else.

`python -m metaserver.curation.pdf_child BYTES` reads a PDF from its standard input and writes its
text, of at most so many bytes of UTF-8, to its standard output; its exit status is a `PdfFault`.
Its bounds are hard limits that it sets before it reads, so that no bug of PDFium undoes them.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Iterator
from enum import IntEnum
from typing import TYPE_CHECKING

from metaserver.curation.pdf_columns import LinePiece, lines_of
from metaserver.curation.pdf_glyphs import glyph_runs
from metaserver.curation.pdf_paragraphs import paragraphs
from metaserver.curation.pdf_text import joined

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

SECONDS = 20
"""Seconds that a PDF may take, of the processor and of the clock."""
ADDRESS_SPACE = 2**30
"""Bytes of memory that the process may map."""
PAGES = 300
"""The most pages of a PDF."""
NICE = 10
"""The steps by which the process gives way to the hub."""
_PASSWORD, _SECURITY = 4, 5  # FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY of fpdfview.h
_OPEN_FILES = 64


class PdfFault(IntEnum):
    """A fault of a PDF, as an exit status."""

    NONE = 0
    BROKEN = 10
    LOCKED = 11
    LONG = 12  # more pages than are read
    LARGE = 13  # more text than is taken
    NO_TEXT = 14
    MEMORY = 15


class FaultyPdfError(Exception):
    """A PDF that has no text to give."""

    def __init__(self, fault: PdfFault) -> None:
        self.fault = fault
        super().__init__(fault.name)


def main() -> int:
    """Read a PDF; return the exit status."""
    text_bytes = int(sys.argv[1])
    bound(text_bytes)
    try:
        text = text_of(sys.stdin.buffer.read(), text_bytes).encode("utf-8", "replace")
        if len(text) > text_bytes:
            return PdfFault.LARGE
        sys.stdout.buffer.write(text)
        sys.stdout.buffer.flush()
    except FaultyPdfError as error:
        return error.fault
    except MemoryError:
        return PdfFault.MEMORY
    return PdfFault.NONE


def bound(written: int) -> None:
    """Set the limits of this process, which may write so many bytes; none can be raised again.

    The alarm ends it even if the hub is gone.
    """
    os.nice(NICE)
    for limit, maximum in (
        (resource.RLIMIT_AS, ADDRESS_SPACE),
        (resource.RLIMIT_CPU, SECONDS),
        (resource.RLIMIT_FSIZE, written),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(limit)
        allowed = maximum if hard == resource.RLIM_INFINITY else min(maximum, hard)
        resource.setrlimit(limit, (allowed, allowed))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(SECONDS + 1)


def text_of(content: bytes, text_bytes: int) -> str:
    """Return a PDF's text; `FaultyPdfError` for one without text, or with too much."""
    from pypdfium2 import PdfDocument, PdfiumError  # an extra; and its library opens with it

    try:
        with PdfDocument(content) as document:
            if len(document) > PAGES:
                raise FaultyPdfError(PdfFault.LONG)
            text = joined(paragraphs(list(_pages(document, text_bytes))))
    except PdfiumError as error:
        locked = getattr(error, "err_code", None) in (_PASSWORD, _SECURITY)
        raise FaultyPdfError(PdfFault.LOCKED if locked else PdfFault.BROKEN) from error
    if not text.strip():
        raise FaultyPdfError(PdfFault.NO_TEXT)
    return text


def _pages(document: PdfDocument, text_bytes: int) -> Iterator[list[LinePiece]]:
    """Yield each page's lines, as long as all have no more characters than the limit."""
    remaining = text_bytes
    for page in document:
        characters = page.get_textpage()
        remaining -= characters.count_chars()
        if remaining < 0:
            raise FaultyPdfError(PdfFault.LARGE)
        yield lines_of(glyph_runs(characters))
        characters.close()
        page.close()


if __name__ == "__main__":
    sys.exit(main())
