"""The three BioCreative II.5 tasks and the values they are scored on."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from operator import itemgetter
from typing import NamedTuple, TypeAlias

Accession: TypeAlias = str
Pair: TypeAlias = tuple[str, str]
"""An unordered accession pair, kept sorted (see `pair`)."""
Item: TypeAlias = Accession | Pair
"""The item that a hit names: an accession (INT) or a pair (IPT)."""


class Task(StrEnum):
    """A task of BioCreative II.5; the value is the name used in files, options and tables."""

    ACT = "ACT"  # article classification
    INT = "INT"  # interactor normalization: UniProt accessions
    IPT = "IPT"  # interaction pairs: unordered accession pairs


class Hit(NamedTuple):
    """One ranked item of an INT or IPT answer.

    `rank` is an integer >= 1, unique within an article; `confidence` lies in ]0, 1].
    """

    item: Item
    rank: int
    confidence: float


class Classification(NamedTuple):
    """The ACT answer for one article.

    `confidence` lies in ]0, 1]. `rank` is the place in the run's result file (within its class,
    >= 1), or None for an online answer, whose place follows from the confidence.
    """

    relevant: bool
    confidence: float
    rank: int | None = None


by_rank: Callable[[Hit], int] = itemgetter(1)
"""Returns a hit's rank, the key that hits are sorted by wherever their order counts."""


def pair(a: Accession, b: Accession) -> Pair:
    """Return the unordered pair of two accessions in its one kept form: sorted.

    >>> pair("Q00987", "P04637")
    ('P04637', 'Q00987')
    """
    return (a, b) if a <= b else (b, a)
