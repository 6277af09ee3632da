"""Reader for UniProtKB XML (https://www.uniprot.org/docs/uniprot.xsd), entry by entry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from lxml import etree
from lxml.etree import _Element

from metaserver.uniprot.sources.reader import SourceFile
from metaserver.uniprot.sources.records import ProteinEntry

_BLOCK = 1 << 20
_TAXON = "{*}organism/{*}dbReference[@type='NCBI Taxonomy']"
_PROTEIN_NAMES = ("{*}fullName", "{*}shortName")
_OTHER_PROTEIN_NAMES = ("allergenName", "biotechName", "cdAntigenName", "innName")
_GENE_NAMES = frozenset({"primary", "synonym"})  # no locus or ORF tags


def read(source: SourceFile) -> Iterator[ProteinEntry]:
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
