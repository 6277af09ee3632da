"""A curation's basis: what its curator was shown, kept with it when the request is deleted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from itertools import islice

import msgspec

from metaserver.base.compression import unpack
from metaserver.base.curations import UPLOADED, UploadedVoice
from metaserver.base.lanes import Asides
from metaserver.base.publications import UNKNOWN, Publication
from metaserver.base.records import ServerName
from metaserver.base.structs import convert
from metaserver.curation.asking import accepted
from metaserver.curation.candidates import (
    CandidateVote,
    ClassVote,
    ConsensusCandidate,
    Models,
    PanelDifference,
    ScoredCandidate,
    find,
    model_for,
)
from metaserver.curation.decisions import CurationEvent, CurationState, ItemKey, fold
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
from metaserver.curation.uploaded import as_answer, stored_voice
from metaserver.uniprot.directory import NamedEntry
from scoring import Task

MOST_EVIDENCE = 1_000_000
"""The maximum characters of evidence in a basis; later candidates' evidence is left out."""
MOST_SENT = 2_000
"""The maximum mentions that one server's answer adds, so that none crowds out others."""


class ShownCandidate(ScoredCandidate, frozen=True, kw_only=True):
    """A candidate as shown to a curator.

    `version` is the request version with which it was shown last, `method` how it was found,
    `model` the model, empty for a fusion. Its places in the text are among the basis' spans.
    """

    version: int
    method: str
    model: str = ""

    @property
    def key(self) -> ItemKey:
        """Its task and item."""
        return Task(self.task), self.item

    def shown_probability(
        self, differences: Mapping[str, PanelDifference], version: int
    ) -> float | None:
        """Return its probability, if the servers that the model learned from answered as then.

        A candidate of an earlier version is no longer listed.
        """
        differs = self.task in differences or self.version != version
        return None if differs else self.probability


class CurationBasis(msgspec.Struct, frozen=True, kw_only=True):
    """An article's candidates, with names and places.

    `version` is that of the request, `teams` has the team of each server that was asked, empty for
    none, `differences` are by task. `proteins` has each accession's names, `spans` are the places
    where servers or the hub saw a protein, `evidence` those that servers gave for an item.
    `uploaded` are the annotations that came with the article, if there are any.
    `from_pdf`: the text was read out of a PDF. `publication` is what is known of the article's.
    """

    version: int = 0
    release: str = ""
    teams: Mapping[ServerName, str] = {}
    candidates: tuple[ShownCandidate, ...] = ()
    differences: Mapping[str, PanelDifference] = {}
    relevant: tuple[ClassVote, ...] = ()
    proteins: Mapping[str, CuratedProtein] = {}
    spans: tuple[CandidateSpan, ...] = ()
    evidence: tuple[EvidenceSpan, ...] = ()
    uploaded: UploadedVoice | None = None
    from_pdf: bool = False
    publication: Publication = UNKNOWN

    def accessions(self) -> list[str]:
        """Return the accessions of all candidates, those of INT first."""
        ordered = sorted(self.candidates, key=lambda candidate: candidate.task != Task.INT)
        return list(dict.fromkeys(name for candidate in ordered for name in candidate.item))

    def proposed(self) -> Mapping[ItemKey, ProposedItem]:
        """Return the candidates as exports have them."""
        return {
            candidate.key: ProposedItem(
                probability=candidate.shown_probability(self.differences, self.version),
                request_version=candidate.version,
                consensus=candidate.method,
                model=candidate.model,
                servers=tuple(convert(vote, ProposedBy) for vote in candidate.votes),
            )
            for candidate in self.candidates
        }


class UndecidedItem(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate without a decision; for ACT, the article's class, with an empty item."""

    task: str
    item: tuple[str, ...]


class ShownItem(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate's task and item."""

    task: Task
    item: tuple[str, ...]

    @property
    def key(self) -> ItemKey:
        """Both."""
        return self.task, self.item


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
    teams: Mapping[ServerName, str],
    version: int,
    models: Models,
    names: ReleaseProteins,
    changed: Mapping[str, Sequence[ServerName]] = {},
) -> CurationBasis:
    """Return the basis of a request's answers so far; slow for a long text: call it in a thread."""
    text = unpack(request.text).decode("utf-8", "surrogatepass")
    result = find(request, answers, models, changed=changed)
    stored, file = stored_voice(request), as_answer(request)
    remaining = MOST_EVIDENCE
    candidates = []
    for candidate in result.candidates:
        model = model_for(Task(candidate.task), request.options.method, models)
        calibration = f"{model.task} {model.gold}".strip() if model.calibrated else ""
        method = result.methods.get(candidate.task, "")
        if candidate.by_file_alone:
            method, calibration = UPLOADED.strip(), ""
        candidates.append(_shown(candidate, version, method, calibration, remaining))
        remaining -= sum(len(vote.evidence) for vote in candidates[-1].votes)
    basis = CurationBasis(
        version=version,
        release=names.release,
        teams=teams,
        candidates=tuple(candidates),
        differences=result.differences,
        relevant=result.relevant,
        uploaded=None if stored is None else stored.voice,
        from_pdf=request.options.from_pdf,
        publication=request.options.publication,
    )
    sent = _sent([*answers, *filter(None, [file])], set(basis.accessions()))
    return placed(basis, text, sent, names.entries(basis.accessions()))


def placed(
    basis: CurationBasis,
    text: str,
    sent_mentions: Iterable[SentMention],
    entries: Mapping[str, NamedEntry],
) -> CurationBasis:
    """Return a basis with the names of its candidates, and their places in the text."""
    mentions = Mentions(text)
    return msgspec.structs.replace(
        basis,
        proteins={accession: curated(entry) for accession, entry in entries.items()},
        spans=tuple(mentions.spans(sent_mentions, map(matched, entries.values()))),
        evidence=tuple(
            mentions.evidence(
                SentEvidence(server=vote.server, item=candidate.item, words=vote.evidence)
                for candidate in basis.candidates
                for vote in candidate.votes
                if vote.evidence
            )
        ),
    )


def merged(newer: CurationBasis, older: CurationBasis) -> CurationBasis:
    """Return a basis with an older basis' missing candidates at the end.

    A curator may have decided on them; their `version` says when they were shown.
    """
    keys = {candidate.key for candidate in newer.candidates}
    rest = tuple(candidate for candidate in older.candidates if candidate.key not in keys)
    items = {candidate.item for candidate in rest}
    accessions = {accession for item in items for accession in item}
    return msgspec.structs.replace(
        newer,
        teams={**older.teams, **newer.teams},
        candidates=(*newer.candidates, *rest),
        proteins={**older.proteins, **newer.proteins},
        spans=tuple(
            sorted({*newer.spans, *(span for span in older.spans if span.accession in accessions)})
        )[:MOST_SPANS],
        evidence=tuple(
            sorted({*newer.evidence, *(quote for quote in older.evidence if quote.item in items)})
        ),
    )


def renamed(basis: CurationBasis, shown_name: Callable[[str], str]) -> CurationBasis:
    """Return a basis with the names by which servers are shown; equal votes in their order."""

    def votes(given_votes: Sequence[CandidateVote]) -> tuple[CandidateVote, ...]:
        renamed_votes = [
            msgspec.structs.replace(vote, server=shown_name(vote.server)) for vote in given_votes
        ]
        renamed_votes.sort(key=lambda vote: (-(vote.part or 0.0), vote.rank, vote.server))
        return tuple(renamed_votes)

    def names(servers: Sequence[str]) -> tuple[str, ...]:
        return tuple(sorted(map(shown_name, servers)))

    opinions = [
        msgspec.structs.replace(opinion, server=shown_name(opinion.server))
        for opinion in basis.relevant
    ]
    return msgspec.structs.replace(
        basis,
        candidates=tuple(
            msgspec.structs.replace(candidate, votes=votes(candidate.votes))
            for candidate in basis.candidates
        ),
        differences={
            task: difference.renamed(shown_name) for task, difference in basis.differences.items()
        },
        relevant=tuple(sorted(opinions, key=lambda opinion: opinion.server)),
        spans=tuple(replace(span, servers=names(span.servers)) for span in basis.spans),
        evidence=tuple(replace(quote, servers=names(quote.servers)) for quote in basis.evidence),
    )


def counts(candidates: Iterable[ItemKey], log: Sequence[CurationEvent]) -> Mapping[str, int]:
    """Return how many items are accepted and rejected, and candidates undecided."""
    items = fold(log).items
    decisions = Counter(one.decision for one in items.values())
    decided = {key for key, one in items.items() if one.decision != "undecided"}
    return {
        "accepted": decisions["accepted"],
        "rejected": decisions["rejected"],
        "undecided": sum(key not in decided for key in candidates),
    }


def undecided(basis: CurationBasis, state: CurationState) -> Sequence[UndecidedItem]:
    """Return the candidates without a decision; the article's class if servers gave it."""
    items = [
        UndecidedItem(task=candidate.task, item=candidate.item)
        for candidate in basis.candidates
        if candidate.key not in state.items or state.items[candidate.key].decision == "undecided"
    ]
    if basis.relevant and state.relevant is None:
        items.append(UndecidedItem(task=str(Task.ACT), item=()))
    return items


def add_proteins(text: str, accessions: Sequence[str], names: ReleaseProteins) -> Additions:
    """Return the names and places of further accessions; slow: call it in a thread."""
    entries = names.entries(accessions)
    spans = Mentions(text).spans((), map(matched, entries.values())) if entries else []
    return Additions(
        proteins={
            accession: curated(entries[accession])
            if accession in entries
            else CuratedProtein(accession=accession)
            for accession in accessions
        },
        spans=tuple(spans),
    )


def united(first: Additions, second: Additions) -> Additions:
    """Return the additions of both."""
    return Additions(
        proteins={**first.proteins, **second.proteins},
        spans=tuple(sorted({*first.spans, *second.spans}))[:MOST_SPANS],
    )


def _shown(
    candidate: ConsensusCandidate, version: int, method: str, model: str, remaining: int
) -> ShownCandidate:
    votes = []
    for vote in candidate.votes:
        remaining -= len(vote.evidence)
        votes.append(vote if remaining >= 0 else msgspec.structs.replace(vote, evidence=""))
    return convert(
        candidate, ShownCandidate, votes=tuple(votes), version=version, method=method, model=model
    )


def _sent(answers: Sequence[RequestAnswer], primary: Set[str]) -> Iterable[SentMention]:
    """Yield the mentions of known accessions that servers sent, each once."""
    for answer in accepted(answers).values():
        asides = Asides.unpacked(answer.asides)
        mine = (
            SentMention(server=answer.server, accession=accession, offset=offset, words=words)
            for offset, words, _, accession in asides.mentions
            if accession in primary
        )
        yield from islice(dict.fromkeys(mine), MOST_SENT)
