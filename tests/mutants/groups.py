"""The groups of the core that are sampled, and the modules of each."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Group:
    """Modules whose mutants are counted together, and how many are drawn from them."""

    modules: tuple[str, ...]
    size: int = 55


GROUPS: Mapping[str, Group] = {
    "ranking": Group(
        modules=(
            "scoring/ranking.py",
            "scoring/match_lists.py",
            "scoring/article_scores.py",
            "scoring/averages.py",
            "scoring/confusion.py",
            "scoring/measures.py",
        )
    ),
    "uniprot codec": Group(modules=("metaserver/uniprot/codec.py", "metaserver/uniprot/bits.py")),
    "lanes": Group(
        modules=(
            "metaserver/lanes/circuit.py",
            "metaserver/lanes/lane.py",
            "metaserver/lanes/engine.py",
            "metaserver/lanes/queue.py",
        )
    ),
    "significance": Group(
        modules=(
            "scoring/intervals.py",
            "scoring/resampling.py",
            "scoring/sign_flips.py",
            "scoring/significance.py",
        )
    ),
    "views": Group(
        modules=("scoring/views.py", "metaserver/tasks/ranked.py", "metaserver/uniprot/views.py")
    ),
    "guard and connections": Group(
        modules=(
            "metaserver/exchange/http/connections.py",
            "metaserver/exchange/http/guard.py",
        )
    ),
    "gold and lanes": Group(
        modules=(
            "metaserver/operations/gold.py",
            "metaserver/operations/lanes.py",
            "metaserver/operations/regrading.py",
            "metaserver/boards/gold.py",
        )
    ),
    "store writer": Group(modules=("metaserver/store/writer.py", "metaserver/store/sqlite.py")),
}
