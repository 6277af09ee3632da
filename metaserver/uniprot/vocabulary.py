"""Vocabularies for checking answers (`wire.validation.Vocabulary`): a release, or form alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from metaserver.uniprot.codec import MALFORMED, encode
from metaserver.uniprot.intent import entry_name_accession, guess
from metaserver.uniprot.release import Release
from metaserver.uniprot.verdicts import INTENTS, AccessionVerdict, Ruling, SecondaryPolicy, Status

REMEMBERED = 65_536  # accessions, some 5 MB
MAPPED = "+map"
"""The end of the name of a vocabulary that maps secondary accessions."""


def split_name(name: str, default: SecondaryPolicy) -> tuple[str, SecondaryPolicy]:
    """Return the release that a vocabulary's name is of, and its policy where the name says it."""
    if name.endswith(MAPPED):
        return name.removesuffix(MAPPED), SecondaryPolicy.MAP
    return name, default


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleaseVocabulary:
    """The primary accessions of a release; `secondary` is the phase's policy.

    The accessions of a phase's articles recur: those that were accepted are remembered (up to
    `REMEMBERED`), which takes a tenth of the time of a look-up.
    """

    release: Release
    secondary: SecondaryPolicy = SecondaryPolicy.REJECT
    _accepted: set[str] = field(default_factory=set, init=False, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The name in scores' signatures: the release, and the policy where it is not the default.

        Two phases are comparable only if both are the same.
        """
        mapped = self.secondary is SecondaryPolicy.MAP
        return self.release.name + MAPPED if mapped else self.release.name

    def rulings(self, accessions: Sequence[str]) -> Mapping[int, Ruling]:
        """Return a ruling by index for each string that is not a primary accession."""
        new = [i for i, accession in enumerate(accessions) if accession not in self._accepted]
        if not new:
            return {}
        statuses = self.release.judge([accessions[i] for i in new])
        refused = [new[place] for place in np.flatnonzero(statuses).tolist()]
        if len(self._accepted) < REMEMBERED:
            self._accepted.update({accessions[i] for i in new} - {accessions[i] for i in refused})
        found = self.release.lookup([accessions[i] for i in refused]) if refused else ()
        return dict(zip(refused, map(self._rule, found), strict=True))

    def _rule(self, verdict: AccessionVerdict) -> Ruling:
        merged = verdict.status is Status.SECONDARY and len(verdict.accessions) == 1
        if merged and self.secondary is SecondaryPolicy.MAP:
            successor = verdict.accessions[0]
            return Ruling(successor, f"secondary: merged into {successor}, counted as {successor}")
        if verdict.status is Status.MALFORMED:
            return Ruling(None, verdict.reason)
        return Ruling(None, f"{verdict.status.label}: {verdict.reason}")


class FormatVocabulary:
    """A vocabulary that accepts every string with the form of an accession, without a release."""

    def rulings(self, accessions: Sequence[str]) -> Mapping[int, Ruling]:
        """Return a ruling by index for each string that is no accession."""
        malformed = np.flatnonzero(encode(accessions) == MALFORMED).tolist()
        return {i: Ruling(None, _not_an_accession(accessions[i])) for i in malformed}


def _not_an_accession(text: str) -> str:
    found = guess(text)
    meant = found.accession or entry_name_accession(found.entry_name)
    reason = INTENTS[found.intent]
    return f"{reason}: perhaps {meant} is meant" if meant else reason
