"""Anonymous names for a phase's teams and runs: stable, and meaningless without the hub's key."""

from __future__ import annotations

import base64
import hashlib
import hmac
from functools import lru_cache

BLOCK = 999
"""Teams whose numbers are shuffled together: from 1 to 999, then from 1,000 to 1,998, ..."""
LETTERS = 4
"""Letters of a run's name, 32 possible at each place: a name need only be unique in its team."""


class Aliases:
    """A phase's anonymous names: "Team 473" for a team, "Team 473 k7q3" for one of its runs.

    A team's number comes from a keyed shuffle of all numbers, so that two teams never share one and
    its size says nothing about when the team registered. Phases differ: what a freeze reveals in
    one phase says nothing about another. Real names have no space, so they never equal an alias.
    """

    def __init__(self, key: bytes, scope: int | str) -> None:
        self._key = key
        self._scope = scope  # a phase's id

    def of_curators(self) -> Aliases:
        """Return the names that curators see, which belong to no phase."""
        return Aliases(self._key, "curators")

    def team(self, id_: int) -> str:
        """Return the team's name by its id (1 or more)."""
        block, place = divmod(id_ - 1, BLOCK)
        return f"Team {block * BLOCK + _shuffled(self._key, self._scope)[place]}"

    def run(self, team: str, run: str) -> str:
        """Return a run's name, or a server; `team` is the anonymous name of its team.

        The letters depend on the team, so runs with the same name in two teams do not look alike.
        """
        code = base64.b32encode(_digest(self._key, f"run {self._scope} {team} {run}"))[:LETTERS]
        return f"{team or 'Run'} {code.decode().lower()}"


def _digest(key: bytes, text: str) -> bytes:
    return hmac.digest(key, f"alias of {text}".encode(), hashlib.sha256)


@lru_cache(maxsize=64)
def _shuffled(key: bytes, scope: int | str) -> tuple[int, ...]:
    numbers = range(1, BLOCK + 1)
    return tuple(sorted(numbers, key=lambda number: _digest(key, f"team {scope} {number}")))
