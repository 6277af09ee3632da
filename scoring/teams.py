"""The teams of runs, named by a pattern, and each team's best run."""

from __future__ import annotations

import re
from collections.abc import Sequence

from scoring.errors import OptionError
from scoring.scorecard import ActScorecard, Scorecard


def team_of(pattern: str | None, name: str) -> str:
    """Return the team of a run: the pattern's first group; no match is a team of its own."""
    try:
        found = re.search(pattern, name) if pattern else None
    except re.error as error:
        raise OptionError(f"{pattern!r} names no teams: {error}") from error
    return found[1] or name if found and found.re.groups else name


def best_of_teams(cards: Sequence[Scorecard], pattern: str) -> list[Scorecard]:
    """Return each team's run of the highest AUC iP/R, in the order given; of equal runs one."""
    best: dict[str, Scorecard] = {}
    for card in cards:
        team = team_of(pattern, card.run)
        if team not in best or main_score(card) > main_score(best[team]):
            best[team] = card
    return [card for card in cards if best[team_of(pattern, card.run)] is card]


def best_first(card: Scorecard) -> tuple[float, float, str]:
    """Return the key that orders runs: AUC iP/R, of equal runs the average confidence, the name."""
    return -main_score(card), -(card.confidence or 0.0), card.run


def main_score(card: Scorecard) -> float:
    """Return AUC iP/R, by which runs are ranked; the macro-average for INT and IPT."""
    return card.auc_ipr if isinstance(card, ActScorecard) else card.means.auc_ipr
