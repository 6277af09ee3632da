"""Headers of answers that state their length twice: by `Content-Length` and as chunks.

RFC 9112, section 6.3: `Transfer-Encoding` overrides `Content-Length`, and the connection is not
used again. aiohttp's parser refuses such an answer, but Perl's RPC::XML sends one above 1 MiB. Only
an unambiguous header is corrected; any other is left to the parser.
"""

from __future__ import annotations

import re
from typing import Final

MAX_HEADER_BYTES: Final = 65_536
"""The most bytes held back until a header is complete; more go to the parser unchanged."""

_PROTOCOL: Final = b"HTTP/1."
_END: Final = re.compile(rb"\r?\n\r?\n")
_INTERIM: Final = re.compile(rb"HTTP/1\.1 1\d\d[ \r]")
_CODING: Final = re.compile(rb"\ntransfer-encoding", re.IGNORECASE)
_STATUS: Final = re.compile(rb"HTTP/1\.1 [2-5]\d\d(?: [^\x00\r\n]*)?")
_FIELD: Final = re.compile(rb"([!#$%&'*+.^_`|~\w-]+):([^\x00\r\n]*)")


class HeaderBuffer:
    """The beginning of an answer, held back until its header is complete.

    `take` returns the bytes for the parser: a complete header and the bytes after it, or all bytes
    where they are no header. `interim` is True where that was an interim header, which another one
    follows; `overridden` where a length was removed from it.
    """

    def __init__(self) -> None:
        self._held = bytearray()
        self._searched = 0
        self.interim = False
        self.overridden = False

    def add(self, data: bytes) -> None:
        """Append the next bytes."""
        self._held += data

    def take(self) -> bytes:
        """Return the bytes for the parser; none while the header is incomplete."""
        data, self.interim = self._held, False
        if not data.startswith(_PROTOCOL[: len(data)]):
            return self.rest()
        end = _END.search(data, max(0, self._searched - 3), MAX_HEADER_BYTES)
        if end is None:
            self._searched = len(data)
            return b"" if len(data) < MAX_HEADER_BYTES else self.rest()
        header = bytes(data[: end.end()])
        self.interim = _INTERIM.match(header) is not None
        if self.interim:
            del data[: end.end()]
            self._searched = 0
            return header
        corrected = without_content_length(header)
        if corrected is not None:
            self.overridden = True
            data[: end.end()] = corrected
        return self.rest()

    def rest(self) -> bytes:
        """Return all bytes held back, and forget them."""
        data = bytes(self._held)
        self._held.clear()
        self._searched = 0
        return data


def without_content_length(header: bytes) -> bytes | None:
    """Return a header without the length that its chunks override; None for any other header.

    A header is corrected if it is one of HTTP/1.1 in lines that follow the standard, with one
    length in digits and one `Transfer-Encoding`, which is `chunked`.
    """
    if _CODING.search(header) is None:  # nearly always
        return None
    status, *lines = header.removesuffix(b"\r\n\r\n").split(b"\r\n")
    fields = [_FIELD.fullmatch(line) for line in lines]
    if not _STATUS.fullmatch(status) or None in fields:
        return None
    pairs = [(field[1].lower(), field[2].strip(b" \t")) for field in fields if field is not None]
    lengths = [value for name, value in pairs if name == b"content-length"]
    codings = [value.lower() for name, value in pairs if name == b"transfer-encoding"]
    if len(lengths) != 1 or not lengths[0].isdigit() or codings != [b"chunked"]:
        return None
    kept_lines = [
        line for line, (name, _) in zip(lines, pairs, strict=True) if name != b"content-length"
    ]
    return b"\r\n".join((status, *kept_lines)) + b"\r\n\r\n"
