"""Training: the weights of a model from votes whose correct candidates are known.

`maxent` is the overview's maximum entropy classifier: three features a member. `stacked` adds the
panel's features and is trained on copies of each article from which servers were dropped, because
a curator seldom has the answers of all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scoring.columns import Truths
from scoring.consensus.features import (
    MEMBER_FEATURES,
    PANEL_FEATURES,
    member_features,
    panel_features,
)
from scoring.consensus.logistic import fit
from scoring.consensus.model import Learned, Weights
from scoring.consensus.votes import Floats, Votes
from scoring.errors import OptionError

COPIES = 3
"""Copies of each article with fewer servers that `stacked` learns from, besides the article."""
MOST_DROPPED = 0.7
"""The greatest share of servers that a copy lacks, on average; the least is none."""
MEMBER_SCALE = 0.6
"""The scale of members' features in `stacked`: below 1 they are shrunk more than the panel's."""
STACKED_STRENGTH = 0.5
MAXENT_STRENGTH = 1.0

LEAST_ARTICLES = 20
"""Articles that `stacked` needs to be one of `methods_of`, ..."""
LEAST_ANSWERS = 3
"""... of this many servers each."""
UNTRAINED = "rrf1"
"""The method of a panel with too little gold to learn from."""


def train_weights(
    method: Learned,
    votes: Votes,
    *,
    seed: int = 2009,
    features: Sequence[str] = MEMBER_FEATURES,
) -> Weights:
    """Return the weights that a method learns from votes; raises `OptionError` without contrasts.

    `seed` deals out the servers that copies lack. Of `MEMBER_FEATURES`, only `features` are learned
    from; the others weigh 0.
    """
    scales = np.array([float(name in features) for name in MEMBER_FEATURES])
    if votes.correct.all() or not votes.correct.any():
        raise OptionError("the runs have no correct and wrong candidates to learn from")
    if method == "maxent":
        return _fitted([votes], MAXENT_STRENGTH, scales=scales, panel=False)
    rng = np.random.default_rng(seed)
    copies = [votes, *(votes.of_servers(kept_servers(votes, rng)) for _ in range(COPIES))]
    return _fitted(copies, STACKED_STRENGTH, scales=MEMBER_SCALE * scales, panel=True)


def methods_of(votes: Votes) -> Sequence[str]:
    """Return the methods for a panel: `stacked` too if there is enough to learn from."""
    answered = votes.answered.sum(axis=1) >= LEAST_ANSWERS
    contrast = votes.correct.any() and not votes.correct.all()
    enough = contrast and answered.sum() >= LEAST_ARTICLES
    return ("stacked", UNTRAINED) if enough else (UNTRAINED,)


def kept_servers(votes: Votes, rng: np.random.Generator) -> Truths:
    """Return the servers that a copy of each article keeps: at least one that answered."""
    shape = votes.answered.shape
    dropped = rng.random((shape[0], 1)) * MOST_DROPPED
    drawn = rng.random(shape)
    spared = np.where(votes.answered, drawn, -1.0).argmax(axis=1)
    kept = drawn >= dropped
    kept[np.arange(shape[0]), spared] = True
    return kept


def _fitted(copies: list[Votes], strength: float, *, scales: Floats, panel: bool) -> Weights:
    from scipy.sparse import csr_array, vstack  # takes a moment to load: only when training

    count = len(MEMBER_FEATURES)
    servers = copies[0].servers
    blocks = []
    for votes in copies:
        columns = votes.server[:, None] * count + np.arange(count)
        values: Floats = member_features(votes) * scales
        rows = np.repeat(votes.row, count)
        if panel:
            dense = panel_features(votes, np.ones(len(servers)))
            every = np.broadcast_to(np.arange(dense.shape[1]), dense.shape)
            columns = np.append(columns.ravel(), (every + len(servers) * count).ravel())
            values = np.append(values.ravel(), dense.ravel())
            rows = np.append(rows, np.repeat(np.arange(len(votes)), dense.shape[1]))
        width = len(servers) * count + (dense.shape[1] if panel else 0)
        shape = (len(votes), width)
        blocks.append(csr_array((values.ravel(), (rows, columns.ravel())), shape=shape))
    labels = np.concatenate([votes.correct for votes in copies])
    found, bias = fit(vstack(blocks, format="csr"), labels, strength)
    members = found[: len(servers) * count].reshape(-1, count) * scales
    rest = found[len(servers) * count :]
    return Weights(
        servers=dict(zip(servers, members.tolist(), strict=True)),
        panel=rest if panel else np.zeros(len(PANEL_FEATURES)),
        bias=bias,
    )
