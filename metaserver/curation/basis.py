"""The basis of a curation: what its curator was shown, kept with it when the request is deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from itertools import islice

import msgspec

from metaserver.base.compression import unpack
from metaserver.base.lanes import Asides
from metaserver.base.publications import UNKNOWN, Publication
from metaserver.base.records import ServerName
from metaserver.curation.asking import accepted
from metaserver.curation.candidates import (
    CandidateVote,
    ClassVote,
    ConsensusCandidate,
    Models,
    find,
    model_for,
)
from metaserver.curation.decisions import CurationState, ItemKey
from metaserver.curation.exports.finished import CuratedProtein, ProposedBy
from metaserver.curation.exports.finishing import ProposedItem
from metaserver.curation.mentions import (
    MOST_SPANS,
    CandidateSpan,
    EvidenceSpan,
    Mentions,
    SentEvidence,
    SentMention,
)
from metaserver.curation.proteins import ReleaseProteins, curated, matched
from metaserver.curation.store.requests import RequestAnswer, StoredRequest
from metaserver.uniprot.directory import NamedEntry
from scoring import Task

MOST_EVIDENCE = 1_000_000
"""The most characters of evidence that a basis keeps; that of later candidates is left out."""
MOST_SENT = 2_000
"""The most mentions of candidates that one server's answer adds, so that none crowds out others."""


class ShownCandidate(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate as a curator is shown it: an accession (INT) or two (IPT).

    Its fields are those of a request's candidate; `version` is that of the request with which it
    was shown last, `method` how it was found, `model` the model, empty for a fusion. Its places in
    the text are among the basis' spans.
    """

    task: str
    item: tuple[str, ...]
    rank: int
    score: float
    probability: float | None
    agreement: float
    bias: float | None
    votes: tuple[CandidateVote, ...]
    new_since: int
    version: int
    method: str
    model: str = ""

    @property
    def key(self) -> ItemKey:
        """Its task and item."""
        return Task(self.task), self.item


class CurationBasis(msgspec.Struct, frozen=True, kw_only=True):
    """The candidates of an article, with names and places.

    `version` is that of the request, `teams` has the team of each server that answered, empty for
    none. `proteins` has the names of each accession, `spans` are the
    places where servers or the hub saw one, `evidence` those that servers gave for an item.
    `from_pdf`: the text was read out of a PDF. `publication` is what is known of the article's.
    """

    version: int = 0
    release: str = ""
    teams: Mapping[ServerName, str] = {}
    candidates: tuple[ShownCandidate, ...] = ()
    relevant: tuple[ClassVote, ...] = ()
    proteins: Mapping[str, CuratedProtein] = {}
    spans: tuple[CandidateSpan, ...] = ()
    evidence: tuple[EvidenceSpan, ...] = ()
    from_pdf: bool = False
    publication: Publication = UNKNOWN

    def accessions(self) -> list[str]:
        """Return the accessions of all candidates, those of INT first."""
        ordered = sorted(self.candidates, key=lambda one: one.task != Task.INT)
        return list(dict.fromkeys(name for one in ordered for name in one.item))

    def proposed(self) -> Mapping[ItemKey, ProposedItem]:
        """Return the candidates as exports have them."""
        return {
            one.key: ProposedItem(
                probability=one.probability,
                request_version=one.version,
                consensus=one.method,
                model=one.model,
                servers=tuple(
                    ProposedBy(
                        server=vote.server,
                        rank=vote.rank,
                        confidence=vote.confidence,
                        evidence=vote.evidence,
                    )
                    for vote in one.votes
                ),
            )
            for one in self.candidates
        }


class UndecidedItem(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate without a decision; of ACT, the article's class, its item is empty."""

    task: str
    item: tuple[str, ...]


class ShownItem(msgspec.Struct, frozen=True, kw_only=True):
    """The item of a candidate."""

    item: tuple[str, ...]


class ShownItems(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a basis that says which accessions it has; quick to read."""

    version: int = 0
    release: str = ""
    candidates: tuple[ShownItem, ...] = ()


class Additions(msgspec.Struct, frozen=True, kw_only=True):
    """Names and places of the proteins that a curator added."""

    proteins: Mapping[str, CuratedProtein] = {}
    spans: tuple[CandidateSpan, ...] = ()


def find_basis(
    request: StoredRequest,
    answers: Sequence[RequestAnswer],
    version: int,
    models: Models,
    names: ReleaseProteins,
) -> CurationBasis:
    """Return the basis of a request's answers so far; slow for a long text: call it in a thread."""
    text = unpack(request.text).decode("utf-8", "surrogatepass")
    found = find(request, answers, models)
    left = MOST_EVIDENCE
    candidates = []
    for one in found.candidates:
        model = model_for(Task(one.task), request.options.method, models)
        named = f"{model.task} {model.gold}".strip() if model.calibrated else ""
        candidates.append(_shown(one, version, found.methods[one.task], named, left))
        left -= sum(len(vote.evidence) for vote in candidates[-1].votes)
    basis = CurationBasis(
        version=version,
        release=names.release,
        teams={one.server: one.team for one in answers},
        candidates=tuple(candidates),
        relevant=found.relevant,
        from_pdf=request.options.from_pdf,
        publication=request.options.publication,
    )
    return placed(
        basis, text, _sent(answers, set(basis.accessions())), names.entries(basis.accessions())
    )


def placed(
    basis: CurationBasis,
    text: str,
    sent: Iterable[SentMention],
    entries: Mapping[str, NamedEntry],
) -> CurationBasis:
    """Return a basis with the names of its candidates, and their places in the text."""
    mentions = Mentions(text)
    return msgspec.structs.replace(
        basis,
        proteins={accession: curated(one) for accession, one in entries.items()},
        spans=tuple(mentions.spans(sent, map(matched, entries.values()))),
        evidence=tuple(
            mentions.evidence(
                SentEvidence(server=vote.server, item=one.item, words=vote.evidence)
                for one in basis.candidates
                for vote in one.votes
                if vote.evidence
            )
        ),
    )


def merged(new: CurationBasis, old: CurationBasis) -> CurationBasis:
    """Return a basis with the candidates of an older one that it no longer has, at the end.

    A curator may have decided on them; their `version` says when they were shown.
    """
    known = {one.key for one in new.candidates}
    kept = tuple(one for one in old.candidates if one.key not in known)
    items = {one.item for one in kept}
    accessions = {accession for item in items for accession in item}
    return msgspec.structs.replace(
        new,
        teams={**old.teams, **new.teams},
        candidates=(*new.candidates, *kept),
        proteins={**old.proteins, **new.proteins},
        spans=tuple(
            sorted({*new.spans, *(one for one in old.spans if one.accession in accessions)})
        )[:MOST_SPANS],
        evidence=tuple(
            sorted({*new.evidence, *(one for one in old.evidence if one.item in items)})
        ),
    )


def renamed(basis: CurationBasis, shown: Callable[[str], str]) -> CurationBasis:
    """Return a basis with the names by which servers are shown; equal votes in their order."""

    def votes(given: Sequence[CandidateVote]) -> tuple[CandidateVote, ...]:
        found = [msgspec.structs.replace(vote, server=shown(vote.server)) for vote in given]
        found.sort(key=lambda vote: (-(vote.part or 0.0), vote.rank, vote.server))
        return tuple(found)

    def names(servers: Sequence[str]) -> tuple[str, ...]:
        return tuple(sorted(map(shown, servers)))

    opinions = [msgspec.structs.replace(one, server=shown(one.server)) for one in basis.relevant]
    return msgspec.structs.replace(
        basis,
        candidates=tuple(
            msgspec.structs.replace(one, votes=votes(one.votes)) for one in basis.candidates
        ),
        relevant=tuple(sorted(opinions, key=lambda one: one.server)),
        spans=tuple(replace(one, servers=names(one.servers)) for one in basis.spans),
        evidence=tuple(replace(one, servers=names(one.servers)) for one in basis.evidence),
    )


def undecided(basis: CurationBasis, state: CurationState) -> Sequence[UndecidedItem]:
    """Return the candidates without a decision; the article's class where servers gave one."""
    found = [
        UndecidedItem(task=one.task, item=one.item)
        for one in basis.candidates
        if one.key not in state.items or state.items[one.key].decision == "undecided"
    ]
    if basis.relevant and state.relevant is None:
        found.append(UndecidedItem(task=str(Task.ACT), item=()))
    return found


def add_proteins(text: str, accessions: Sequence[str], names: ReleaseProteins) -> Additions:
    """Return the names and places of further accessions; slow: call it in a thread."""
    found = names.entries(accessions)
    spans = Mentions(text).spans((), map(matched, found.values())) if found else []
    return Additions(
        proteins={
            accession: curated(found[accession])
            if accession in found
            else CuratedProtein(accession=accession)
            for accession in accessions
        },
        spans=tuple(spans),
    )


def united(one: Additions, other: Additions) -> Additions:
    """Return the additions of both."""
    return Additions(
        proteins={**one.proteins, **other.proteins},
        spans=tuple(sorted({*one.spans, *other.spans}))[:MOST_SPANS],
    )


def _shown(
    one: ConsensusCandidate, version: int, method: str, model: str, left: int
) -> ShownCandidate:
    votes = []
    for vote in one.votes:
        left -= len(vote.evidence)
        votes.append(vote if left >= 0 else msgspec.structs.replace(vote, evidence=""))
    return ShownCandidate(
        task=one.task,
        item=one.item,
        rank=one.rank,
        score=one.score,
        probability=one.probability,
        agreement=one.agreement,
        bias=one.bias,
        votes=tuple(votes),
        new_since=one.new_since,
        version=version,
        method=method,
        model=model,
    )


def _sent(answers: Sequence[RequestAnswer], known: Set[str]) -> Iterable[SentMention]:
    """Yield the mentions of known accessions that servers sent, each once."""
    for answer in accepted(answers).values():
        asides = (
            msgspec.json.decode(unpack(answer.asides), type=Asides) if answer.asides else Asides()
        )
        mine = (
            SentMention(server=answer.server, accession=accession, offset=offset, words=words)
            for offset, words, _, accession in asides.mentions
            if accession in known
        )
        yield from islice(dict.fromkeys(mine), MOST_SENT)
