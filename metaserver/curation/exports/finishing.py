"""A finished curation made from its log of events and from what servers proposed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from metaserver.curation.decisions import CurationEvent, ItemDecision, ItemKey, fold
from metaserver.curation.exports.finished import (
    CuratedArticle,
    CuratedItem,
    CuratedProtein,
    CurationOrigin,
    FinishedCuration,
    Passage,
    ProposedBy,
)
from metaserver.curation.mentions import CandidateSpan


class ProposedItem(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate as the page showed it; the probability is None for a mere score.

    `request_version` is that of the request with which it was shown, `consensus` the method that
    found it, `model` its model.
    """

    servers: tuple[ProposedBy, ...] = ()
    probability: float | None = None
    request_version: int = 0
    consensus: str = ""
    model: str = ""


def finish(
    curation: str,
    article: CuratedArticle,
    curator: str,
    log: Sequence[CurationEvent],
    *,
    submitted_at: float,
    opened_at: float = 0.0,
    proposed: Mapping[ItemKey, ProposedItem] | None = None,
    proteins: Mapping[str, CuratedProtein] | None = None,
    spans: Sequence[CandidateSpan] = (),
    origin: CurationOrigin | None = None,
) -> FinishedCuration:
    """Return a curation as its exports are written from it; undecided items are left out.

    `proposed` has the candidates in the order of their ranks, which the items keep; items that the
    curator added follow.
    """
    state, candidates = fold(log), proposed or {}
    keys = [key for key in candidates if key in state.items]
    keys += [key for key in state.items if key not in candidates]
    mentions: dict[str, list[Passage]] = {}
    for span in spans:
        mentions.setdefault(span.accession, []).append(Passage(start=span.start, end=span.end))
    return FinishedCuration(
        id=curation,
        article=article,
        curator=curator,
        submitted_at=submitted_at,
        opened_at=opened_at,
        relevant=state.relevant,
        proteins=proteins or {},
        mentions={accession: tuple(places) for accession, places in mentions.items()},
        items=tuple(
            _item(key, state.items[key], candidates.get(key, ProposedItem()), curator)
            for key in keys
            if state.items[key].decision != "undecided"
        ),
        events=tuple(log),
        origin=origin or CurationOrigin(),
    )


def _item(
    key: ItemKey, decision: ItemDecision, candidate: ProposedItem, curator: str
) -> CuratedItem:
    return CuratedItem(
        task=key[0],
        item=key[1],
        accepted=decision.decision == "accepted",
        probability=candidate.probability,
        servers=candidate.servers,
        evidence=tuple(Passage(start=start, end=end) for start, end in decision.evidence),
        experiments=decision.experiments,
        reason=decision.reason,
        note=decision.note,
        curator=curator,
        decided_at=decision.at,
        by_hand=decision.by_hand and not candidate.servers,
        request_version=decision.detail.request_version or candidate.request_version,
        consensus=candidate.consensus,
        model=candidate.model,
    )
