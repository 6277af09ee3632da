"""A message's encoding; an encoding that expat cannot read is converted to UTF-8 first.

A byte order mark takes precedence over the HTTP header's charset, and that over the XML declaration
(RFC 7303, section 3.2). Frameworks add `charset=utf-8` to every answer, so if the declaration names
another encoding, that is used from the first byte on that is not UTF-8. They also add `us-ascii`,
formerly the default for `text/xml` (RFC 3023): it is ignored. So is an unknown charset in the
header, since the answer could not be read otherwise.

Only encodings in a fixed table are looked up: Python caches every name that it did not find, and
some of its codecs decompress.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from encodings.aliases import aliases
from typing import Final

from metaserver.base.states import Outcome
from metaserver.exchange.wire.values import WireError

DECLARATION_BYTES = 1_024
"""The maximum length of an XML declaration, in bytes."""

UTF8: Final = frozenset({None, "utf-8", "utf8", "us-ascii", "ascii"})
"""Charsets of an HTTP header that do not change how a UTF-8 message is read."""

_MARKS: Final = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_CHARSET: Final = re.compile(r""";\s*charset\s*=\s*["']?([\w.:+-]{1,40})""", re.IGNORECASE)

NATIVE: Final = frozenset({"utf-8", "utf-16", "us-ascii", "iso-8859-1"})
"""The encodings that expat reads by itself; it also detects UTF-16 from the first bytes."""

_DECLARED: Final = re.compile(
    rb"""(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?<\?xml\s[^>]*?\sencoding\s*=\s*["']([\w.:-]{1,40})["']"""
)
_OF_TEXT: Final = re.compile(
    r"utf_(?:8|16|16_[bl]e)|ascii|latin_1|iso8859_\d+|cp\d+|koi8_[rtu]|mac_\w+|gb\w+|big5\w*"
    r"|euc_\w+|shift_jis\w*"
)
_MODULES: Final = frozenset(filter(_OF_TEXT.fullmatch, aliases.values()))
_CODECS: Final[Mapping[str, str]] = {
    **{name: module for name, module in aliases.items() if module in _MODULES},
    **{module: module for module in _MODULES},
    "utf_8_sig": "utf_8",
    "utf8mb4": "utf_8",
    "windows_31j": "cp932",
}


def declared_encoding(start: bytes) -> str | None:
    """Return the encoding that a message's first bytes name, in lower case; or None."""
    match = _DECLARED.match(start.replace(b"\0", b""))  # as in UTF-16
    return match[1].decode("latin-1").lower() if match else None


def charset_of(content_type: str) -> str | None:
    """Return the charset that a `Content-Type` names, in lower case; or None.

    Example: `charset_of("text/xml; charset=UTF-8")` returns `"utf-8"`.
    """
    match = _CHARSET.search(content_type)
    return match[1].lower() if match else None


def decoder_for(start: bytes, charset: str | None) -> codecs.IncrementalDecoder | None:
    """Return the decoder for a message's first bytes; None if expat reads it by itself.

    `charset` comes from the HTTP header. Raises `WireError` if the encoding is not known.
    """
    name = declared_encoding(start)
    usable = charset is not None and not start.startswith(_MARKS)
    codec = _CODECS.get(_plain(charset)) if usable and charset is not None else None
    if codec is None or codec in ("ascii", "utf_16"):  # expat detects UTF-16 by itself
        return None if name is None or name in NATIVE else _decoder(_module(name))
    if codec != "utf_8":
        return _decoder(codec)
    if name is None or name in ("utf-8", "us-ascii"):
        return None
    return _Utf8Or(_CODECS.get(_plain(name), "utf_8"))


class _Utf8Or(codecs.IncrementalDecoder):
    """A decoder for UTF-8 up to the first invalid byte, and for another encoding from there on."""

    def __init__(self, fallback: str) -> None:
        super().__init__()
        self._first = _decoder("utf_8")
        self._other = fallback
        self._second: codecs.IncrementalDecoder | None = None

    def decode(self, data: bytes, final: bool = False) -> str:  # type: ignore[override]
        """Return the next characters."""
        if self._second is not None:
            return self._second.decode(data, final)
        data = self._first.getstate()[0] + data
        self._first.reset()
        try:
            return self._first.decode(data, final)
        except UnicodeDecodeError as error:
            self._second = _decoder(self._other)
            good = data[: error.start].decode()
            return good + self._second.decode(data[error.start :], final)


def _module(name: str) -> str:
    """Return the codec for an encoding's name; raises `WireError` if it is unknown."""
    module = _CODECS.get(_plain(name))
    if module is None:
        raise WireError(
            Outcome.SYNTAX, f"the encoding {name!r} is not known; expected one such as utf-8"
        )
    return module


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name)


def _decoder(module: str) -> codecs.IncrementalDecoder:
    return codecs.getincrementaldecoder(module)()
