"""Uploaded text files (result files, gold): unpacked, with bounds checked before parsing."""

from __future__ import annotations

import gzip
import io
import zlib

from metaserver.base.errors import Refusal, RefusedError

MOST_BYTES = 32 * 2**20
"""The maximum bytes in an unpacked file. Reading it takes ten times as much memory."""
MOST_LINES = 500_000
"""The maximum lines in a file, or tags in XML: each takes some hundred bytes of memory."""
MOST_RATIO = 200
"""Most bytes that a gzip file may unpack to for each of its own, above a first MiB."""
_GZIP = b"\x1f\x8b"


def unpacked(content: bytes) -> bytes:
    """Return a file's content, unpacked if it is gzip.

    Raises `RefusedError` for the field `content` beyond the bounds. Decompresses up to 32 MiB: call
    it in a thread.
    """
    if content.startswith(_GZIP):
        content = _unpack(content)
        if content.startswith(_GZIP):
            raise RefusedError(Refusal.INVALID, "gzip in gzip is not read", field="content")
    if len(content) > MOST_BYTES:
        raise _too_large(f"larger than {MOST_BYTES >> 20} MiB")
    if max(content.count(b"\n"), content.count(b"<")) > MOST_LINES:
        raise _too_large(f"more than {MOST_LINES:,} lines, or tags")
    return content


def _unpack(content: bytes) -> bytes:
    dense = 2**20 + MOST_RATIO * len(content)
    limit = min(MOST_BYTES, dense)
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            plain = file.read(limit + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        message = f"broken gzip file: {error}"
        raise RefusedError(Refusal.INVALID, message, field="content") from error
    if len(plain) > limit == dense:
        raise _too_large(f"unpacks to more than {MOST_RATIO} times its size; send a plain file")
    return plain


def _too_large(message: str) -> RefusedError:
    return RefusedError(Refusal.TOO_LARGE, message, field="content")
