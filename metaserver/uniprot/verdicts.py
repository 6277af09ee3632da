"""A release's verdicts on strings: the status, a sentence for the team, the right accessions."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum, StrEnum
from typing import NamedTuple

from metaserver.uniprot.intent import Intent


class Status(IntEnum):
    """The status of a string in a release; its `label` is the word in files and on pages."""

    PRIMARY = 0  # the current accession of an entry
    SECONDARY = 1  # merged into another entry, or split into several
    DELETED = 2  # its entry was removed, and nothing took its place
    UNKNOWN = 3  # shaped like an accession, but not in this release
    MALFORMED = 4  # not shaped like an accession

    @property
    def label(self) -> str:
        """The status as a lower-case word."""
        return self.name.lower()


class SecondaryPolicy(StrEnum):
    """A phase's policy for secondary accessions."""

    REJECT = "reject"  # primary accessions only, as in BioCreative II.5
    MAP = "map"  # a merged one counts as its successor; a split one is still refused


class AccessionVerdict(NamedTuple):
    """The verdict on a string, as sent.

    `reason` is a fixed sentence that a team can act on. `accessions` are the right accessions as
    far as the release knows: itself; a merged accession's successor; all successors of a split
    accession (nothing is chosen for the team); a malformed string's likely meaning, if that is an
    entry.
    """

    text: str
    status: Status
    reason: str
    accessions: tuple[str, ...] = ()


class Ruling(NamedTuple):
    """How to treat a string that is not accepted unchanged (see `wire.validation`).

    `accession` is the accession to use instead, or None if the hit is refused; `note` is the
    reason.
    """

    accession: str | None
    note: str


_SHOWN = 5  # entries that a reason names

INTENTS = {
    Intent.SPACE: "has white space around it",
    Intent.CASE: "is not in upper case",
    Intent.ISOFORM: "names an isoform, not an entry",
    Intent.VERSION: "carries a version",
    Intent.FASTA: "is a FASTA identifier",
    Intent.PREFIX: "carries a database prefix",
    Intent.ENTRY_NAME: "is an entry name, not an accession",
    Intent.REFSEQ: "looks like a RefSeq id: map it to UniProt first",
    Intent.GENE: "is an NCBI Gene id",
    Intent.ENTREZ: "looks like an Entrez Gene id: map it to UniProt first",
    Intent.NONE: "is not an accession: expected six or ten characters, like P04637 or A0A023GPI8",
}
"""The reasons for malformed strings, by their likely meaning."""


def primary(text: str, release: str) -> AccessionVerdict:
    """Return the verdict on a current accession."""
    return AccessionVerdict(text, Status.PRIMARY, f"an entry of UniProt {release}", (text,))


def secondary(text: str, successors: Sequence[str]) -> AccessionVerdict:
    """Return the verdict on an accession that was merged (single successor) or split."""
    if len(successors) == 1:
        reason = f"merged into {successors[0]}: send {successors[0]}"
    else:
        reason = f"split into {', '.join(successors)}: send the one that is meant"
    return AccessionVerdict(text, Status.SECONDARY, reason, tuple(successors))


def deleted(text: str) -> AccessionVerdict:
    """Return the verdict on an accession whose entry was removed."""
    return AccessionVerdict(
        text, Status.DELETED, "deleted from UniProt without a successor: leave it out"
    )


def unknown(text: str, release: str) -> AccessionVerdict:
    """Return the verdict on a well-formed string that the release does not have."""
    reason = f"not in UniProt {release}: send a primary accession of that release"
    return AccessionVerdict(text, Status.UNKNOWN, reason)


def malformed(text: str, intent: Intent, meant: AccessionVerdict | None) -> AccessionVerdict:
    """Return the verdict on a string that is no accession, with that on its likely meaning."""
    reason = INTENTS[intent]
    if meant is None:
        return AccessionVerdict(text, Status.MALFORMED, reason)
    advice = f"send {meant.text}" if meant.status is Status.PRIMARY else meant.reason
    if meant.status is not Status.PRIMARY:
        advice = f"{meant.text} is {meant.status.label}, {advice}"
    return AccessionVerdict(text, Status.MALFORMED, f"{reason}: {advice}", meant.accessions)


def of_gene(text: str, gene: int, entries: Sequence[str], release: str) -> AccessionVerdict:
    """Return the verdict on an NCBI Gene id with the reviewed entries that a release has of it."""
    listed = " ".join(entries[:_SHOWN])
    if len(entries) == 1:
        reason = f"is NCBI gene {gene}: send {listed}"
    elif entries:
        reason = f"is NCBI gene {gene}, which has {len(entries)} entries: {listed}"
    else:
        reason = f"is NCBI gene {gene}, which has no reviewed entry in UniProt {release}"
    return AccessionVerdict(text, Status.MALFORMED, reason, tuple(entries))
