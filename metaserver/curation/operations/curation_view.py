"""Curations as their curators see them: text, candidates, and the state after all decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

from metaserver.base.compression import pack, unpack
from metaserver.base.curations import CurationStanding, UploadedVoice
from metaserver.base.publications import Publication
from metaserver.base.structs import convert
from metaserver.curation.basis import (
    Additions,
    CurationBasis,
    ShownCandidate,
    UndecidedItem,
    undecided,
    united,
)
from metaserver.curation.candidates import ClassVote, PanelDifference
from metaserver.curation.decisions import (
    CurationEvent,
    CurationState,
    Decision,
    ItemKey,
    fold,
    next_redo,
    next_undo,
)
from metaserver.curation.experiments import Experiment, Place
from metaserver.curation.exports.finished import CuratedProtein
from metaserver.curation.mentions import CandidateSpan, EvidenceSpan
from metaserver.curation.pdf import NOTICE
from metaserver.curation.store.curations import CurationContent, CurationEntry, EventEntry

CurationField: TypeAlias = Annotated[
    str, Meta(pattern=r"^[0-9a-f]{16}$(?!\n)", description="The curation's id")
]


class DecidedItem(msgspec.Struct, frozen=True, kw_only=True):
    """An item with what its curator decided.

    `implied` is a protein that is accepted because a pair of it is; `by_hand` an item that no
    server had proposed. `replaced` is the item in whose place it was accepted;
    `evidence` are places of the text; `method` and `type` are those of the first experiment.
    """

    task: str
    item: tuple[str, ...]
    decision: Decision
    at: float
    implied: bool
    by_hand: bool
    reason: str
    replaced: tuple[str, ...]
    evidence: tuple[Place, ...]
    method: str
    type: str
    experiments: tuple[Experiment, ...]
    note: str


class CurationSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A curation in the list; times are Unix seconds.

    `request` is empty if there is none, and so is `set`, the set that it is of. `seen` is the
    number of its events, `accepted` and `rejected` of items, `left` of the candidates without a
    decision, `active_ms` the time that its curator was at work.
    """

    curation: str
    request: str
    set: str
    article: str
    title: str
    length: int
    curator: str
    state: CurationStanding
    opened_at: float
    changed_at: float
    submitted_at: float | None
    seen: int
    accepted: int
    rejected: int
    left: int
    active_ms: int

    @classmethod
    def of(cls, entry: CurationEntry, of_set: str) -> CurationSummary:
        """Return the fields of a stored curation."""
        return convert(
            entry,
            cls,
            curation=entry.id,
            request=entry.request or "",
            set=of_set,
            seen=entry.events,
            left=entry.undecided,
        )


class CurationDetail(CurationSummary, frozen=True, kw_only=True):
    """A curation with its text, its candidates and the state after all decisions.

    `own`: the caller decides. `version` is that of the request whose candidates are shown,
    `newest_version` that of the request now, 0 if it is gone. `differences` are by task: with one,
    or of an earlier `version`, a candidate's probability is not to be relied on. `opinions` are the
    servers' on the article's class. `proteins` has each accession's names, `spans` are its places
    in the text, `evidence` those that servers gave for an item. `relevant` and `note` are the
    curator's, and so is `publication` if the curator mended it. `undecided` are candidates in their
    order; `undo` and `redo` are the keys of the events that the next undo, and the next redo, name,
    empty for none. `uploaded` are the annotations that came with the article. `notice` is what to
    mind about the text.
    """

    own: bool
    text: str
    version: int
    newest_version: int
    release: str
    candidates: tuple[ShownCandidate, ...]
    differences: Mapping[str, PanelDifference]
    opinions: tuple[ClassVote, ...]
    proteins: Mapping[str, CuratedProtein]
    spans: tuple[CandidateSpan, ...]
    evidence: tuple[EvidenceSpan, ...]
    decisions: tuple[DecidedItem, ...]
    relevant: bool | None
    note: str
    publication: Publication
    undecided: tuple[UndecidedItem, ...]
    undo: str
    redo: str
    uploaded: UploadedVoice | None
    notice: str


class CurationWork(msgspec.Struct, frozen=True, kw_only=True):
    """A curation, read: its text, what was proposed, and its log."""

    text: str
    basis: CurationBasis
    additions: Additions
    log: list[CurationEvent]

    @classmethod
    def read(cls, content: CurationContent, events: Sequence[EventEntry]) -> CurationWork:
        """Unpack a curation; slow: call it in a thread."""
        return cls(
            text=unpack(content.text).decode("utf-8", "surrogatepass"),
            basis=msgspec.json.decode(unpack(content.basis), type=CurationBasis),
            additions=read_additions(content),
            log=[dated(event) for event in events],
        )

    def proteins(self) -> Mapping[str, CuratedProtein]:
        """Return the names of all accessions, also of those that were added."""
        return {**self.additions.proteins, **self.basis.proteins}

    def spans(self) -> tuple[CandidateSpan, ...]:
        """Return the places of all accessions in the text's order."""
        additions = Additions(spans=self.basis.spans)
        return united(additions, self.additions).spans if self.additions.spans else self.basis.spans


def read_additions(content: CurationContent) -> Additions:
    """Return what the curator added."""
    packed = content.additions
    return msgspec.json.decode(packed, type=Additions) if packed else Additions()


def read_event(entry: EventEntry) -> CurationEvent:
    """Return an event as it was sent."""
    return msgspec.json.decode(entry.event, type=CurationEvent)


def dated(entry: EventEntry) -> CurationEvent:
    """Return an event with its time: when it was received, unless its page said when."""
    event = read_event(entry)
    return event if event.at else msgspec.structs.replace(event, at=entry.at)


def packed_basis(basis: CurationBasis) -> bytes:
    """Return a basis as it is stored."""
    return pack(msgspec.json.encode(basis))


def view(
    entry: CurationEntry, work: CurationWork, of_set: str, *, is_own: bool, newest_version: int
) -> CurationDetail:
    """Return a curation with all that a page shows; slow: call it in a thread."""
    state, basis = fold(work.log), work.basis
    return CurationDetail(
        **msgspec.structs.asdict(CurationSummary.of(entry, of_set)),
        own=is_own,
        text=work.text,
        version=basis.version,
        newest_version=newest_version,
        release=basis.release,
        candidates=basis.candidates,
        differences=basis.differences,
        opinions=basis.relevant,
        proteins=work.proteins(),
        spans=work.spans(),
        evidence=basis.evidence,
        decisions=tuple(_decisions(state, {candidate.key for candidate in basis.candidates})),
        relevant=state.relevant,
        note=state.note,
        publication=published(entry.article, basis, state),
        undecided=tuple(undecided(basis, state)),
        undo=next_undo(work.log),
        redo=next_redo(work.log),
        uploaded=basis.uploaded,
        notice=NOTICE if basis.from_pdf else "",
    )


def published(article: str, basis: CurationBasis, state: CurationState) -> Publication:
    """Return an article's publication: as its curator mended it, else as it was sent."""
    publication = basis.publication.over(Publication.named(article))
    return publication if state.publication is None else state.publication


def _decisions(state: CurationState, candidates: Set[ItemKey]) -> Sequence[DecidedItem]:
    return [
        convert(
            decision,
            DecidedItem,
            task=str(task),
            item=item,
            by_hand=decision.by_hand and (task, item) not in candidates,
        )
        for (task, item), decision in state.items.items()
    ]
