"""Kinds of problems: messages without what differs between similar problems."""

from __future__ import annotations

import re

_INDEX = re.compile(r"\[\d+\]")
_ACCESSION = re.compile(
    r"\b(?:[OPQ][0-9][A-Z0-9]{3}[0-9]|[A-NR-Z][0-9](?:[A-Z][A-Z0-9]{2}[0-9]){1,2})\b"
)


def general(text: str) -> str:
    """Return a message without its places in lists and its accessions."""
    return _ACCESSION.sub("…", _INDEX.sub("[…]", text))
