"""Reader for UniRef50 memberships in UniRef's XML (uniref50.xml, or UniRef90, which names them).

The file, of up to 200 GB, is read line by line: UniRef writes one property per line.
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
