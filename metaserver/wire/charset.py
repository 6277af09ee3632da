"""The encoding a message declares; what expat cannot read is brought to UTF-8 before it.

Only encodings of a fixed table are looked up: Python remembers every name that it did not find, and
some of its codecs decompress.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from encodings.aliases import aliases
from typing import Final

from metaserver.lifecycle import Outcome
from metaserver.wire.values import WireError

HEAD = 1_024
"""Within so many bytes an XML declaration ends."""

NATIVE: Final = frozenset({"utf-8", "utf-16", "us-ascii", "iso-8859-1"})
"""What expat reads by itself; it also knows UTF-16 by its first bytes."""

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
}


def declared(head: bytes) -> str | None:
    """Return the encoding that a message's first bytes name, in lower case; None without one."""
    found = _DECLARED.match(head.replace(b"\0", b""))  # as in UTF-16
    return found[1].decode("latin-1").lower() if found else None


def transcoder(name: str) -> codecs.IncrementalDecoder:
    """Return what decodes an encoding that is not expat's own; `WireError` if it is not known."""
    module = _CODECS.get(re.sub(r"[^a-z0-9]+", "_", name))
    if module is None:
        raise WireError(Outcome.XML, f"the encoding {name!r} is not known")
    return codecs.getincrementaldecoder(module)()
