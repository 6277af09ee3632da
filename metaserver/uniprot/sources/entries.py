"""Readers of UniProtKB: flat files, XML, FASTA headers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import cast

from lxml import etree
from lxml.etree import _Element

from metaserver.uniprot.sources.reader import (
    ProteinEntry,
    SourceFile,
    gene_names,
    protein_names,
    without_evidence,
)

# -- reader for UniProtKB flat files (https://web.expasy.org/docs/userman.html) --------------------

_TAGS = frozenset({b"ID", b"AC", b"DE", b"GN", b"OS", b"OX", b"DR", b"//"})
_LINE_TAXON = re.compile(r"NCBI_TaxID=([0-9]+)")
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
            names=[*_names_in_line(self.description), *symbols],
            secondaries=self.accessions[1:],
            symbols=symbols,
            genes=tuple(self.gene_ids),
        )


def read_flatfile(source: SourceFile) -> Iterator[ProteinEntry]:
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
    elif (match := _LINE_TAXON.search(text)) and not draft.taxon:
        draft.taxon = int(match[1])


def _finished(source: SourceFile, draft: _Draft) -> ProteinEntry:
    if not draft.accessions:
        raise source.error(f"entry {draft.entry_name} has no AC line")
    return draft.entry()


def _names_in_line(lines: list[str]) -> Iterator[str]:
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


# -- reader for UniProtKB XML (https://www.uniprot.org/docs/uniprot.xsd), entry by entry -----------

_BLOCK = 1 << 20
_TAXON = "{*}organism/{*}dbReference[@type='NCBI Taxonomy']"
_PROTEIN_NAMES = ("{*}fullName", "{*}shortName")
_OTHER_PROTEIN_NAMES = ("allergenName", "biotechName", "cdAntigenName", "innName")
_GENE_NAMES = frozenset({"primary", "synonym"})  # no locus or ORF tags


def read_xmlfile(source: SourceFile) -> Iterator[ProteinEntry]:
    """Yield an XML file's entries; raises `InputError` with an error's line."""
    parser = etree.XMLPullParser(("end",), tag="{*}entry", resolve_entities=False)
    try:
        while block := source.block(_BLOCK):
            parser.feed(block)
            for _, element in cast(Iterable[tuple[str, _Element]], parser.read_events()):
                yield _entry(source, element)
                _forget(element)
            source.line += block.count(b"\n")
        parser.close()
    except etree.XMLSyntaxError as error:
        message = f"damaged or truncated XML: {error.msg}"
        raise source.error(message, error.lineno) from error


def _forget(element: _Element) -> None:
    """Free the entries read: the document stays as small as a block's entries."""
    element.clear()
    root = element.getroottree().getroot()
    while root[0] is not element:
        del root[0]


def _entry(source: SourceFile, element: _Element) -> ProteinEntry:
    line = cast(int, element.sourceline)
    accessions = _texts(element, "{*}accession")
    taxon = element.find(_TAXON)
    number = "" if taxon is None else taxon.get("id", "")
    if not accessions or not (number.isascii() and number.isdecimal()):
        raise source.error("an entry without an accession or a taxon", line)
    symbols = [*_gene_names(element)]
    return ProteinEntry(
        line=line,
        accession=accessions[0],
        entry_name=next(iter(_texts(element, "{*}name")), ""),
        taxon=int(number),
        organism=_organism(element),
        names=[*_protein_names(element), *symbols],
        secondaries=accessions[1:],
        symbols=symbols,
    )


def _organism(element: _Element) -> str:
    """Return the organism as flat files name it: `Homo sapiens (Human)`."""
    names = element.findall("{*}organism/{*}name")
    by_type = {name.get("type"): name.text.strip() for name in reversed(names) if name.text}
    scientific, common = by_type.get("scientific", ""), by_type.get("common", "")
    return f"{scientific} ({common})" if scientific and common else scientific


def _protein_names(element: _Element) -> Iterator[str]:
    """Yield the entry's own names, without its parts' names in `domain` and `component`."""
    for kind in ("recommendedName", "alternativeName", "submittedName"):
        for name in _PROTEIN_NAMES:
            yield from _texts(element, f"{{*}}protein/{{*}}{kind}/{name}")
    for name in _OTHER_PROTEIN_NAMES:
        yield from _texts(element, f"{{*}}protein/{{*}}{name}")


def _gene_names(element: _Element) -> Iterator[str]:
    for name in element.iterfind("{*}gene/{*}name"):
        if name.get("type") in _GENE_NAMES and name.text:
            yield name.text.strip()


def _texts(element: _Element, path: str) -> list[str]:
    return [child.text.strip() for child in element.iterfind(path) if child.text]


# -- reader for UniProtKB FASTA headers (https://www.uniprot.org/help/fasta-headers) ---------------

_HEADER = re.compile(r">(?:sp|tr)\|([^|\s]+)\|(\S+)(?: (.*))?")
_FIELD = re.compile(r" (OS|OX|GN|PE|SV)=")
_FRAGMENT = re.compile(r" \(Fragments?\)$")


def read_fasta(source: SourceFile) -> Iterator[ProteinEntry]:
    """Yield an entry per header; raises `InputError` at a line that is no header or sequence.

    A file that ends right after a header is truncated.

    Example: the header `>sp|P04637|P53_HUMAN Cellular tumor antigen p53 OS=Homo sapiens OX=9606`.
    """
    entry: ProteinEntry | None = None
    for line in source.lines():
        if line.startswith(b">"):
            if entry is not None:
                raise source.error(f"entry {entry.accession} has no sequence")
            entry = _headed_entry(source, line.decode("utf-8", "replace"))
            yield entry
        elif line.isalpha() or line.endswith(b"*"):
            entry = None
        else:
            raise source.error(f"expected a sequence, got {line[:40].decode('utf-8', 'replace')!r}")
    if entry is not None:
        raise source.error(f"truncated: the file ends before the sequence of {entry.accession}")


def _headed_entry(source: SourceFile, header: str) -> ProteinEntry:
    match = _HEADER.fullmatch(header)
    if match is None:
        raise source.error(f"expected '>sp|ACCESSION|NAME ...' or '>tr|...', got {header[:40]!r}")
    accession, entry_name, rest = match.groups()
    name, *fields = _FIELD.split(" " + (rest or ""))
    values = dict(zip(fields[::2], fields[1::2], strict=True))
    names = [_FRAGMENT.sub("", name.strip())]
    symbols = [values.get("GN", "").strip()]
    taxon = values.get("OX", "")  # since 2018; before, only the organism's name
    return ProteinEntry(
        line=source.line,
        accession=accession,
        entry_name=entry_name,
        taxon=int(taxon) if taxon.isascii() and taxon.isdecimal() else 0,
        organism=values.get("OS", "").strip(),
        names=[name for name in (*names, *symbols) if name],
        symbols=[name for name in symbols if name],
    )
