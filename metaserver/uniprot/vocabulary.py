"""Vocabularies for checking answers (`wire.validation.Vocabulary`): a release, or form alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from metaserver.base.plans import Normalisation
from metaserver.uniprot.codec import MALFORMED, encode
from metaserver.uniprot.release import Release
from metaserver.uniprot.verdicts import (
    INTENTS,
    MENDABLE,
    AccessionVerdict,
    Ruling,
    SecondaryPolicy,
    Status,
    entry_name_accession,
    guess,
)

REMEMBERED = 65_536  # accessions, some 5 MB
MAPPED = "+map"
"""The part of a vocabulary's name which says that it maps secondary accessions."""
MEND_SUFFIX = "+mend"
"""The part that says that it mends accessions; it comes last."""


class Policies(NamedTuple):
    """A vocabulary's policies: for secondary accessions, and for strings that contain one."""

    secondary: SecondaryPolicy = SecondaryPolicy.REJECT
    normalise: Normalisation = Normalisation.STRICT


def split_name(name: str, default: Policies) -> tuple[str, Policies]:
    """Return the release of a vocabulary's name, and its policies as far as it says them."""
    if name.endswith(MEND_SUFFIX):
        name, default = (
            name.removesuffix(MEND_SUFFIX),
            default._replace(normalise=Normalisation.MEND),
        )
    if name.endswith(MAPPED):
        name, default = name.removesuffix(MAPPED), default._replace(secondary=SecondaryPolicy.MAP)
    return name, default


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleaseVocabulary:
    """A release's primary accessions; `secondary` and `normalise` are the phase's policies.

    The accessions in a phase's articles recur: accepted accessions are remembered (up to
    `REMEMBERED`), which takes a tenth of a look-up's time.
    """

    release: Release
    secondary: SecondaryPolicy = SecondaryPolicy.REJECT
    normalise: Normalisation = Normalisation.STRICT
    _accepted: set[str] = field(default_factory=set, init=False, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The name in scores' signatures: the release, and policies that are not the default.

        Two phases are comparable only if all are the same.
        """
        mapped = MAPPED if self.secondary is SecondaryPolicy.MAP else ""
        mended = MEND_SUFFIX if self.normalise is Normalisation.MEND else ""
        return f"{self.release.name}{mapped}{mended}"

    def rulings(self, accessions: Sequence[str]) -> Mapping[int, Ruling]:
        """Return a ruling by index for each string that is not a primary accession."""
        unjudged = [i for i, accession in enumerate(accessions) if accession not in self._accepted]
        if not unjudged:
            return {}
        statuses = self.release.judge([accessions[i] for i in unjudged])
        refused = [unjudged[place] for place in np.flatnonzero(statuses).tolist()]
        if len(self._accepted) < REMEMBERED:
            self._accepted.update(
                {accessions[i] for i in unjudged} - {accessions[i] for i in refused}
            )
        verdicts = self.release.lookup([accessions[i] for i in refused]) if refused else ()
        return dict(zip(refused, map(self._rule, verdicts), strict=True))

    def _rule(self, verdict: AccessionVerdict) -> Ruling:
        merged = verdict.status is Status.SECONDARY and len(verdict.accessions) == 1
        if merged and self.secondary is SecondaryPolicy.MAP:
            successor = verdict.accessions[0]
            return Ruling(successor, f"secondary: merged into {successor}, counted as {successor}")
        if verdict.status is Status.MALFORMED and guess(verdict.text).gene:
            return _of_gene(verdict)
        if verdict.status is Status.MALFORMED:
            return self._mended(verdict.text) or Ruling(None, verdict.reason)
        return Ruling(None, f"{verdict.status.label}: {verdict.reason}")

    def _mended(self, text: str) -> Ruling | None:
        """Return the ruling on the accession that a string contains, None if it is strict."""
        guessed = guess(text)
        if self.normalise is Normalisation.STRICT or guessed.intent not in MENDABLE:
            return None
        (verdict,) = self.release.lookup([guessed.accession])
        reason = INTENTS[guessed.intent]
        if verdict.status is Status.PRIMARY:
            return Ruling(guessed.accession, f"{reason}: read as {guessed.accession}")
        ruling = self._rule(verdict)
        return Ruling(ruling.accession, f"{reason}: {guessed.accession} is {ruling.note}")


def _of_gene(verdict: AccessionVerdict) -> Ruling:
    """Return the ruling on an NCBI Gene id: its entry counts if there is exactly one."""
    if len(verdict.accessions) != 1:
        return Ruling(None, verdict.reason)
    (entry,) = verdict.accessions
    return Ruling(entry, f"NCBI gene {guess(verdict.text).gene}: read as {entry}")


class FormatVocabulary:
    """A vocabulary that accepts every string with the form of an accession, without a release."""

    def rulings(self, accessions: Sequence[str]) -> Mapping[int, Ruling]:
        """Return a ruling by index for each string that is no accession."""
        malformed = np.flatnonzero(encode(accessions) == MALFORMED).tolist()
        return {i: Ruling(None, _not_an_accession(accessions[i])) for i in malformed}


def _not_an_accession(text: str) -> str:
    guessed = guess(text)
    meant = guessed.accession or entry_name_accession(guessed.entry_name)
    reason = INTENTS[guessed.intent]
    return f"{reason}: perhaps {meant} is meant" if meant else reason
