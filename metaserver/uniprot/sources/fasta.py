"""Reader for UniProtKB FASTA headers (https://www.uniprot.org/help/fasta-headers)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from metaserver.uniprot.sources.reader import SourceFile
from metaserver.uniprot.sources.records import ProteinEntry

_HEADER = re.compile(r">(?:sp|tr)\|([^|\s]+)\|(\S+)(?: (.*))?")
_FIELD = re.compile(r" (OS|OX|GN|PE|SV)=")
_FRAGMENT = re.compile(r" \(Fragments?\)$")


def read(source: SourceFile) -> Iterator[ProteinEntry]:
    """Yield an entry per header; raises `InputError` at a line that is no header or sequence.

    A file that ends right after a header is truncated.
    """
    entry: ProteinEntry | None = None
    for line in source.lines():
        if line.startswith(b">"):
            if entry is not None:
                raise source.error(f"entry {entry.accession} has no sequence")
            entry = _entry(source, line.decode("utf-8", "replace"))
            yield entry
        elif line.isalpha() or line.endswith(b"*"):
            entry = None
        else:
            raise source.error(f"expected a sequence, got {line[:40].decode('utf-8', 'replace')!r}")
    if entry is not None:
        raise source.error(f"truncated: the file ends before the sequence of {entry.accession}")


def _entry(source: SourceFile, header: str) -> ProteinEntry:
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
