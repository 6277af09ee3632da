"""Candidates of a curation as rows of its page: names, agreement, evidence, decisions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from annotators.baselines.sentences import INTERACTION, sentences
from metaserver.base.curations import is_uploaded
from metaserver.curation.basis import ShownCandidate
from metaserver.curation.candidates import CandidateVote, PanelDifference
from metaserver.curation.exports.finished import CuratedProtein
from metaserver.curation.mentions import CandidateSpan
from metaserver.curation.operations.curation_view import CurationDetail, DecidedItem
from metaserver.curation.pages.likelihood import UNLIKELY, Likelihood, likelihood, speaks
from metaserver.curation.pages.marking import MarkedParagraph, MarkedPlace, paragraphs
from metaserver.web.ui.formatting import element_id
from scoring import Task

SHOWN_WORDS = 60
"""The most characters of a name as the article has it."""
MOST_SENTENCES, LONGEST_SENTENCE = 5, 1_000
"""The most sentences offered for a pair, and characters in each; a longer one is a table."""

Place: TypeAlias = tuple[int, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Quote:
    """Words that speak for a candidate, and who gave them; `place` is None if not found.

    Without servers it is a sentence that names both proteins of a pair.
    """

    words: str
    servers: tuple[str, ...]
    place: tuple[int, int] | None


@dataclass(frozen=True, kw_only=True, slots=True)
class CandidateRow:
    """One item of a task: a candidate, or what the curator added.

    `probability` is None if it does not mean what it says, because of a `difference` or because it
    is `outdated`: the newest answers do not list it. `pairs` is the number of a protein's pairs
    that are not rejected; `rejected` has the proteins of a pair that are.
    """

    task: str
    item: tuple[str, ...]
    proteins: tuple[CuratedProtein, ...]
    candidate: ShownCandidate | None
    decided: DecidedItem | None
    mentions: int
    written: str
    quotes: Sequence[Quote]
    probability: float | None = None
    difference: PanelDifference | None = None
    outdated: bool = False
    pairs: int = 0
    rejected: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Its element's id."""
        return element_id(f"c-{self.task}", ",".join(self.item))

    @property
    def key(self) -> str:
        """Its task and item, as the scripts name it."""
        return f"{self.task}:{','.join(self.item)}"

    @property
    def decision(self) -> str:
        """The curator's decision."""
        return self.decided.decision if self.decided else "undecided"

    @property
    def name(self) -> str:
        """The entry names, or the accessions if there are none."""
        return " – ".join(protein.entry_name or protein.accession for protein in self.proteins)

    @property
    def symbols(self) -> str:
        """The primary gene symbols."""
        return " – ".join(protein.symbols[0] for protein in self.proteins if protein.symbols)

    @property
    def species(self) -> str:
        """The organisms, each once."""
        names = (
            protein.organism or (f"taxon {protein.taxid}" if protein.taxid else "")
            for protein in self.proteins
        )
        return ", ".join(dict.fromkeys(filter(None, names)))

    @property
    def answered(self) -> int:
        """The number of servers that answered, of which some named it."""
        candidate = self.candidate
        return (
            round(self._servers / candidate.agreement) if candidate and candidate.agreement else 0
        )

    @property
    def _servers(self) -> int:
        votes = self.candidate.votes if self.candidate else ()
        return sum(not is_uploaded(vote.server) for vote in votes)

    @property
    def named_by(self) -> str:
        """How many servers name it, and whether the uploaded file does."""
        votes = self.candidate.votes if self.candidate else ()
        plural = "" if self.answered == 1 else "s"
        servers = f"{self._servers}/{self.answered} server{plural}" if self.answered else ""
        file = "file" if len(votes) > self._servers else ""
        return " + ".join(filter(None, [servers, file])) or "by hand"

    @property
    def likelihood(self) -> Likelihood | None:
        """Its likelihood in words, if its probability means what it says."""
        return None if self.probability is None else likelihood(self.probability)

    @property
    def chance(self) -> str:
        """Its likelihood, or its rank if it has none."""
        if self.candidate is None:
            return ""
        if self.outdated:
            return "no longer listed"
        if self.candidate.by_file_alone:
            return "file alone"
        return self.likelihood.words if self.likelihood else f"rank {self.candidate.rank}"

    @property
    def parts(self) -> Sequence[tuple[CandidateVote, str]]:
        """The votes for it, each with how it speaks for it if that is known."""
        votes = self.candidate.votes if self.candidate else ()
        return [(vote, _words(vote)) for vote in votes]

    @property
    def prior(self) -> str:
        """What speaks for it before any answer; empty if that is not known."""
        bias = self.candidate.bias if self.candidate else None
        return "" if bias is None else speaks(bias)

    @property
    def unlikely(self) -> bool:
        """True for a pair that is most probably wrong, and not decided."""
        chance, undecided = self.probability, self.decision == "undecided"
        return self.task == Task.IPT and chance is not None and chance < UNLIKELY and undecided


def _words(vote: CandidateVote) -> str:
    if is_uploaded(vote.server):
        return "not weighed"
    return "" if vote.part is None else speaks(vote.part)


def rows_of(detail: CurationDetail) -> Mapping[str, Sequence[CandidateRow]]:
    """Return the rows of INT and IPT: candidates in their order, then what their curator added."""
    decided = {(decision.task, decision.item): decision for decision in detail.decisions}
    counts = Counter(span.accession for span in detail.spans)
    written = _written(detail)
    quotes = _quotes(detail)
    together = Together(detail.text, detail.spans)
    of_protein = Counter(name for one in open_pairs(detail) for name in set(one))
    rejected = rejected_proteins(detail)
    rows: dict[str, list[CandidateRow]] = {str(Task.INT): [], str(Task.IPT): []}
    candidates = {(candidate.task, candidate.item): candidate for candidate in detail.candidates}
    for task, item in [*candidates, *(key for key in decided if key not in candidates)]:
        is_pair = task == Task.IPT
        candidate = candidates.get((task, item))
        rows[task].append(
            CandidateRow(
                task=task,
                item=item,
                proteins=tuple(
                    detail.proteins.get(name) or CuratedProtein(accession=name) for name in item
                ),
                candidate=candidate,
                decided=decided.get((task, item)),
                mentions=sum(counts[name] for name in set(item)),
                written=" – ".join(dict.fromkeys(written.get(name, "") for name in item)).strip(
                    " –"
                ),
                quotes=_with_sentences(detail.text, quotes.get((task, item), ()), together.of(item))
                if is_pair
                else quotes.get((task, item), ()),
                probability=candidate.shown_probability(detail.differences, detail.version)
                if candidate
                else None,
                difference=detail.differences.get(task),
                outdated=candidate is not None and candidate.version != detail.version,
                pairs=0 if is_pair else of_protein[item[0]],
                rejected=tuple(sorted(rejected.intersection(item))) if is_pair else (),
            )
        )
    return rows


def open_pairs(detail: CurationDetail) -> Sequence[tuple[str, ...]]:
    """Return the pairs, candidates and added pairs, that are not rejected."""
    decisions = {one.item: one.decision for one in detail.decisions if one.task == Task.IPT}
    items = [one.item for one in detail.candidates if one.task == Task.IPT]
    return [
        item for item in dict.fromkeys([*items, *decisions]) if decisions.get(item) != "rejected"
    ]


def rejected_proteins(detail: CurationDetail) -> frozenset[str]:
    """Return the accessions that the curator rejected."""
    return frozenset(
        one.item[0]
        for one in detail.decisions
        if (one.task, one.decision) == (Task.INT, "rejected")
    )


def _with_sentences(text: str, quotes: Sequence[Quote], places: Sequence[Place]) -> Sequence[Quote]:
    """Return a pair's evidence with the sentences that name both, but for those quoted already."""
    given = [quote.place for quote in quotes if quote.place]
    sentences = [
        Quote(words=text[start:end], servers=(), place=(start, end))
        for start, end in places
        if not any(first < end and start < last for first, last in given)
    ]
    placed = [quote for quote in quotes if quote.place]
    return [*placed, *sentences, *(quote for quote in quotes if not quote.place)]


def marked_text(detail: CurationDetail) -> Sequence[MarkedParagraph]:
    """Return the article with the places of all candidates marked; slow for a long text."""
    agreement: dict[str, float] = {}
    for candidate in detail.candidates:
        if candidate.task == Task.INT:
            agreement[candidate.item[0]] = candidate.agreement
    for candidate in detail.candidates:
        for name in candidate.item:
            agreement.setdefault(name, candidate.agreement)
    places = (MarkedPlace(span.start, span.end, span.accession) for span in detail.spans)
    return paragraphs(detail.text, places, agreement)


def _written(detail: CurationDetail) -> Mapping[str, str]:
    """Return how the article mostly writes each accession."""
    counts: dict[str, Counter[str]] = {}
    for span in detail.spans:
        if span.end - span.start <= SHOWN_WORDS:
            words = detail.text[span.start : span.end]
            counts.setdefault(span.accession, Counter())[words] += 1
    return {accession: words.most_common(1)[0][0] for accession, words in counts.items()}


def _quotes(detail: CurationDetail) -> Mapping[tuple[str, tuple[str, ...]], list[Quote]]:
    """Return each candidate's evidence: those in the text first, in its order."""
    placed: dict[tuple[str, ...], list[Quote]] = {}
    for span in detail.evidence:
        quote = Quote(
            words=detail.text[span.start : span.end],
            servers=span.servers,
            place=(span.start, span.end),
        )
        placed.setdefault(span.item, []).append(quote)
    return {
        (candidate.task, candidate.item): [
            *placed.get(candidate.item, ()),
            *_unplaced(candidate, placed),
        ]
        for candidate in detail.candidates
    }


def _unplaced(
    candidate: ShownCandidate, placed: Mapping[tuple[str, ...], Sequence[Quote]]
) -> Iterator[Quote]:
    there = {server for quote in placed.get(candidate.item, ()) for server in quote.servers}
    for vote in candidate.votes:
        if vote.evidence and vote.server not in there:
            yield Quote(words=vote.evidence, servers=(vote.server,), place=None)


# -- sentences that name both proteins of a pair: offered as its evidence -------------------------


class Together:
    """The sentences of a text, by the accessions that they name."""

    def __init__(self, text: str, spans: Iterable[CandidateSpan]) -> None:
        self._text = text
        self._known: dict[str, dict[Place, Place]] = {}
        """By accession and sentence: the end of its first mention, the start of its last."""
        places = [one for one in sentences(text) if one[1] - one[0] <= LONGEST_SENTENCE]
        number = 0
        for span in sorted(spans, key=lambda one: (one.start, one.end)):
            while number < len(places) and places[number][1] <= span.start:
                number += 1
            if number == len(places):
                break
            sentence = places[number]
            if sentence[0] <= span.start and span.end <= sentence[1]:
                known = self._known.setdefault(span.accession, {})
                end, _ = known.get(sentence, (span.end, 0))
                known[sentence] = (min(end, span.end), span.start)

    def of(self, item: Sequence[str]) -> Sequence[Place]:
        """Return the sentences in which both stand at places of their own, at most five.

        Those with a word for an interaction come first, then those earlier in the text.
        """
        one, other = (self._of(accession) for accession in item)
        shared = [
            sentence
            for sentence in one.keys() & other.keys()
            if one[sentence][0] <= other[sentence][1] or other[sentence][0] <= one[sentence][1]
        ]
        shared.sort(key=lambda place: (INTERACTION.search(self._text, *place) is None, place))
        return shared[:MOST_SENTENCES]

    def _of(self, accession: str) -> Mapping[Place, Place]:
        return self._known.get(accession, {})
