"""Experiments that showed an interaction: how, in which host, with which participants.

A pair has at least one; each has its own method, type, host organism, evidence and participants,
which may be isoforms and chains, and more than two.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

from metaserver.base.errors import Refusal, RefusedError
from metaserver.curation import psi_mi
from metaserver.curation.psi_mi import (
    BIOLOGICAL_ROLE,
    EXPERIMENTAL_ROLE,
    IDENTIFICATION,
    METHOD,
    TYPE,
    Term,
)

MOST_EXPERIMENTS, MOST_PARTICIPANTS = 20, 20
"""The most experiments of a pair, and participants of an experiment."""
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


class Participant(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A participant: an accession, also of an isoform (`P35968-2`) or a chain (`-PRO_...`).

    Roles and the identification method are ids of PSI-MI; `feature` says which mutation, tag or
    region it had, such as `mutation Y527F` or `binding region 1-94`.
    """

    accession: Annotated[str, Meta(max_length=30)]
    experimental_role: TermId = ""
    biological_role: TermId = ""
    identification: TermId = ""
    feature: Annotated[str, Meta(max_length=500)] = ""

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

    def taking_part(self, item: Sequence[str]) -> tuple[Participant, ...]:
        """Return its participants; the pair's if it names none."""
        return self.participants or tuple(Participant(accession=one) for one in item)

    def like(self, item: Sequence[str]) -> Experiment:
        """Return a new experiment like this: the same methods, host and roles.

        Roles are given by place; evidence, figure, features and notes stay with their experiment.
        """
        roles = self.participants if len(self.participants) == len(item) else ()
        return Experiment(
            method=self.method,
            type=self.type,
            host=self.host,
            participants=tuple(
                msgspec.structs.replace(one, accession=accession, feature="")
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
    entries = [one.entry for one in experiment.participants]
    if entries and (set(item) - set(entries) or len(entries) < len(item)):
        message = f"expected {' and '.join(item)} among the participants"
        raise RefusedError(Refusal.INVALID, message, field="participants")


def _require_term(field: str, value: str, root: str) -> None:
    if value and value not in psi_mi.terms().under(root):
        kind = field.replace("_", " ")
        raise RefusedError(Refusal.INVALID, f"{value} is no known {kind}", field=field)
