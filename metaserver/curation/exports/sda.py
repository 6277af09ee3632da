"""Structured Digital Abstracts: interactions as sentences with their identifiers.

As FEBS Letters printed them (Ceol et al. 2008, doi:10.1016/j.febslet.2008.02.065).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from metaserver.curation.experiments import Experiment, Participant
from metaserver.curation.exports.characters import one_line
from metaserver.curation.exports.finished import CuratedItem, FinishedCuration
from metaserver.curation.psi_mi import BAIT, ENZYME

_VERBS = {
    "MI:0915": "physically interacts ({}) with",
    "MI:0407": "binds ({}) to",
    "MI:0914": "associates ({}) with",
    "MI:0403": "colocalizes ({}) with",
}
_RESERVED = re.compile(r"[()]+")


def write_sda(curations: Sequence[FinishedCuration]) -> bytes:
    """Return the accepted pairs as sentences, sorted, each once; several articles have headings.

    Experiments that showed no interaction are left out.
    """
    parts = []
    for curation in curations:
        lines = sorted(
            {
                _sentence(curation, result.pair, result.experiment)
                for result in curation.observations()
                if not result.experiment.negative
            }
        )
        if len(curations) > 1:
            lines.insert(0, f"# {one_line(curation.article.id)}")
        parts.append("".join(f"{line}\n" for line in lines))
    return "\n".join(parts).encode()


def _sentence(curation: FinishedCuration, item: CuratedItem, experiment: Experiment) -> str:
    """Return a sentence of a pair in the order of its roles: a bait, an enzyme first."""
    term, method = experiment.interaction, experiment.detection
    verb = _VERBS.get(term.id, f"takes part in a {term.name} ({{}}) with").format(term.id)
    sides = sorted(experiment.taking_part(item.item), key=lambda one: not _acts(one))
    first, *others = (_protein(curation, one.accession) for one in sides)
    others = ["itself" if other == first else other for other in others]
    return f"{first} {verb} {' and '.join(others)} by {method.name} ({method.id})"


def _acts(participant: Participant) -> bool:
    return participant.experimental_role == BAIT.id or participant.biological_role == ENZYME.id


def _protein(curation: FinishedCuration, accession: str) -> str:
    protein = curation.protein(accession)
    names = (*protein.symbols[:1], protein.entry_name, protein.name, accession)
    shown_names = (_RESERVED.sub(" ", one_line(name)).strip() for name in names)
    return f"{next(filter(None, shown_names), 'unnamed')} (uniprotkb:{_identifier(accession)})"


def _identifier(accession: str) -> str:
    return _RESERVED.sub("", one_line(accession))
