"""Contributions of teams to a consensus: what each adds, and what would be missing without it.

The value of some teams is the macro AUC iP/R of the consensus of their servers alone. A team's
Shapley value is its mean gain over all orders in which the teams may come: the only division of
the whole that treats equal teams equally (Shapley 1953). It is exact for few teams, else a mean
over random orders, which is given only when it is sure. What would be missing is about 0 for each
of two teams that know the same: the one value misleads without the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import comb, inf

import numpy as np

from scoring.bounds import bounds
from scoring.consensus.measures import article_values, macro
from scoring.consensus.validation import CrossValidation
from scoring.consensus.votes import Floats
from scoring.resampling import resampled, weighted_means

EXACT_TEAMS = 10
"""Teams of which all coalitions are scored: 1,024 for ten."""
SURE = 0.02
"""The greatest half-width of a value that random orders give, at 95 %."""
_LEAST_ORDERS, _MOST_ORDERS = 50, 2000
_MOST_COALITIONS = 8000
_RESAMPLES = 2000


@dataclass(frozen=True, kw_only=True)
class Contribution:
    """The part of a team in the consensus, in AUC iP/R.

    `value` is its Shapley value, with the 95 % interval over articles `low` to `high`; None where
    it is not sure. `error` is the half-width of its 95 % interval over orders, 0 for exact values.
    `missing` is the consensus of all less that of all others, `alone` the consensus of the team.
    """

    team: str
    value: float | None
    low: float | None
    high: float | None
    error: float
    missing: float
    alone: float


Value = Callable[[int], Floats]
"""The value of a coalition in each article; bit n of its number says whether team n is in it."""


def contributions(
    validated: CrossValidation, teams: Mapping[str, str], *, seed: int = 2009
) -> list[Contribution]:
    """Return the contribution of each team, the greatest value first.

    `teams` has the team of each server; a server without one is a team of its own.
    """
    team_of = [teams.get(server, server) for server in validated.votes.servers]
    names = sorted(set(team_of))
    value = _memoised(_coalition_values(validated, [names.index(team) for team in team_of]))
    everybody = (1 << len(names)) - 1
    exact = len(names) <= EXACT_TEAMS
    rng = np.random.default_rng(seed)
    shares, errors = _exact(value, len(names)) if exact else _sampled(value, len(names), rng)
    low, high = _intervals(shares.T, rng)
    found = [
        Contribution(
            team=team,
            value=macro(shares[place]) if errors[place] <= SURE else None,
            low=float(low[place]) if errors[place] <= SURE else None,
            high=float(high[place]) if errors[place] <= SURE else None,
            error=float(errors[place]),
            missing=macro(value(everybody)) - macro(value(everybody & ~(1 << place))),
            alone=macro(value(1 << place)),
        )
        for place, team in enumerate(names)
    ]
    return sorted(found, key=lambda one: (-(one.value or -inf), one.team))


def _coalition_values(validated: CrossValidation, team_of: list[int]) -> Value:
    def value(coalition: int) -> Floats:
        kept = np.array([bool(coalition >> team & 1) for team in team_of])
        votes = validated.votes.of_servers(kept)
        scores = validated.scorer.scores(votes)
        return article_values(votes, validated.sizes, scores, "auc_ipr")

    return value


def _memoised(value: Value) -> Value:
    known: dict[int, Floats] = {}

    def remembered(coalition: int) -> Floats:
        if coalition not in known:
            known[coalition] = value(coalition)
        return known[coalition]

    return remembered


def _exact(value: Value, teams: int) -> tuple[Floats, Floats]:
    """Return the Shapley values (teams, articles) from all coalitions, and no errors."""
    shares = np.zeros((teams, len(value(0))))
    for coalition in range(1 << teams):
        size, found = coalition.bit_count(), value(coalition)
        for team in range(teams):
            if coalition >> team & 1:
                shares[team] += found / (teams * comb(teams - 1, size - 1))
            else:
                shares[team] -= found / (teams * comb(teams - 1, size))
    return shares, np.zeros(teams)


def _sampled(value: Value, teams: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return means over random orders, each with its reverse, and their half-widths.

    It ends when all half-widths are small enough, or after so many orders or coalitions.
    """
    sums = np.zeros((teams, len(value(0))))
    means: list[Floats] = []  # of each order and its reverse, a value a team
    scored: set[int] = set()
    errors = np.full(teams, inf)
    for _ in range(_MOST_ORDERS):
        order = rng.permutation(teams)
        both = np.zeros_like(sums)
        for one in (order, order[::-1]):
            coalition, before = 0, value(0)
            for team in one.tolist():
                coalition |= 1 << team
                scored.add(coalition)
                after = value(coalition)
                both[team] += (after - before) / 2
                before = after
        sums += both
        means.append(both.mean(axis=1))
        if len(means) >= _LEAST_ORDERS:
            errors = 1.96 * np.std(means, axis=0, ddof=1) / np.sqrt(len(means))
            if errors.max() <= SURE or len(scored) > _MOST_COALITIONS:
                break
    return sums / len(means), errors


def _intervals(values: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return the 95 % intervals of the means of columns over articles."""
    articles = len(values)
    weights = np.concatenate(list(resampled(rng, articles, _RESAMPLES)))
    found = weighted_means(values, weights)
    return bounds(found, 0.95, "expanded", np.full(values.shape[1], float(articles)))
