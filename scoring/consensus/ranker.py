"""One article's candidates from the answers that have arrived so far.

This is what a hub calls each time that an answer arrives: no file, no clock, no training. Servers
that are late, suspended or silent are just not among the answers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scoring.consensus.measures import ranked_rows
from scoring.consensus.model import MOST_WEIGHT, ConsensusModel, probabilities
from scoring.consensus.votes import CUTOFF, Floats, Votes
from scoring.errors import OptionError
from scoring.tasks import Hit, Item

_ARTICLE = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Vote:
    """One server's hit for a candidate: its rank and confidence there.

    `part` is what the server adds to the candidate's log-odds; None of a method without them.
    """

    server: str
    rank: int
    confidence: float
    part: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class RankedCandidate:
    """One candidate of an article, with all that speaks for it.

    `score` orders candidates; of a learned method it is the log-odds that the candidate is correct,
    `probability` the same in [0, 1], and the votes' parts and `bias` sum to it. `agreement` is the
    share of the servers that answered which name it. `votes` are by falling part, or rising rank.
    """

    item: Item
    rank: int
    score: float
    probability: float | None
    agreement: float
    bias: float | None
    votes: tuple[Vote, ...]

    @property
    def parts(self) -> Mapping[str, float]:
        """The log-odds that each server which names the candidate adds, and `bias`."""
        parts = {vote.server: vote.part for vote in self.votes if vote.part is not None}
        return {**parts, "bias": self.bias} if self.bias is not None else parts


@dataclass(frozen=True, kw_only=True, slots=True)
class Consensus:
    """The candidates of one article, best first, and who had a part in them.

    `answered` and `absent` are the members with and without an answer, `unknown` the servers that
    answered and that the model does not know. `left_out` counts the candidates below the least
    probability or beyond the cutoff.
    """

    candidates: tuple[RankedCandidate, ...]
    answered: tuple[str, ...]
    absent: tuple[str, ...]
    unknown: tuple[str, ...]
    left_out: int


class ConsensusRanker:
    """The application of a model to answers, article by article; may be used in any thread."""

    def __init__(self, model: ConsensusModel) -> None:
        self.model = model
        self._known = frozenset(member.name for member in model.members)

    def rank(
        self,
        answers: Mapping[str, Sequence[Hit]],
        *,
        weights: Mapping[str, float] | None = None,
        cutoff: int | None = CUTOFF,
        threshold: float | None = None,
    ) -> Consensus:
        """Return the consensus of the servers' answers to one article.

        `answers` has the hits of each server that answered, none for one that found nothing.
        `weights` are the user's weights of servers, 1 where none is given (unknown servers: less).
        `threshold` is the least probability, by default the model's, 0 for none; the best candidate
        always stays. Raises `OptionError` for a weight, threshold or cutoff out of range.
        """
        self._require(weights or {}, cutoff, threshold)
        votes = Votes.of(
            {name: {_ARTICLE: hits} for name, hits in answers.items()},
            [_ARTICLE],
            cutoff=self.model.selection_cutoff,
        )
        weighed = self.model.server_weights(votes.servers, weights or {})
        scores = self.model.scores(votes, weighed)
        least = self.model.threshold if threshold is None else threshold
        listed = ranked_rows(votes, scores, cutoff=cutoff, least=_least(self.model, least))
        return Consensus(
            candidates=self._candidates(votes, weighed, scores, listed.tolist()),
            answered=tuple(name for name in votes.servers if name in self._known),
            absent=tuple(sorted(self._known - answers.keys())),
            unknown=tuple(name for name in votes.servers if name not in self._known),
            left_out=len(votes) - len(listed),
        )

    def _candidates(
        self, votes: Votes, weights: Floats, scores: Floats, listed: Sequence[int]
    ) -> tuple[RankedCandidate, ...]:
        learned = self.model.calibrated
        parts = self.model.weights.parts(votes, weights).tolist() if learned else None
        found = self._votes(votes, parts)
        values, chances = scores.tolist(), probabilities(scores).tolist()
        servers = len(votes.servers)
        return tuple(
            RankedCandidate(
                item=votes.items[row],
                rank=rank,
                score=values[row],
                probability=chances[row] if learned else None,
                agreement=len(found[row]) / servers,
                bias=self.model.bias if learned else None,
                votes=tuple(found[row]),
            )
            for rank, row in enumerate(listed, start=1)
        )

    def _votes(self, votes: Votes, parts: Sequence[float] | None) -> Sequence[list[Vote]]:
        """Return the votes of each row."""
        found: list[list[Vote]] = [[] for _ in range(len(votes))]
        columns = (votes.row, votes.server, votes.place, votes.confidence)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for number, (row, server, place, confidence) in enumerate(rows):
            part = parts[number] if parts else None
            vote = Vote(
                server=votes.servers[server], rank=int(place), confidence=confidence, part=part
            )
            found[row].append(vote)
        for of_row in found:
            of_row.sort(key=lambda vote: (-(vote.part or 0.0), vote.rank, vote.server))
        return found

    def _require(
        self, weights: Mapping[str, float], cutoff: int | None, threshold: float | None
    ) -> None:
        for name, weight in weights.items():
            if not 0 <= weight <= MOST_WEIGHT:
                expected = f"a number from 0 to {MOST_WEIGHT:g}"
                raise OptionError(f"a weight of {weight} for {name!r}; expected {expected}")
        if cutoff is not None and cutoff < 1:
            raise OptionError(f"a cutoff of {cutoff}; expected at least 1")
        if threshold is not None and not 0 <= threshold < 1:
            raise OptionError(f"a threshold of {threshold}; expected at least 0 and less than 1")
        if threshold and not self.model.calibrated:
            raise OptionError(f"{self.model.method} has no probabilities, so no threshold applies")


def _least(model: ConsensusModel, threshold: float | None) -> Floats | None:
    """Return the least score of the article."""
    if not threshold or not model.calibrated:
        return None
    return np.array([math.log(threshold / (1 - threshold))])
