"""What MIMIx and IMEx require of an article's interactions, and a curation does not say yet.

MIMIx: Orchard et al. 2007, doi:10.1038/nbt1324; IMEx adds to it (Orchard et al. 2012,
doi:10.1038/nmeth.1931).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import msgspec

from metaserver.curation.exports.finished import FinishedCuration, Observation

Rules: TypeAlias = Literal["MIMIx", "IMEx"]


class MissingField(msgspec.Struct, frozen=True, kw_only=True):
    """A field that rules require and that is empty; of the article where `item` is empty.

    `experiment` counts those of the pair from 1, 0 is the pair itself; `participant` is an
    accession, empty for the whole experiment.
    """

    rules: Rules
    field: str
    item: tuple[str, ...] = ()
    experiment: int = 0
    participant: str = ""


def missing(curation: FinishedCuration) -> Sequence[MissingField]:
    """Return the fields that a curation lacks: those of the article, then by pair and experiment.

    An article without an accepted pair lacks nothing: there is no interaction to submit.
    """
    observations = curation.observations()
    if not observations:
        return []
    publication = curation.article.publication
    lacking = [MissingField(rules="MIMIx", field="pmid")] if not publication.ids else []
    if publication.ids and not publication.pmid:
        lacking.append(MissingField(rules="IMEx", field="pmid"))
    lacking += [
        MissingField(rules="IMEx", field=field)
        for field in ("author", "year", "journal")
        if not getattr(publication, field)
    ]
    place, last = 0, None
    for observation in observations:
        place = place + 1 if observation.pair is last else 1
        last = observation.pair
        lacking += _of_experiment(curation, observation, place)
    return lacking


def _of_experiment(
    curation: FinishedCuration, observation: Observation, place: int
) -> Iterator[MissingField]:
    item, experiment = observation.pair.item, observation.experiment
    lacking: list[tuple[Rules, str]] = []
    if not experiment.method:
        lacking.append(("MIMIx", "method"))
    if experiment.type_is_by_rule:
        lacking.append(("MIMIx", "type"))
    if experiment.host is None:
        lacking.append(("MIMIx", "host"))
    if not any(curation.evidence_of(observation.pair, experiment)):
        lacking.append(("IMEx", "evidence"))
    if not experiment.figure:
        lacking.append(("IMEx", "figure"))
    for rules, field in lacking:
        yield MissingField(rules=rules, field=field, item=item, experiment=place)
    for participant in experiment.taking_part(item):
        of_it: list[tuple[Rules, str]] = []
        if curation.protein(participant.accession).taxid is None:
            of_it.append(("MIMIx", "organism"))
        if not participant.experimental_role:
            of_it.append(("MIMIx", "experimental_role"))
        if not participant.identification:
            of_it.append(("MIMIx", "identification"))
        if not participant.biological_role:
            of_it.append(("IMEx", "biological_role"))
        for rules, field in of_it:
            yield MissingField(
                rules=rules,
                field=field,
                item=item,
                experiment=place,
                participant=participant.accession,
            )
