"""The model that every format is written from: an article's finished curation; and its JSON.

Offsets are Unicode code points of the article's text. Server names are those that the reader of the
export may see: whoever makes the model replaces them by aliases if teams are anonymous.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from metaserver.base.publications import UNKNOWN, Publication
from metaserver.curation import psi_mi
from metaserver.curation.decisions import CurationEvent
from metaserver.curation.experiments import UNSAID, Experiment
from metaserver.curation.exports.characters import unicode_tree
from metaserver.curation.psi_mi import Term
from scoring import Task

MOST_QUOTED = 5_000
"""The most characters of an item's evidence that are written as text."""


class CuratedArticle(msgspec.Struct, frozen=True, kw_only=True):
    """The article: its text begins with the title if it has one."""

    id: str
    text: str = ""
    title: str = ""
    publication: Publication = UNKNOWN

    def references(self) -> list[tuple[Term, str]]:
        """Return the article in databases of publications, PubMed first, as far as it is known."""
        ids = (
            (psi_mi.PUBMED, self.publication.pmid),
            (psi_mi.PUBMED_CENTRAL, self.publication.pmcid),
            (psi_mi.DOI, self.publication.doi),
        )
        return [(database, value) for database, value in ids if value]


class CuratedProtein(msgspec.Struct, frozen=True, kw_only=True):
    """A protein as its UniProt entry names it; what the release does not say is "" or None.

    `symbols` begins with the gene's primary symbol.
    """

    accession: str
    entry_name: str = ""
    name: str = ""
    symbols: tuple[str, ...] = ()
    taxid: int | None = None
    organism: str = ""


class Passage(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """Characters of the text, from `start` up to `end`."""

    start: int
    end: int


class ProposedBy(msgspec.Struct, frozen=True, kw_only=True):
    """A server that proposed an item, at which rank and confidence."""

    server: str
    rank: int
    confidence: float
    evidence: str = ""


class CuratedItem(msgspec.Struct, frozen=True, kw_only=True):
    """A decided item: one accession (INT) or two, sorted (IPT).

    `probability` is None for a score that is no probability and for an item added without a
    proposal; `servers` is empty for an item that no server had proposed; `decided_at` is in seconds
    since the epoch. `request_version`, `consensus` and `model` say with which candidates it was
    shown, how these were found and by which model; `by_hand` is an item that the curator added, and
    no server had proposed.
    """

    task: Task
    item: tuple[str, ...]
    accepted: bool
    probability: float | None = None
    servers: tuple[ProposedBy, ...] = ()
    evidence: tuple[Passage, ...] = ()
    experiments: tuple[Experiment, ...] = ()
    reason: str = ""
    note: str = ""
    curator: str = ""
    decided_at: float = 0.0
    by_hand: bool = False
    request_version: int = 0
    consensus: str = ""
    model: str = ""

    def observations(self) -> tuple[Experiment, ...]:
        """Return a pair's experiments; an empty experiment if it has none."""
        return self.experiments or (UNSAID,)

    @property
    def is_negative(self) -> bool:
        """True for a pair whose every experiment showed that it does not interact."""
        return bool(self.experiments) and all(one.negative for one in self.experiments)


class Observation(NamedTuple):
    """A pair in one experiment; `number` counts those of a curation, from 1."""

    number: int
    pair: CuratedItem
    experiment: Experiment


class CurationOrigin(msgspec.Struct, frozen=True, kw_only=True):
    """A curation's provenance: its hub, and how its candidates were computed.

    `source` is the database that curates, `source_id` its id in PSI-MI.
    """

    hub: str = ""
    request: str = ""
    request_version: int = 0
    method: str = ""
    model: str = ""
    release: str = ""
    source: str = ""
    source_id: str = ""


class FinishedCuration(msgspec.Struct, frozen=True, kw_only=True):
    """An article's curation as its curator submitted it.

    `relevant` is None if the article was not classified. `mentions` are the places of each
    accession, in the text's order; `items` are in the order of their ranks.
    """

    id: str
    article: CuratedArticle
    curator: str
    submitted_at: float
    opened_at: float = 0.0
    relevant: bool | None = None
    proteins: Mapping[str, CuratedProtein] = {}
    mentions: Mapping[str, tuple[Passage, ...]] = {}
    items: tuple[CuratedItem, ...] = ()
    events: tuple[CurationEvent, ...] = ()
    origin: CurationOrigin = CurationOrigin()

    def accepted(self, task: Task) -> list[CuratedItem]:
        """Return the accepted items of a task, in their order."""
        return [item for item in self.items if item.task == task and item.accepted]

    def found(self, task: Task) -> list[CuratedItem]:
        """Return the accepted items of a task without the pairs that do not interact."""
        return [item for item in self.accepted(task) if not item.is_negative]

    def pairs(self) -> list[CuratedItem]:
        """Return the accepted pairs, in their order."""
        return self.accepted(Task.IPT)

    def observations(self) -> list[Observation]:
        """Return the accepted pairs, each once for every experiment."""
        result = ((pair, one) for pair in self.pairs() for one in pair.observations())
        return [
            Observation(number, pair, one) for number, (pair, one) in enumerate(result, start=1)
        ]

    def protein(self, accession: str) -> CuratedProtein:
        """Return an accession's protein, with its accession alone if nothing is known.

        An isoform or a chain (`P35968-2`) has its entry's names.
        """
        known = self.proteins.get(accession) or self.proteins.get(accession.partition("-")[0])
        if known is None:
            return CuratedProtein(accession=accession)
        return msgspec.structs.replace(known, accession=accession)

    def accessions(self) -> list[str]:
        """Return the accepted accessions: those of INT, then others of accepted pairs."""
        accessions = [
            accession for task in (Task.INT, Task.IPT) for accession in self._accessions(task)
        ]
        return list(dict.fromkeys(accessions))

    def places(self, accession: str) -> list[Passage]:
        """Return the accession's mentions that lie within the text, in its order, each once."""
        end = len(self.article.text)
        places = {
            place
            for place in self.mentions.get(accession, ())
            if 0 <= place.start < place.end <= end
        }
        return sorted(places)

    def evidence_of(self, item: CuratedItem, experiment: Experiment = UNSAID) -> Iterator[str]:
        """Yield the evidence as text, those parts that lie within the article.

        It is that of the experiment, of the item if the experiment has none.

        It ends after `MOST_QUOTED` characters: each of many passages may be the whole article.
        """
        text, remaining = self.article.text, MOST_QUOTED
        own = tuple(Passage(start=start, end=end) for start, end in experiment.evidence)
        for place in own or item.evidence:
            if remaining > 0 and 0 <= place.start < place.end <= len(text):
                words = text[place.start : min(place.end, place.start + remaining)]
                remaining -= len(words)
                yield words

    def _accessions(self, task: Task) -> Iterator[str]:
        for item in self.accepted(task):
            yield from item.item


class CurationFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of curations; `version` is raised with a change that an older reader cannot read."""

    curations: Sequence[FinishedCuration]
    format: Literal["biocreative-metaserver-curations"] = "biocreative-metaserver-curations"
    version: Literal[1] = 1


def write_json(curations: Sequence[FinishedCuration]) -> bytes:
    """Return the curations as JSON, with rejected items, events and provenance."""
    builtins = unicode_tree(msgspec.to_builtins(CurationFile(curations=curations)))
    return msgspec.json.format(msgspec.json.encode(builtins), indent=1) + b"\n"


def read_json(data: bytes) -> Sequence[FinishedCuration]:
    """Return the curations of such a file; raises `msgspec.ValidationError`."""
    return msgspec.json.decode(data, type=CurationFile).curations
