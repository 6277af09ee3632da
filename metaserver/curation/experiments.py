"""Experiments that showed an interaction: how, in which host, with which participants.

A pair has at least one; each has its own method, type, host organism, evidence and participants,
which may be isoforms and chains, and more than two.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

from metaserver.base.errors import Refusal, RefusedError
from metaserver.curation import psi_mi
from metaserver.curation.psi_mi import (
    BIOLOGICAL_ROLE,
    EXPERIMENTAL_ROLE,
    FEATURE,
    IDENTIFICATION,
    METHOD,
    TYPE,
    Term,
)

MOST_EXPERIMENTS, MOST_PARTICIPANTS, MOST_FEATURES = 20, 20, 10
"""The most experiments of a pair, participants of an experiment, and features of a participant."""
HOSTS: Mapping[int, str] = {
    4932: "Saccharomyces cerevisiae",
    -1: "in vitro",
    9606: "Homo sapiens",
    562: "Escherichia coli",
    10090: "Mus musculus",
    10116: "Rattus norvegicus",
    7227: "Drosophila melanogaster",
    6239: "Caenorhabditis elegans",
    3702: "Arabidopsis thaliana",
    4896: "Schizosaccharomyces pombe",
    7108: "Spodoptera frugiperda",
    9534: "Chlorocebus aethiops",
    10029: "Cricetulus griseus",
    -2: "chemical synthesis",
    -4: "in vivo",
}
"""The host organisms that pages offer, by taxon; those below 0 are PSI-MI's."""
_ACCESSION = re.compile(r"([A-Z][A-Z0-9]{5,9})(-[1-9][0-9]{0,2}|-PRO_[0-9]{10})?", re.ASCII)

Place: TypeAlias = tuple[
    Annotated[int, Meta(ge=0, le=2**31 - 1)], Annotated[int, Meta(ge=0, le=2**31 - 1)]
]
TermId: TypeAlias = Annotated[str, Meta(max_length=20)]
Position: TypeAlias = Annotated[int, Meta(ge=1, le=100_000)]
"""A residue of a protein, from 1; the longest proteins have some 35,000."""


class Feature(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A mutation, tag, binding region or other feature of a participant.

    `type` is an id of PSI-MI, `name` such as `K48R`; an end of its range that is not known is None.
    """

    type: TermId
    name: Annotated[str, Meta(max_length=100)] = ""
    start: Position | None = None
    end: Position | None = None

    @property
    def term(self) -> Term:
        """Its type, empty if the vocabulary does not have it."""
        return psi_mi.terms().under(FEATURE).get(self.type, Term("", ""))

    @property
    def range(self) -> str:
        """Its range as MITAB has it: `48-48`, with `?` for what is not known."""
        return f"{self.start or '?'}-{self.end or '?'}"

    def in_words(self) -> str:
        """Return `mutation K48R 48-48`, without what is not known."""
        known = self.range if self.start or self.end else ""
        return " ".join(filter(None, (self.term.name, self.name, known)))


class Participant(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A participant: an accession, also of an isoform (`P35968-2`) or a chain (`-PRO_...`).

    Roles and the identification method are ids of PSI-MI.
    """

    accession: Annotated[str, Meta(max_length=30)]
    experimental_role: TermId = ""
    biological_role: TermId = ""
    identification: TermId = ""
    features: Annotated[tuple[Feature, ...], Meta(max_length=MOST_FEATURES)] = ()

    @property
    def entry(self) -> str:
        """The accession of its UniProt entry, without isoform and chain."""
        return self.accession.partition("-")[0]


class Experiment(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An experiment; what the curator has not said is "", empty or None.

    `host` is the taxon of the host organism, -1 in vitro; without `participants` they are the
    proteins of the pair. `evidence` are places of the text; `negative`: it showed that they do not
    interact.
    """

    method: TermId = ""
    type: TermId = ""
    host: Annotated[int, Meta(ge=-4, le=2**31 - 1)] | None = None
    figure: Annotated[str, Meta(max_length=100)] = ""
    negative: bool = False
    evidence: Annotated[tuple[Place, ...], Meta(max_length=50)] = ()
    note: Annotated[str, Meta(max_length=1_000)] = ""
    participants: Annotated[tuple[Participant, ...], Meta(max_length=MOST_PARTICIPANTS)] = ()

    @property
    def detection(self) -> Term:
        """The detection method, "unspecified method" if not chosen."""
        return psi_mi.methods().get(self.method, psi_mi.UNSPECIFIED_METHOD)

    @property
    def interaction(self) -> Term:
        """The interaction type, by the rule of its method if not chosen."""
        return psi_mi.types().get(self.type) or psi_mi.type_by_rule(self.detection.id)

    @property
    def type_is_by_rule(self) -> bool:
        """The answer to whether the curator left the type to the rule."""
        return self.type not in psi_mi.types()

    def in_words(self) -> str:
        """Return what was said of it, with at most ten features."""
        host = "" if self.host is None else HOSTS.get(self.host, str(self.host))
        features = (
            f"{one.accession} {feature.in_words()}"
            for one in self.participants
            for feature in one.features
        )
        said = (
            self.detection.name if self.method else "",
            "" if self.type_is_by_rule else self.interaction.name,
            host,
            self.figure,
            *islice(features, MOST_FEATURES),
            "no interaction" if self.negative else "",
        )
        return " · ".join(filter(None, said))

    def taking_part(self, item: Sequence[str]) -> tuple[Participant, ...]:
        """Return its participants; the pair's if it names none."""
        return self.participants or tuple(Participant(accession=one) for one in item)

    def like(self, item: Sequence[str]) -> Experiment:
        """Return a new experiment like this: the same methods, host, figure and roles.

        Roles are given by place; evidence, features and notes stay with their experiment.
        """
        roles = self.participants if len(self.participants) == len(item) else ()
        return Experiment(
            method=self.method,
            type=self.type,
            host=self.host,
            figure=self.figure,
            participants=tuple(
                msgspec.structs.replace(one, accession=accession, features=())
                for one, accession in zip(roles, item, strict=bool(roles))
            ),
        )


UNSAID = Experiment()
"""The experiment for a pair about which nothing is said."""


def check(experiment: Experiment, item: Sequence[str], length: int) -> None:
    """Raise `RefusedError`, which names the field, for an experiment that a pair cannot have."""
    _require_term("method", experiment.method, METHOD)
    _require_term("type", experiment.type, TYPE)
    if experiment.host == 0 or experiment.host == -3:
        raise RefusedError(Refusal.INVALID, "expected a taxon, -1, -2 or -4", field="host")
    if not all(start < end <= length for start, end in experiment.evidence):
        raise RefusedError(Refusal.INVALID, "a passage is not in the article", field="evidence")
    for one in experiment.participants:
        if not _ACCESSION.fullmatch(one.accession):
            message = f"{one.accession!r}: expected such as P35968, P35968-2, P35968-PRO_0000016771"
            raise RefusedError(Refusal.INVALID, message, field="accession")
        for field, root in (
            ("experimental_role", EXPERIMENTAL_ROLE),
            ("biological_role", BIOLOGICAL_ROLE),
            ("identification", IDENTIFICATION),
        ):
            _require_term(field, getattr(one, field), root)
        for feature in one.features:
            _require_term("feature", feature.type or "nothing", FEATURE)
            if feature.start and feature.end and feature.start > feature.end:
                message = f"{feature.range}: the range ends before it begins"
                raise RefusedError(Refusal.INVALID, message, field="range")
    entries = [one.entry for one in experiment.participants]
    if entries and (set(item) - set(entries) or len(entries) < len(item)):
        message = f"expected {' and '.join(item)} among the participants"
        raise RefusedError(Refusal.INVALID, message, field="participants")


def _require_term(field: str, value: str, root: str) -> None:
    if value and value not in psi_mi.terms().under(root):
        kind = field.replace("_", " ")
        raise RefusedError(Refusal.INVALID, f"{value} is no known {kind}", field=field)
