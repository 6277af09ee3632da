"""Reader for UniProtKB flat files (https://web.expasy.org/docs/userman.html)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from metaserver.uniprot.sources.names import gene_names, protein_names, without_evidence
from metaserver.uniprot.sources.reader import SourceFile
from metaserver.uniprot.sources.records import ProteinEntry

_TAGS = frozenset({b"ID", b"AC", b"DE", b"GN", b"OS", b"OX", b"DR", b"//"})
_TAXON = re.compile(r"NCBI_TaxID=([0-9]+)")
_GENE = re.compile(rb"DR   GeneID; ([0-9]{1,10});")
_DESCRIBED = re.compile(
    r" *(?:(?:RecName|AltName|SubName): +)?"
    r"(?:Full|Short|INN|CD_antigen|Allergen|Biotech)=(.*)"
)


@dataclass(slots=True)
class _Draft:
    """An entry's relevant lines."""

    line: int  # of the entry's first accession
    entry_name: str
    accessions: list[str] = field(default_factory=list)
    description: list[str] = field(default_factory=list)
    genes: list[str] = field(default_factory=list)
    organism: list[str] = field(default_factory=list)
    taxon: int = 0
    gene_ids: list[int] = field(default_factory=list)

    def entry(self) -> ProteinEntry:
        symbols = [*gene_names(" ".join(self.genes))]
        return ProteinEntry(
            line=self.line,
            accession=self.accessions[0],
            entry_name=self.entry_name,
            taxon=self.taxon,
            organism=" ".join(self.organism).removesuffix("."),
            names=[*_protein_names(self.description), *symbols],
            secondaries=self.accessions[1:],
            symbols=symbols,
            genes=tuple(self.gene_ids),
        )


def read(source: SourceFile) -> Iterator[ProteinEntry]:
    """Yield a flat file's entries; raises `InputError` with an error's line."""
    draft: _Draft | None = None
    for line in source.lines():
        tag = line[:2]
        if tag not in _TAGS:
            if draft is None and line.strip():
                raise source.error(f"expected a line 'ID   ...', got {_shown(line)}")
        elif tag == b"ID":
            draft = _begin(source, line, draft)
        elif draft is None:
            raise source.error(f"expected a line 'ID   ...', got {_shown(line)}")
        elif tag == b"//":
            yield _finished(source, draft)
            draft = None
        elif tag == b"DR":
            if match := _GENE.match(line):
                draft.gene_ids.append(int(match[1]))
        else:
            _add(source, draft, tag, line[5:].decode("utf-8", "replace"))
    if draft is not None:
        raise source.error(f"truncated: the file ends inside entry {draft.entry_name}")


def _begin(source: SourceFile, line: bytes, open_entry: _Draft | None) -> _Draft:
    if open_entry is not None:
        raise source.error(f"entry {open_entry.entry_name} is not ended by '//'")
    words = line[5:].decode("utf-8", "replace").split()
    if not words or line[2:5] != b"   ":
        raise source.error(f"expected 'ID   NAME ...', got {_shown(line)}")
    return _Draft(source.line, words[0])


def _add(source: SourceFile, draft: _Draft, tag: bytes, text: str) -> None:
    if tag == b"AC":
        if not draft.accessions:
            draft.line = source.line
        draft.accessions += [part.strip() for part in text.split(";") if part.strip()]
    elif tag == b"DE":
        draft.description.append(text)
    elif tag == b"GN":
        if text.strip() != "and":  # a line between the genes of one entry
            draft.genes.append(text)
    elif tag == b"OS":
        draft.organism.append(text.strip())
    elif (match := _TAXON.search(text)) and not draft.taxon:
        draft.taxon = int(match[1])


def _finished(source: SourceFile, draft: _Draft) -> ProteinEntry:
    if not draft.accessions:
        raise source.error(f"entry {draft.entry_name} has no AC line")
    return draft.entry()


def _protein_names(lines: list[str]) -> Iterator[str]:
    """Yield the entry's own names, without its parts' names after `Includes:` or `Contains:`."""
    if not any("Full=" in line for line in lines):  # before release 14.0 of 2008: free text
        yield from protein_names(without_evidence(" ".join(lines)))
        return
    for line in lines:
        if line.startswith(("Includes:", "Contains:")):
            return
        if match := _DESCRIBED.match(line):
            yield without_evidence(match[1].rstrip(" ").removesuffix(";")).strip()


def _shown(line: bytes) -> str:
    return repr(line[:40].decode("utf-8", "replace"))
