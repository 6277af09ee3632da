"""The places of candidates that no server showed in the text: by evidence, else by names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from metaserver.curation.candidates import MOST_MENTIONS, ConsensusCandidate, Span
from metaserver.curation.mentions import Mentions, SentEvidence
from metaserver.curation.proteins import NamedPlaces, ReleaseProteins


def placed(
    candidates: tuple[ConsensusCandidate, ...],
    text: str,
    names: ReleaseProteins,
    places: NamedPlaces,
) -> tuple[ConsensusCandidate, ...]:
    """Return candidates, those without a place with the first of their evidence, else of names.

    Slow for a long text: call it in a thread, and not twice at a time with the same `named`.
    """
    bare = [candidate for candidate in candidates if not candidate.mentions]
    quoted = _quoted(bare, text)
    nameless = [candidate for candidate in bare if (candidate.task, candidate.item) not in quoted]
    if nameless:  # beside the others: a name may be part of theirs
        places.search(
            text, (each for candidate in (*nameless, *candidates) for each in candidate.item), names
        )
    result = []
    for candidate in candidates:
        spans = (
            candidate.mentions
            or quoted.get((candidate.task, candidate.item))
            or _named(candidate.item, places)
        )
        result.append(msgspec.structs.replace(candidate, mentions=spans))
    return tuple(result)


def _quoted(
    candidates: Iterable[ConsensusCandidate], text: str
) -> Mapping[tuple[str, tuple[str, ...]], tuple[Span, ...]]:
    """Return where the candidates' evidence stands, by task and item."""
    sent: dict[str, list[SentEvidence]] = {}
    for candidate in candidates:
        for vote in candidate.votes:
            if vote.evidence:
                quote = SentEvidence(server=vote.server, item=candidate.item, words=vote.evidence)
                sent.setdefault(candidate.task, []).append(quote)
    if not sent:
        return {}
    mentions = Mentions(text)
    placed_quotes: dict[tuple[str, tuple[str, ...]], tuple[Span, ...]] = {}
    for task, quotes in sent.items():
        for place in mentions.evidence(quotes):
            span = Span(start=place.start, end=place.end, servers=place.servers, origin="evidence")
            placed_quotes[task, place.item] = (*placed_quotes.get((task, place.item), ()), span)
    return {key: spans[:MOST_MENTIONS] for key, spans in placed_quotes.items()}


def _named(item: tuple[str, ...], named: NamedPlaces) -> tuple[Span, ...]:
    places = sorted({place for accession in item for place in named.places.get(accession, ())})
    return tuple(
        Span(start=start, end=end, servers=(), origin="names")
        for start, end in places[:MOST_MENTIONS]
    )
