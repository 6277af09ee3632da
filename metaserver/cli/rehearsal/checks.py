"""Checks of the store of a rehearsed hub: every answer is there, and once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from metaserver.base.states import ANSWERED, Outcome
from metaserver.store.place import STORE_FILE
from metaserver.store.reader import open_reader

Asked: TypeAlias = tuple[str, str]
"""A server and an article."""


@dataclass(kw_only=True)
class Stored:
    """The attempts of all servers, as a store has them.

    `answers` counts the accepted ones of each server and article, `ended` those that are finished:
    answered or given up.
    """

    articles: int = 0
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    answers: Counter[Asked] = field(default_factory=Counter)
    ended: set[Asked] = field(default_factory=set)

    @property
    def attempts(self) -> int:
        """The number of attempts."""
        return self.outcomes.total()

    @property
    def faults(self) -> Mapping[str, int]:
        """The attempts that were not answered in full, by outcome, most frequent first."""
        return {
            str(outcome): count
            for outcome, count in self.outcomes.most_common()
            if outcome is not Outcome.OK
        }

    @property
    def twice(self) -> Set[Asked]:
        """Articles of which a server has more than one answer."""
        return {asked for asked, count in self.answers.items() if count > 1}

    def lost_since(self, earlier: Stored) -> Set[Asked]:
        """Return the answers that an earlier reading of the store had and this one has not."""
        return earlier.answers.keys() - self.answers.keys()

    def missing(self, servers: int) -> int:
        """Return for how many servers and articles there is no end."""
        return servers * self.articles - len(self.ended)


async def read_stored(folder: Path) -> Stored:
    """Read all attempts from a hub's folder, also beside a hub at work."""
    stored = Stored()
    async with open_reader(folder / STORE_FILE) as reader:
        for lane in await reader.lanes():
            stored.articles = len(lane.corpus.ids)
            async for _, attempt, final in reader.attempts(lane.key, lane.server, lane.corpus):
                asked = (attempt.server, attempt.article)
                stored.outcomes[attempt.outcome] += 1
                if attempt.outcome in ANSWERED:
                    stored.answers[asked] += 1
                if final:
                    stored.ended.add(asked)
    return stored
