"""Readers of lists and tables: accessions, the site's TSV, `idmapping_selected.tab`, clusters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from metaserver.base.errors import counted
from metaserver.uniprot.codec import MALFORMED, PADDING, Codes, encode_lines
from metaserver.uniprot.sources.reader import (
    Deleted,
    Membership,
    ProteinEntry,
    Secondary,
    SourceFile,
    protein_names,
)

_BLOCK = 4 << 20

_GENE_ID = re.compile(r"\b[0-9]{1,10}\b")
_HEADINGS = {
    "accession": {"entry", "accession", "primary accession", "uniprotkb-ac"},
    "entry_name": {"entry name", "uniprotkb-id"},
    "proteins": {"protein names", "protein name"},
    "genes": {"gene names", "gene names (primary)", "gene names (synonym)"},
    "taxon": {"organism (id)", "organism id", "ncbi-taxon", "taxon"},
    "organism": {"organism"},
    "cluster": {"uniref50", "cluster id"},
    "gene_ids": {"geneid", "cross-reference (geneid)"},
    "member": {"from"},  # the site's mapping of accessions to clusters
}
"""The headings that are read, in lower case with single spaces; other columns are skipped."""


HEADING = rb"(?i)(?:[^\t\n]*\t)*(?:%s)\r?[\t\n]" % b"|".join(
    re.escape(name).encode() for name in sorted(_HEADINGS["accession"] | _HEADINGS["member"])
)
"""The pattern for a table's heading line, which has an accession column."""


def read_list(source: SourceFile) -> Iterator[Codes]:
    """Yield the codes in a file with one accession per line, in blocks."""
    while block := source.block(_BLOCK):
        text = block.replace(b"\r\n", b"\n")
        codes = encode_lines(text + b"\n" * (not text.endswith(b"\n")) + PADDING)
        wrong = np.flatnonzero(codes == MALFORMED)
        if wrong.size:
            text_line = text.split(b"\n", int(wrong[0]) + 1)[wrong[0]]
            raise source.error(expected(text_line), source.line + int(wrong[0]) + 1)
        source.line += len(codes)
        yield codes


def expected(text: bytes | str) -> str:
    """Return the message for a string that should have been an accession."""
    excerpt = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return f"expected an accession, got {excerpt[:40]!r}"


def _column_roles(heading: Sequence[str]) -> dict[str, list[int]]:
    """Return each role's column indices."""
    roles: dict[str, list[int]] = {}
    for place, name in enumerate(heading):
        plain = " ".join(name.lower().replace(" )", ")").split())
        for role, headings in _HEADINGS.items():
            if plain in headings:
                roles.setdefault(role, []).append(place)
    return roles


def read_tsv(source: SourceFile) -> Iterator[ProteinEntry | Membership]:
    """Yield the entries in a table with headings, or clusters from `From ... Cluster ID`.

    Example: the headings `Entry<TAB>Gene Names<TAB>Organism (ID)`, and the line
    `P04637<TAB>TP53 P53<TAB>9606`.
    """
    rows = _rows(source)
    heading = next(rows)
    roles = _column_roles(heading)
    if "member" in roles and "cluster" not in roles:
        raise source.error("a mapping to something else, expected a column 'Cluster ID'")
    record = _member if "member" in roles else _entry
    for row in rows:
        if len(row) != len(heading):
            raise source.error(f"{counted(len(row), 'column')}, expected {len(heading)}")
        yield record(source, roles, row)


def _member(
    source: SourceFile, roles: Mapping[str, Sequence[int]], row: Sequence[str]
) -> Membership:
    return Membership(source.line, row[roles["member"][0]], row[roles["cluster"][0]])


def _entry(
    source: SourceFile, roles: Mapping[str, Sequence[int]], row: Sequence[str]
) -> ProteinEntry:
    def cell(role: str) -> str:
        return row[roles[role][0]].strip() if role in roles else ""

    taxon = cell("taxon")
    if taxon and not (taxon.isascii() and taxon.isdecimal()):
        raise source.error(f"expected a taxon number, got {taxon[:40]!r}")
    names = protein_names(cell("proteins")) if "proteins" in roles else []
    symbols = [name.rstrip(";") for place in roles.get("genes", ()) for name in row[place].split()]
    return ProteinEntry(
        line=source.line,
        accession=cell("accession"),
        entry_name=cell("entry_name"),
        taxon=int(taxon or 0),
        organism=cell("organism"),
        names=[*names, *symbols],
        cluster=cell("cluster"),
        symbols=symbols,
        genes=gene_ids(cell("gene_ids")),
    )


def gene_ids(text: str) -> tuple[int, ...]:
    """Return the NCBI Gene ids in a cell.

    Example: `gene_ids("7157; 7158")` returns `(7157, 7158)`.
    """
    return tuple(int(gene) for gene in _GENE_ID.findall(text))


_IDMAPPING_COLUMNS = range(21, 23)  # the last one, additional PubMed ids, was added later


def read_idmapping(source: SourceFile) -> Iterator[ProteinEntry]:
    """Yield `idmapping_selected.tab`'s entries: names, gene ids, cluster and taxon."""
    for row in _rows(source):
        if len(row) not in _IDMAPPING_COLUMNS:
            raise source.error(
                f"{counted(len(row), 'column')}, expected 22 as in idmapping_selected.tab"
            )
        if not row[12].isdecimal():
            raise source.error(f"expected a taxon number in column 13, got {row[12][:40]!r}")
        yield ProteinEntry(
            line=source.line,
            accession=row[0],
            entry_name=row[1],
            taxon=int(row[12]),
            cluster=row[9],
            genes=gene_ids(row[2]),
        )


def read_memberships(source: SourceFile) -> Iterator[Membership]:
    """Yield memberships from `accession<TAB>cluster` lines, or from `idmapping.dat`.

    Example: the line `P04637<TAB>UniRef50_P04637`.
    """
    for row in _rows(source):
        if len(row) not in (2, 3):
            raise source.error(
                f"{counted(len(row), 'column')}, expected accession and UniRef50 cluster"
            )
        if len(row) == 2 or row[1] == "UniRef50":
            yield Membership(source.line, row[0].partition("-")[0], row[-1])


def _rows(source: SourceFile) -> Iterator[list[str]]:
    for line in source.lines():
        yield line.decode("utf-8", "replace").split("\t")


# -- reader for UniProt's former accessions: `sec_ac.txt`, `delac_sp.txt`, `delac_tr.txt` ----------
# Each has a heading, a row of underscores, the lines, and usually a licence after a row of dashes.

_RULE, _END = b"____", b"----"


def read_secondary(source: SourceFile) -> Iterator[Secondary]:
    """Yield the pairs of `sec_ac.txt`; a split accession has several.

    Example: the line `O08773     P47754`.
    """
    for words in _body(source):
        if len(words) != 2:
            raise source.error(f"expected secondary and primary accession, got {_shown(words)}")
        yield Secondary(source.line, words[0], words[1])


def read_deleted(source: SourceFile) -> Iterator[Deleted]:
    """Yield the accessions of `delac_sp.txt` or `delac_tr.txt`."""
    for words in _body(source):
        if len(words) != 1:
            raise source.error(f"expected one deleted accession, got {_shown(words)}")
        yield Deleted(source.line, words[0])


def _body(source: SourceFile) -> Iterator[list[str]]:
    """Yield the words of each line between the rule and the end; raises if there is no rule."""
    lines = source.lines()
    for line in lines:
        if line.startswith(_RULE):
            break
    else:
        raise source.error("truncated: the file ends before its list, which follows a '____' line")
    for line in lines:
        if line.startswith(_END):
            break
        if words := line.decode("utf-8", "replace").split():
            yield words
    for _ in lines:  # to the end, for the checksum
        pass


def _shown(words: list[str]) -> str:
    return repr(" ".join(words)[:40])


# -- reader for UniRef50 memberships in UniRef's XML -----------------------------------------------
# The file, of up to 200 GB, is read line by line: UniRef writes one property per line.

_ENTRY = re.compile(rb'<entry id="(UniRef[0-9]+_[A-Z0-9-]+)"')
_CLUSTER = re.compile(rb'<property type="UniRef50 ID" value="(UniRef50_[A-Z0-9-]+)"')
_ACCESSION = re.compile(rb'<property type="UniProtKB accession" value="([A-Z0-9]+)"')


def read_uniref(source: SourceFile) -> Iterator[Membership]:
    """Yield each entry's cluster, by the member's first accession, which is primary.

    A UniRef90 cluster is part of one UniRef50 cluster, which its representative names.
    """
    cluster, accession, line = b"", b"", b""
    for line in source.lines():
        if match := _ACCESSION.search(line):
            accession = accession or match[1]
        elif match := _CLUSTER.search(line):
            cluster = match[1]
        elif match := _ENTRY.search(line):
            cluster = match[1] if match[1].startswith(b"UniRef50_") else b""
        elif accession and b"</dbReference>" in line:
            if not cluster:
                raise source.error(f"no UniRef50 cluster for {accession.decode()}")
            yield Membership(source.line, accession.decode(), cluster.decode())
            accession = b""
    if not line.startswith(b"</UniRef"):
        raise source.error("truncated: the file ends before '</UniRef50>'")
