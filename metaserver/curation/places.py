"""The places of candidates that no server showed in the text: by evidence, else by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from metaserver.curation.candidates import MOST_MENTIONS, ConsensusCandidate, Span
from metaserver.curation.mentions import Mentions, SentEvidence
from metaserver.curation.named import NamedPlaces
from metaserver.curation.proteins import ReleaseProteins


def placed(
    candidates: tuple[ConsensusCandidate, ...],
    text: str,
    names: ReleaseProteins,
    named: NamedPlaces,
) -> tuple[ConsensusCandidate, ...]:
    """Return candidates, those without a place with the first of their evidence, else of names.

    Slow for a long text: call it in a thread, and not twice at a time with the same `named`.
    """
    bare = [one for one in candidates if not one.mentions]
    quoted = _quoted(bare, text)
    nameless = [one for one in bare if (one.task, one.item) not in quoted]
    if nameless:  # beside the others: a name may be part of theirs
        named.search(text, (each for one in (*nameless, *candidates) for each in one.item), names)
    found = []
    for one in candidates:
        spans = one.mentions or quoted.get((one.task, one.item)) or _named(one.item, named)
        found.append(msgspec.structs.replace(one, mentions=spans))
    return tuple(found)


def _quoted(
    candidates: Iterable[ConsensusCandidate], text: str
) -> Mapping[tuple[str, tuple[str, ...]], tuple[Span, ...]]:
    """Return where the evidence of candidates stands, by task and item."""
    sent: dict[str, list[SentEvidence]] = {}
    for one in candidates:
        for vote in one.votes:
            if vote.evidence:
                quote = SentEvidence(server=vote.server, item=one.item, words=vote.evidence)
                sent.setdefault(one.task, []).append(quote)
    if not sent:
        return {}
    mentions = Mentions(text)
    found: dict[tuple[str, tuple[str, ...]], tuple[Span, ...]] = {}
    for task, quotes in sent.items():
        for place in mentions.evidence(quotes):
            span = Span(start=place.start, end=place.end, servers=place.servers, origin="evidence")
            found[task, place.item] = (*found.get((task, place.item), ()), span)
    return {key: spans[:MOST_MENTIONS] for key, spans in found.items()}


def _named(item: tuple[str, ...], named: NamedPlaces) -> tuple[Span, ...]:
    places = sorted({place for accession in item for place in named.places.get(accession, ())})
    return tuple(
        Span(start=start, end=end, servers=(), origin="names")
        for start, end in places[:MOST_MENTIONS]
    )
