"""Characters that a format cannot hold, replaced singly, so that offsets stay valid."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from metaserver.exchange.wire.values import FORBIDDEN

REPLACEMENT = "\ufffd"

_NOT_UNICODE = re.compile("[\ud800-\udfff]")
_BREAKS = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029]+")


def unicode_text(text: str) -> str:
    """Return a text that UTF-8 can hold: half a surrogate pair becomes U+FFFD."""
    return _NOT_UNICODE.sub(REPLACEMENT, text)


def unicode_tree(value: Any) -> Any:
    """Return builtins, as of JSON, with all their texts as `unicode_text` returns them."""
    match value:
        case str():
            return unicode_text(value)
        case dict():
            return {unicode_text(key): unicode_tree(member) for key, member in value.items()}
        case list() | tuple():
            return [unicode_tree(item) for item in value]
    return value


def xml_text(text: str) -> str:
    """Return a text that XML 1.0 can hold, and that is read back as it is.

    Control characters and surrogates become U+FFFD; a carriage return, which a reader of XML turns
    into a line end, becomes a blank.
    """
    return FORBIDDEN.sub(REPLACEMENT, text).replace("\r", " ")


def one_line(text: str) -> str:
    """Return a text on one line: controls and line separators become single spaces."""
    return unicode_text(_BREAKS.sub(" ", text)).strip()


def date(seconds: float, form: str) -> str:
    """Return a date in UTC, as `strftime` writes it."""
    return datetime.fromtimestamp(seconds, UTC).strftime(form)
