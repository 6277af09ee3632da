"""Reader for UniProt's former accessions: `sec_ac.txt`, `delac_sp.txt`, `delac_tr.txt`.

Each has a heading, a row of underscores, the lines, and usually a licence after a row of dashes.
"""

from __future__ import annotations

from collections.abc import Iterator

from metaserver.uniprot.sources.reader import SourceFile
from metaserver.uniprot.sources.records import Deleted, Secondary

_RULE, _END = b"____", b"----"


def read_secondary(source: SourceFile) -> Iterator[Secondary]:
    """Yield the pairs of `sec_ac.txt`; a split accession has several."""
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
