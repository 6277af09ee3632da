"""Structured Digital Abstracts: interactions as sentences with their identifiers.

As FEBS Letters printed them (Ceol et al. 2008, doi:10.1016/j.febslet.2008.02.065).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from metaserver.curation.exports.characters import one_line
from metaserver.curation.exports.finished import CuratedItem, FinishedCuration

_VERBS = {
    "MI:0915": "physically interacts ({}) with",
    "MI:0407": "binds ({}) to",
    "MI:0914": "associates ({}) with",
    "MI:0403": "colocalizes ({}) with",
}
_RESERVED = re.compile(r"[()]+")


def write_sda(curations: Sequence[FinishedCuration]) -> bytes:
    """Return the accepted pairs as sentences, sorted, each once; several articles have headings."""
    parts = []
    for one in curations:
        lines = sorted({_sentence(one, item) for item in one.pairs()})
        if len(curations) > 1:
            lines.insert(0, f"# {one_line(one.article.id)}")
        parts.append("".join(f"{line}\n" for line in lines))
    return "\n".join(parts).encode()


def _sentence(curation: FinishedCuration, item: CuratedItem) -> str:
    term, method = item.interaction, item.detection
    verb = _VERBS.get(term.id, f"takes part in a {term.name} ({{}}) with").format(term.id)
    first, second = (_protein(curation, accession) for accession in item.item)
    other = "itself" if first == second else second
    return f"{first} {verb} {other} by {method.name} ({method.id})"


def _protein(curation: FinishedCuration, accession: str) -> str:
    protein = curation.protein(accession)
    names = (*protein.symbols[:1], protein.entry_name, protein.name, accession)
    shown = (_RESERVED.sub(" ", one_line(name)).strip() for name in names)
    return f"{next(filter(None, shown), 'unnamed')} (uniprotkb:{_identifier(accession)})"


def _identifier(accession: str) -> str:
    return _RESERVED.sub("", one_line(accession))
