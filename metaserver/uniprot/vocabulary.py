"""A release as the vocabulary that answers are checked against (`wire.validation.Vocabulary`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from metaserver.uniprot.release import Release
from metaserver.uniprot.verdicts import Ruling, SecondaryPolicy, Status, Verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleaseVocabulary:
    """The primary accessions of a release; `secondary` is the phase's policy."""

    release: Release
    secondary: SecondaryPolicy = SecondaryPolicy.REJECT

    @property
    def name(self) -> str:
        """What scores are signed with: the release, and the policy where it is not the usual one.

        Two phases are comparable only if both are the same.
        """
        mapped = self.secondary is SecondaryPolicy.MAP
        return f"{self.release.name}+map" if mapped else self.release.name

    def rulings(self, accessions: Sequence[str]) -> Mapping[int, Ruling]:
        """Return a ruling by index for each string that is not a primary accession."""
        refused = np.flatnonzero(self.release.judge(accessions)).tolist()
        if not refused:
            return {}
        found = self.release.lookup([accessions[i] for i in refused])
        return dict(zip(refused, map(self._rule, found), strict=True))

    def _rule(self, verdict: Verdict) -> Ruling:
        merged = verdict.status is Status.SECONDARY and len(verdict.accessions) == 1
        if merged and self.secondary is SecondaryPolicy.MAP:
            successor = verdict.accessions[0]
            return Ruling(successor, f"secondary: merged into {successor}, counted as {successor}")
        if verdict.status is Status.MALFORMED:
            return Ruling(None, verdict.reason)
        return Ruling(None, f"{verdict.status.label}: {verdict.reason}")
