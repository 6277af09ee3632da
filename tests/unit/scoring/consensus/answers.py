"""Random answers of servers, and plain loops that say what the columns should hold."""

from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

from scoring import Hit
from scoring.consensus.votes import Votes

CONFIDENCES = (0.05, 0.3, 0.5, 0.5000001, 0.9, 1.0)
Answers = Mapping[str, Sequence[Hit]]


def lists() -> st.SearchStrategy[list[Hit]]:
    """Ranked lists of up to eight of ten items; confidences are often equal."""
    items = st.lists(st.sampled_from([f"P{n}" for n in range(10)]), max_size=8, unique=True)
    return items.flatmap(
        lambda named: st.lists(
            st.sampled_from(CONFIDENCES), min_size=len(named), max_size=len(named)
        ).map(
            lambda values: [
                Hit(item, rank, value)
                for rank, (item, value) in enumerate(zip(named, values, strict=True), start=1)
            ]
        )
    )


def answers(least: int = 0) -> st.SearchStrategy[Answers]:
    """Answers of up to six servers to one article."""
    return st.dictionaries(st.sampled_from("abcdefg"), lists(), min_size=least, max_size=6)


def votes_of(given: Answers) -> Votes:
    """Return the votes on one article."""
    return Votes.of({name: {"x": hits} for name, hits in given.items()}, ["x"])
