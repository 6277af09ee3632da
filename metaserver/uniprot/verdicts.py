"""Verdicts of a release on strings: the status, one sentence for the team, the right accessions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum, StrEnum
from typing import NamedTuple

from metaserver.uniprot.codec import PATTERN

# -- likely meanings of strings that are not accessions, derived from their shape ------------------


class Intent(StrEnum):
    """The shapes that teams send instead of an accession."""

    SPACE = "space"  # " P04637"
    CASE = "case"  # "p04637"
    ISOFORM = "isoform"  # "P04637-2"
    VERSION = "version"  # "P04637.4"
    FASTA = "fasta"  # "sp|P04637|P53_HUMAN"
    PREFIX = "prefix"  # "uniprotkb:P04637", as in PSI-MI files, or an address of UniProt
    ENTRY_NAME = "entry_name"  # "P53_HUMAN"
    REFSEQ = "refseq"  # "NP_000537.3"
    GENE = "gene"  # "NCBIGene:7157", "GeneID:7157", or an address of NCBI Gene
    ENTREZ = "entrez"  # "7157"
    NONE = "none"  # anything else


class Guess(NamedTuple):
    """A likely intent, with the accession, entry name or gene id that the string contains."""

    intent: Intent
    accession: str = ""
    entry_name: str = ""
    gene: int = 0


MENDABLE = frozenset(
    {Intent.SPACE, Intent.CASE, Intent.ISOFORM, Intent.VERSION, Intent.FASTA, Intent.PREFIX}
)
"""The shapes that contain the accession that is meant, and nothing that says otherwise."""

_LONGEST = 64
_ACCESSION = f"(?P<accession>{PATTERN.pattern})"
_NAME = r"(?P<name>[A-Z0-9]{1,10}_[A-Z0-9]{1,5})"
_SHAPES = (
    (Intent.ISOFORM, re.compile(rf"{_ACCESSION}-[0-9]{{1,3}}")),
    (Intent.VERSION, re.compile(rf"{_ACCESSION}\.[0-9]{{1,4}}")),
    (Intent.FASTA, re.compile(rf">?(?:SP|TR)\|{_ACCESSION}(?:-[0-9]{{1,3}})?(?:\|.*)?")),
    (
        Intent.PREFIX,
        re.compile(
            r"(?:(?:UNIPROT[A-Z/-]{0,50}|UP):|HTTPS?://(?:(?:WWW|PURL)\.)?UNIPROT\.ORG/UNIPROT(?:KB)?/"
            rf"|HTTPS?://IDENTIFIERS\.ORG/UNIPROT[:/]){_ACCESSION}(?:-[0-9]{{1,3}})?(?:/ENTRY)?/?"
        ),
    ),
    (
        Intent.GENE,
        re.compile(
            r"(?:(?:NCBI[ _]?GENE|GENE[ _]?ID|ENTREZ(?:[ _]?GENE)?):"
            r"|HTTPS?://(?:WWW\.)?NCBI\.NLM\.NIH\.GOV/GENE/"
            r"|HTTPS?://IDENTIFIERS\.ORG/NCBIGENE[:/])(?P<gene>[0-9]{1,10})/?"
        ),
    ),
    (Intent.REFSEQ, re.compile(r"[ANWXYZ][CGMPRTW]_[0-9]{5,}(?:\.[0-9]+)?")),
    (Intent.ENTRY_NAME, re.compile(_NAME)),
    (Intent.ENTREZ, re.compile(r"[0-9]{1,10}")),
)


def guess(text: str) -> Guess:
    """Return a malformed string's likely meaning, stripped and compared in upper case.

    Example: `guess("NP_000537.3").intent` is `Intent.REFSEQ`.
    """
    if len(text) > _LONGEST:
        return Guess(Intent.NONE)
    shape = text.strip().upper()
    if PATTERN.fullmatch(shape):
        return Guess(Intent.CASE if shape != text.strip() else Intent.SPACE, shape)
    for intent, pattern in _SHAPES:
        if match := pattern.fullmatch(shape):
            groups = match.groupdict()
            return Guess(
                intent,
                groups.get("accession") or "",
                groups.get("name") or "",
                int(groups.get("gene") or 0),
            )
    return Guess(Intent.NONE)


def entry_name_accession(name: str) -> str:
    """Return the accession inside an unreviewed entry's name (`Q9XYZ1_HUMAN`), or ""."""
    mnemonic = name.partition("_")[0]
    return mnemonic if PATTERN.fullmatch(mnemonic) else ""


# -- a release's verdicts on strings: the status, a sentence for the team, the right accessions ----


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
