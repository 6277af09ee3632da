"""Verifying a finished release before it gets its name."""

from __future__ import annotations

import random
from collections.abc import Set

import numpy as np

from metaserver.base.errors import MetaserverError
from metaserver.uniprot.codec import MALFORMED, PATTERN, Codes, decode, encode
from metaserver.uniprot.intake import Intake
from metaserver.uniprot.release import Release
from metaserver.uniprot.spill import Spill
from metaserver.uniprot.verdicts import Status

_SAMPLES = 10_000
_SEED = 25
_CHARACTERS = "AAABOPQZ00001239-a\n é"


class VerificationError(MetaserverError):
    """A release that differs from its sources, through a fault of this program or of the disk."""


def verify(release: Release, intake: Intake) -> None:
    """Check the counts, look up samples of every kind, and test the codec on random strings.

    Raises `VerificationError` with the first difference.
    """
    rng = np.random.default_rng(_SEED)
    _agree("primary accessions", release.bits.count, release.meta.counts.primary)
    settled = {Status.PRIMARY, Status.SECONDARY}
    _look_up(release, _sample(rng, intake.live), {Status.PRIMARY})
    _look_up(release, rng.permutation(release.sec_from)[:_SAMPLES], {Status.SECONDARY})
    _look_up(release, _sample(rng, intake.deleted), settled | {Status.DELETED})
    _fuzz_codec(random.Random(_SEED))


def _agree(what: str, actual: object, expected: object) -> None:
    if actual != expected:
        raise VerificationError(f"verification: {what}: found {actual}, expected {expected}")


def _sample(rng: np.random.Generator, spill: Spill) -> Codes:
    """Return about `_SAMPLES` random codes from the intake."""
    share = min(1.0, _SAMPLES / max(spill.rows, 1))
    samples = [chunk[rng.random(len(chunk)) < share, 0] for chunk in spill.chunks()]
    return np.concatenate([np.empty(0, np.int64), *samples])


def _look_up(release: Release, codes: Codes, expected: Set[Status]) -> None:
    accessions = decode(codes)
    for accession, status in zip(accessions, release.judge(accessions).tolist(), strict=True):
        if status not in expected:
            _agree(accession, Status(status).label, " or ".join(sorted(s.label for s in expected)))


def _fuzz_codec(rng: random.Random) -> None:
    """Compare the codec with the pattern, and with its own inverse, on random strings."""
    lengths = (5, 6, 6, 6, 10, 10, 10, 11)
    texts = ["".join(rng.choices(_CHARACTERS, k=rng.choice(lengths))) for _ in range(_SAMPLES)]
    valid = [text for text in texts if PATTERN.fullmatch(text)]
    codes = encode(texts)
    _agree("the codec on random strings", decode(codes[codes != MALFORMED]), valid)
