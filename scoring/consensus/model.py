"""A trained consensus: what the log-odds of a candidate owe to each server.

The log-odds are a bias, three weights a known server, and seven weights of the panel. A server that
the model does not know counts through the panel alone, and for less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from scoring.consensus.features import (
    MEMBER_FEATURES,
    PANEL_FEATURES,
    member_features,
    panel_features,
    panel_parts,
)
from scoring.consensus.fusion import FUSIONS
from scoring.consensus.logistic import logistic
from scoring.consensus.votes import CUTOFF, Floats, Votes
from scoring.tasks import Task

Learned: TypeAlias = Literal["stacked", "maxent"]
LEARNED: tuple[Learned, ...] = ("stacked", "maxent")
METHODS = (*LEARNED, *FUSIONS)
"""The methods of a model: those that learn from gold, then the fusions."""

UNKNOWN_WEIGHT = 0.5
"""The weight of a server that the model does not know (docs/consensus.md)."""
MOST_WEIGHT = 100.0
"""The greatest weight that a server may be given."""


@dataclass(frozen=True, kw_only=True)
class Member:
    """A server that the model knows, its team, and its weights for `MEMBER_FEATURES`."""

    name: str
    team: str
    weights: tuple[float, ...] = (0.0,) * len(MEMBER_FEATURES)


@dataclass(frozen=True, kw_only=True)
class Quality:
    """The scores of a model's method in cross-validation, on articles it was not trained on.

    `auc_ipr` and `f_score` (F_10 at 30 hits, candidates below the least probability left out) are
    macro-averages; `best_member` is the highest AUC iP/R of a member. `calibration_error` is the
    expected calibration error, None of a method without probabilities.
    """

    folds: int
    auc_ipr: float
    f_score: float
    best_member: float
    calibration_error: float | None = None


@dataclass(frozen=True, kw_only=True)
class ConsensusModel:
    """A consensus that can be kept and applied: all that `ConsensusRanker` needs.

    `threshold` is the least probability of a candidate that is worth a curator's time; `articles`
    is the number of articles it was trained on, and `gold` a name of their gold, if any.
    """

    task: Task
    method: str
    members: tuple[Member, ...]
    panel: tuple[float, ...] = (0.0,) * len(PANEL_FEATURES)
    bias: float = 0.0
    threshold: float | None = None
    training_cutoff: int = CUTOFF
    selection_cutoff: int = CUTOFF
    articles: int = 0
    gold: str = ""
    quality: Quality | None = None

    @property
    def calibrated(self) -> bool:
        """True where scores are log-odds, so that candidates have probabilities."""
        return self.method in LEARNED

    @cached_property
    def weights(self) -> Weights:
        """The weights as arrays."""
        return Weights(
            servers={member.name: member.weights for member in self.members},
            panel=np.array(self.panel),
            bias=self.bias,
        )

    def server_weights(self, servers: Sequence[str], given: Mapping[str, float]) -> Floats:
        """Return the weight of each server: the given one, else 1, or less if it is unknown.

        To a fusion no server is unknown: it trusts all alike.
        """
        known = self.weights.servers if self.calibrated else dict.fromkeys(servers)
        return np.array(
            [given.get(name, 1.0 if name in known else UNKNOWN_WEIGHT) for name in servers]
        )

    def scores(self, votes: Votes, weights: Floats) -> Floats:
        """Return the score of each candidate: log-odds of learned methods."""
        if self.calibrated:
            return self.weights.scores(votes, weights)
        return FUSIONS[self.method](votes, weights)


@dataclass(frozen=True, kw_only=True, eq=False)
class Weights:
    """The weights of a learned method: of known servers, of the panel, and the bias."""

    servers: Mapping[str, Sequence[float]]
    panel: Floats
    bias: float

    def scores(self, votes: Votes, weights: Floats) -> Floats:
        """Return the log-odds of each candidate."""
        panel = panel_features(votes, weights) @ self.panel
        return self.bias + panel + votes.sums(self._member_parts(votes, weights))

    def parts(self, votes: Votes, weights: Floats) -> Floats:
        """Return what each vote adds to its candidate's log-odds; with the bias they are all."""
        return self._member_parts(votes, weights) + panel_parts(votes, weights, self.panel)

    def _member_parts(self, votes: Votes, weights: Floats) -> Floats:
        none = (0.0,) * len(MEMBER_FEATURES)
        table = np.array([self.servers.get(name, none) for name in votes.servers])
        table = table.reshape(-1, len(MEMBER_FEATURES)) * weights[:, None]
        parts: Floats = (member_features(votes) * table[votes.server]).sum(axis=1)
        return parts


def probabilities(log_odds: Floats) -> Floats:
    """Return probabilities of log-odds."""
    return logistic(log_odds)
