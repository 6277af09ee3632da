"""Likely errors of a gold standard of items: what all teams found, and what none did.

The systems of a campaign are many independent readers. An item that all teams have and the gold
lacks may have been missed by the curators; one that the gold has and no team found may be a slip,
or a hard case. Both are to be read again, not to be believed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from scoring.analysis import AGREEMENT, LEAST_RUNS
from scoring.files import Run, item_hits
from scoring.gold import ItemGold
from scoring.tasks import Item, Task, by_rank, pair
from scoring.views import members

Doubt: TypeAlias = Literal["missing", "unsupported"]
"""An item that the gold lacks and all teams have; one that the gold has and no team has."""


@dataclass(frozen=True, kw_only=True)
class DoubtfulItem:
    """An item, of one accession or two, that the gold and the teams disagree on.

    `have` of the `teams` that answered the article have the item among their best ranks; `rank` is
    its mean rank there, None where no team has it.
    """

    article: str
    accessions: tuple[str, ...]
    doubt: Doubt
    have: int
    teams: int
    rank: float | None


def doubtful_items(
    gold: ItemGold,
    runs: Sequence[Run],
    *,
    teams: Sequence[str] | None = None,
    cutoff: int | None = None,
) -> list[DoubtfulItem]:
    """Return the items of gold articles that teams and gold disagree on.

    `teams` has the team of each run (each run its own by default): a team has what any of its runs
    has among its `cutoff` best ranks. `missing` are items of `AGREEMENT` of three or more teams
    (`LEAST_RUNS`) that answered the article. Missing items come first, by falling share and rising
    rank, then unsupported ones in gold order.
    """
    found = _Found(runs, teams or [run.name for run in runs], cutoff)
    missing, unsupported = [], []
    for article, correct in gold.items.items():
        answered = found.answered(article)
        if answered < LEAST_RUNS:
            continue
        have = found.have(article)
        missing += [
            found.doubtful(article, item, "missing")
            for item, teams_with in have.items()
            if item not in correct and teams_with >= AGREEMENT * answered
        ]
        unsupported += [
            found.doubtful(article, item, "unsupported")
            for item in sorted(correct, key=members)
            if item not in have
        ]
    missing.sort(key=lambda one: (-one.have / one.teams, one.rank, one.article, one.accessions))
    return [*missing, *unsupported]


class _Found:
    """The best rank of each item that a team has, by article and team."""

    def __init__(self, runs: Sequence[Run], teams: Sequence[str], cutoff: int | None) -> None:
        self._ranks: dict[str, dict[str, dict[Item, int]]] = {}
        for run, team in zip(runs, teams, strict=True):
            for article, hits in item_hits(run).items():
                if not hits:
                    continue
                ranks = self._ranks.setdefault(article, {}).setdefault(team, {})
                for place, hit in enumerate(sorted(hits, key=by_rank)[:cutoff], start=1):
                    ranks[hit.item] = min(place, ranks.get(hit.item, place))

    def answered(self, article: str) -> int:
        return len(self._ranks.get(article, {}))

    def have(self, article: str) -> Mapping[Item, int]:
        return Counter(item for team in self._teams(article) for item in team)

    def _teams(self, article: str) -> Iterable[Mapping[Item, int]]:
        return self._ranks.get(article, {}).values()

    def doubtful(self, article: str, item: Item, doubt: Doubt) -> DoubtfulItem:
        ranks = [team[item] for team in self._teams(article) if item in team]
        return DoubtfulItem(
            article=article,
            accessions=members(item),
            doubt=doubt,
            have=len(ranks),
            teams=self.answered(article),
            rank=sum(ranks) / len(ranks) if ranks else None,
        )


def changed_gold(gold: ItemGold, doubtful: Iterable[DoubtfulItem]) -> ItemGold:
    """Return the gold with missing items added and unsupported ones removed, for a preview.

    An article whose items are all unsupported keeps them: no gold has an article without items.
    """
    items = {article: set(found) for article, found in gold.items.items()}
    for one in doubtful:
        item = pair(*one.accessions) if gold.task is Task.IPT else one.accessions[0]
        if one.doubt == "missing":
            items[one.article].add(item)
        else:
            items[one.article].discard(item)
    kept = {article: frozenset(found) or gold.items[article] for article, found in items.items()}
    return ItemGold(task=gold.task, items=kept)
