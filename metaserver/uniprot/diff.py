"""The difference between two releases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from metaserver.uniprot.codec import decode
from metaserver.uniprot.release import Release
from metaserver.uniprot.verdicts import AccessionVerdict, Status


@dataclass(frozen=True, kw_only=True, slots=True)
class Diff:
    """A release's primary accessions, counted by their status in another release.

    `kept`, `secondary`, `deleted` and `unknown` count the old release's; `new` counts the new
    release's that are not primary in the old.
    """

    kept: int
    secondary: int
    deleted: int
    unknown: int
    new: int


def compare(old: Release, new: Release) -> Diff:
    """Count `old`'s entries by their status in `new`."""
    status_counts: Counter[int] = Counter()
    for codes in old.bits.scan():
        statuses, counts = np.unique(new.statuses(codes), return_counts=True)
        status_counts.update(dict(zip(statuses.tolist(), counts.tolist(), strict=True)))
    kept_count = status_counts[Status.PRIMARY]
    return Diff(
        kept=kept_count,
        secondary=status_counts[Status.SECONDARY],
        deleted=status_counts[Status.DELETED],
        unknown=status_counts[Status.UNKNOWN],
        new=new.meta.counts.primary - kept_count,
    )


def gone(old: Release, new: Release) -> Iterator[AccessionVerdict]:
    """Yield `new`'s verdict on each primary accession in `old` that is no longer primary."""
    for codes in old.bits.scan():
        absent = codes[new.statuses(codes) != Status.PRIMARY]
        if absent.size:
            yield from new.lookup(decode(absent))
