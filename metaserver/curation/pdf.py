"""PDFs of curators: each is read by a process of its own, bounded in time, memory and output."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from typing import IO

from metaserver.base.errors import Refusal, RefusedError
from metaserver.curation.pdf_child import ADDRESS_SPACE, PAGES, SECONDS, PdfFault

NOTICE = "text from a PDF, check columns"
"""The notice on a text that was read out of a PDF."""
AT_ONCE, MOST_WAITING = 2, 8
"""PDFs that are read at a time, and that wait for their turn."""
CHILD = ("-P", "-B", "-m", "metaserver.curation.pdf_child")
"""The arguments of Python for the process that reads one."""
EXTRA = "pip install 'biocreative-metaserver[pdf]'"
_MAGIC = b"%PDF-"
_BLANKS = b"\0\t\n\f\r "
_ENVIRONMENT = ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH")
"""The variables that the process has of the hub's environment, which may have passwords in it."""
_MESSAGES: Mapping[int, str] = {
    PdfFault.BROKEN: "a broken PDF",
    PdfFault.LOCKED: "the PDF is encrypted: send it without its password",
    PdfFault.LONG: f"more than {PAGES} pages; send the article alone",
    PdfFault.NO_TEXT: "the PDF has images alone, and no text: the hub reads no images (OCR)",
    PdfFault.MEMORY: f"the PDF needs more than {ADDRESS_SPACE >> 20} MiB to be read",
}

log = logging.getLogger(__name__)


class UnreadPdfError(RefusedError):
    """A PDF that the hub tried to read: the work is done, and the text is not there."""


class PdfReader:
    """The reader of PDFs: at most `AT_ONCE` at a time, and `MOST_WAITING` that wait."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._waiting = 0

    async def read(self, content: bytes, text_bytes: int) -> str:
        """Return a PDF's text, of at most so many bytes of UTF-8.

        Raises `UnreadPdfError` if it cannot be read, and `RefusedError` if none can be read now.
        """
        if find_spec("pypdfium2") is None:
            message = f"this hub reads no PDF; its organisers can install that: {EXTRA}"
            raise RefusedError(Refusal.INVALID, message, field="content")
        if self._waiting >= AT_ONCE + MOST_WAITING:
            message = "other PDFs are being read: try again later"
            raise RefusedError(Refusal.TOO_MANY, message, retry_after=int(self._seconds))
        self._waiting += 1
        try:
            async with self._turns:
                return await self._read(content, text_bytes)
        finally:
            self._waiting -= 1

    async def _read(self, content: bytes, text_bytes: int) -> str:
        with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as text:  # without a name
            await asyncio.to_thread(_fill, source, content)
            status = await self._run(source, text, text_bytes)
            if status != PdfFault.NONE:
                raise _unread(status, text_bytes)
            return await asyncio.to_thread(_text, text, text_bytes)

    async def _run(self, source: IO[bytes], text: IO[bytes], text_bytes: int) -> int | None:
        """Return the exit status of the process; None if it took too long, and was killed."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *CHILD,
            str(text_bytes),
            stdin=source,
            stdout=text,
            stderr=asyncio.subprocess.DEVNULL,
            cwd="/",
            env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
            start_new_session=True,  # a Ctrl-C is for the hub
        )
        try:
            async with asyncio.timeout(self._seconds):
                return await process.wait()
        except TimeoutError:
            return None
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()


def is_pdf(content: bytes) -> bool:
    """Return whether a file is a PDF by its first bytes."""
    return content[:1024].lstrip(_BLANKS).startswith(_MAGIC)


def _fill(file: IO[bytes], content: bytes) -> None:
    file.write(content)
    file.flush()
    file.seek(0)


def _text(file: IO[bytes], text_bytes: int) -> str:
    file.seek(0)
    return file.read(text_bytes).decode("utf-8", "replace")


def _unread(status: int | None, text_bytes: int) -> UnreadPdfError:
    if status == PdfFault.LARGE:
        message = f"more than {text_bytes:,} bytes of text; at most these are taken"
        return UnreadPdfError(Refusal.TOO_LARGE, message, field="content")
    if status is None:
        message = f"the PDF could not be read within {SECONDS} seconds"
    elif status in _MESSAGES:
        message = _MESSAGES[status]
    else:
        log.warning("the process that reads PDFs ended with status %d", status)
        message = "the PDF cannot be read: it took too much time or memory, or its reader failed"
    return UnreadPdfError(Refusal.INVALID, message, field="content")
