"""Letters that show which runs differ: two runs share a letter where no difference was found.

A compact letter display (Piepho 2004, doi:10.1198/1061860043515) is a cover of the graph of runs
not found different by cliques, a letter a clique (Gramm et al. 2007,
doi:10.1016/j.csda.2006.09.035).
The fewest letters are hard to find; here cliques grow greedily, best runs first, and those that
are not needed are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations, count, islice, product
from string import ascii_lowercase


def letters(runs: Sequence[str], different: Collection[tuple[str, str]]) -> dict[str, str]:
    """Return the letters of each run; the first run has an `a`.

    `different` are the pairs that were found different, in either order.
    """
    apart = {frozenset(pair) for pair in different}
    together = [frozenset(pair) for pair in combinations(runs, 2) if frozenset(pair) not in apart]
    cliques: list[frozenset[str]] = []
    for needed in (*together, *(frozenset({run}) for run in runs)):
        if not any(needed <= clique for clique in cliques):
            cliques.append(_grown(needed, runs, apart))
    kept = _without_needless(cliques, [*together, *(frozenset({run}) for run in runs)])
    kept.sort(key=lambda clique: [run not in clique for run in runs])
    found = dict.fromkeys(runs, "")
    for clique, letter in zip(kept, _names(len(kept)), strict=True):
        for run in clique:
            found[run] += letter
    return found


def _grown(
    clique: frozenset[str], runs: Sequence[str], apart: Collection[frozenset[str]]
) -> frozenset[str]:
    """Return a clique with every run added that differs from none in it, in order."""
    for run in runs:
        if run not in clique and not any(frozenset({run, other}) in apart for other in clique):
            clique |= {run}
    return clique


def _without_needless(
    cliques: Sequence[frozenset[str]], needed: Sequence[frozenset[str]]
) -> list[frozenset[str]]:
    """Return the cliques without those whose every pair is in another one too."""
    kept = list(cliques)
    for clique in sorted(cliques, key=len):
        others = [other for other in kept if other is not clique]
        if all(any(one <= other for other in others) for one in needed if one <= clique):
            kept = others
    return kept


def _names(number: int) -> list[str]:
    """Return a to z, then a1 to z1, and so on."""
    rounds = (letter + suffix for suffix, letter in product(_suffixes(number), ascii_lowercase))
    return list(islice(rounds, number))


def _suffixes(number: int) -> list[str]:
    return ["", *(str(one) for one in islice(count(1), number // len(ascii_lowercase)))]
