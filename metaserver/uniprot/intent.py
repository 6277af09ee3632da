"""Likely meanings of strings that are not accessions, derived from their shape."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from metaserver.uniprot.codec import PATTERN


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
