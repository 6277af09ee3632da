"""UniRef50 membership out of UniRef's XML (uniref50.xml; also UniRef90, which names its UniRef50).

The file is read line by line: UniRef writes one property a line, and 200 GB of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from metaserver.uniprot.sources.reader import SourceFile
from metaserver.uniprot.sources.records import Membership

_ENTRY = re.compile(rb'<entry id="(UniRef[0-9]+_[A-Z0-9-]+)"')
_CLUSTER = re.compile(rb'<property type="UniRef50 ID" value="(UniRef50_[A-Z0-9-]+)"')
_ACCESSION = re.compile(rb'<property type="UniProtKB accession" value="([A-Z0-9]+)"')


def read(source: SourceFile) -> Iterator[Membership]:
    """Yield the cluster of each entry: of a member's accessions the first one, which is primary.

    A UniRef90 cluster lies in one UniRef50 cluster as a whole: its representative names it.
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
