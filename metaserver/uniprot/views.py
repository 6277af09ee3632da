"""Writer of the two files for `scoring`'s views, for a gold standard and a release."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from metaserver.base.errors import InputError, counted
from metaserver.uniprot.codec import PATTERN
from metaserver.uniprot.release import Release


class GoldAccession(NamedTuple):
    """An accession in a gold file, with its place."""

    path: Path
    line: int
    article: str
    accession: str


def read_gold_accessions(path: Path) -> Iterator[GoldAccession]:
    r"""Yield the accessions in an INT or IPT gold file: `article<TAB>accession[<TAB>accession]`.

    Raises `InputError` with the line for another number of columns or an invalid accession.

    >>> _ = Path("gold.tsv").write_text("10.1\tP04637\tQ00987\n")
    >>> [(one.line, one.accession) for one in read_gold_accessions(Path("gold.tsv"))]
    [(1, 'P04637'), (1, 'Q00987')]
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(path, f"cannot be read: {error}") from error
    for number, line in enumerate(text.splitlines(), 1):
        article, *accessions = line.split("\t")
        if len(accessions) not in (1, 2):
            columns = counted(1 + len(accessions), "column")
            message = f"{columns}, expected article and one or two accessions"
            raise InputError(path, message, line=number)
        for accession in accessions:
            if not PATTERN.fullmatch(accession):
                raise InputError(path, f"{accession!r} is not an accession", line=number)
            yield GoldAccession(path, number, article, accession)


def ortholog_lines(release: Release, gold: Sequence[str]) -> Iterator[str]:
    """Yield `accession<TAB>ortholog,ortholog,...` for each gold accession that has any."""
    accessions = sorted(set(gold))
    for accession, orthologs in zip(accessions, release.entries.orthologs(accessions), strict=True):
        if orthologs:
            yield f"{accession}\t{','.join(orthologs)}\n"


def taxon_lines(release: Release, gold: Sequence[str]) -> Iterator[str]:
    """Yield `accession<TAB>taxon` for every entry of the gold's species.

    The organism filter drops hits with an unknown taxon, as it would drop hits of other species. It
    needs a taxon for every gold accession: an accession that is no longer primary has its
    successors' taxon, or 0.
    """
    accessions = sorted(set(gold))
    species = gold_species(release, accessions)
    for accession, former in zip(accessions, release.judge(accessions).tolist(), strict=True):
        if former or not species[accession]:
            yield f"{accession}\t{species[accession]}\n"
    for accessions, taxa in release.entries.of_species(set(species.values()) - {0}):
        for accession, taxon in zip(accessions, taxa, strict=True):
            yield f"{accession}\t{taxon}\n"


def gold_species(release: Release, accessions: Sequence[str]) -> dict[str, int]:
    """Return each gold accession's species, 0 if unknown.

    An accession that is not primary has its successors' species, if they agree.
    """
    return {
        verdict.text: taxa.pop() if len(taxa) == 1 else 0
        for verdict in release.lookup(accessions)
        for taxa in [set(release.entries.taxa(verdict.accessions))]
    }


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a file atomically; raises `InputError` if it cannot be written."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("w", encoding="utf-8") as file:
            file.writelines(lines)
        beside.replace(path)
    except OSError as error:
        raise InputError(path, f"cannot be written: {error.strerror}") from error
    finally:
        beside.unlink(missing_ok=True)
