"""Parsing protein and gene names in UniProt's notation."""

from __future__ import annotations

import re
from collections.abc import Iterator

_EVIDENCE = re.compile(r"(?<!\s)\s*\{[^{}]*\}")
_PARTS = re.compile(r"(?<!\s)\s*\[(?:Includes|Contains|Cleaved into):.*", re.DOTALL)
_EC = re.compile(r"EC \d")
_FIELD_END = re.compile(r";(?:\s+|$)")  # names such as `HvPIP2;8` have semicolons of their own
_FLAGS = frozenset({"Fragment", "Fragments", "Precursor"})


def without_evidence(text: str) -> str:
    """Return the text without evidence tags: `doxA {ECO:0000303|PubMed:8226631}` is `doxA`."""
    return _EVIDENCE.sub("", text) if "{" in text else text


def protein_names(text: str) -> list[str]:
    """Return the names in `Full name (Synonym) (Other one) (EC 1.2.3.4) [Cleaved into: ...]`.

    Brackets inside a name stay; EC numbers, flags and part names are left out.

    Example: `protein_names("Cellular tumor antigen p53 (Phosphoprotein p53)")` returns `["Cellular
    tumor antigen p53", "Phosphoprotein p53"]`.
    """
    text = _PARTS.sub("", text).strip().removesuffix(".")
    names = [text]
    while text.endswith(")") and (start := _opening(text)) > 0 and text[start - 1] == " ":
        names[-1:] = [text[start + 1 : -1], text[: start - 1].rstrip()]
        text = names[-1]
    return [name for name in reversed(names) if name not in _FLAGS and not _EC.match(name)]


def _opening(text: str) -> int:
    """Return the index of the bracket closed at the end of `text`, or -1."""
    depth = 0
    for i in range(len(text) - 1, -1, -1):
        depth += (text[i] == ")") - (text[i] == "(")
        if not depth:
            return i
    return -1


def gene_names(text: str) -> Iterator[str]:
    """Yield the names in a flat file's `GN` text: `Name=` and `Synonyms=`, no locus or ORF tags."""
    for field in _FIELD_END.split(without_evidence(text)):
        key, _, value = field.partition("=")
        if key.strip() in ("Name", "Synonyms"):
            yield from filter(None, map(str.strip, value.split(", ")))
