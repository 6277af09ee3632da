"""Sentences, and the words that state an interaction."""

from __future__ import annotations

import re
from collections.abc import Iterator

BOUNDARY = re.compile(
    r"(?<=[.!?])(?<!\bal\.)(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)\s+(?=[A-Z\[(])|\n+"
)

INTERACTION = re.compile(
    r"\b(?:co-?)?(?:interact|bind|bound\b|associat|complex|immunoprecipitat|two-hybrid|2-hybrid"
    r"|pull-?down|(?:hetero|homo)?(?:di|tri|tetra|oligo)mer|partner|dock|tether|scaffold)\w*",
    re.IGNORECASE,
)
"""Words that state a physical contact."""

REGULATION = re.compile(
    r"\b(?:de|auto|trans)?(?:phosphorylat|ubiquit|sumoylat|acetylat|methylat|recruit|cleav"
    r"|substrate|target|stabiliz|degrad|inhibit|activat|colocaliz|co-localiz)\w*",
    re.IGNORECASE,
)
"""Words that hint at one."""

SELF = re.compile(
    r"\b(?:homo-?(?:di|tri|tetra|oligo)mer|self-(?:associat|interact)|auto-?phosphorylat"
    r"|(?:di|oligo)meriz)\w*",
    re.IGNORECASE,
)
"""Words that state that a protein meets its own kind."""


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of every sentence, headings and the title included."""
    start = 0
    for gap in BOUNDARY.finditer(text):
        if gap.start() > start:
            yield start, gap.start()
        start = gap.end()
    if start < len(text):
        yield start, len(text)
