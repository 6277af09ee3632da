"""Entry names (`P53_HUMAN`) and UniRef50 clusters as integers that sort and compare."""

from __future__ import annotations

import re
from collections.abc import Sequence

from metaserver.uniprot.codec import MALFORMED, Codes, decode, encode

_SYMBOLS = " 0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
_PLACE = {symbol: place for place, symbol in enumerate(_SYMBOLS)}
_LENGTH = 11  # 38^11 < 2^63: five or six characters, "_", five of the organism

ENTRY_NAME = re.compile(r"[A-Z0-9]{1,5}_[A-Z0-9]{1,5}")
"""The form of reviewed entries' names; unreviewed names contain the accession instead."""


def name_key(name: str) -> int:
    """Return the key for a reviewed entry's name, or -1 if it does not have that form."""
    if not ENTRY_NAME.fullmatch(name):
        return -1
    key = 0
    for symbol in name.ljust(_LENGTH):
        key = key * len(_SYMBOLS) + _PLACE[symbol]
    return key


_UNIREF = "UniRef50_"
_CLUSTER = re.compile(_UNIREF + r"(?:UPI([0-9A-F]{10})|([A-Z0-9]{6,10})-([0-9]{1,4}))")
_ISOFORMS = 1 << 14
_UNIPARC = 1 << 62


def cluster_keys(clusters: Sequence[str]) -> Codes:
    """Return the key (> 0) for each UniRef50 cluster id, 0 for anything else.

    An id names its representative: a UniParc record, an entry, or an entry's isoform.
    """
    plain = encode([cluster.removeprefix(_UNIREF) for cluster in clusters])
    keys = (plain + 1) * _ISOFORMS
    for i, cluster in enumerate(clusters):
        if not keys[i] or not cluster.startswith(_UNIREF):
            keys[i] = _rare_cluster_key(cluster)
    return keys


def _rare_cluster_key(cluster: str) -> int:
    match = _CLUSTER.fullmatch(cluster)
    if match is None:
        return 0
    uniparc, accession, isoform = match.groups()
    if uniparc:
        return _UNIPARC | int(uniparc, 16)
    code = int(encode([accession])[0])
    return 0 if code == MALFORMED else (code + 1) * _ISOFORMS + int(isoform) + 1


def cluster_id(key: int) -> str:
    """Return a cluster key's id, "" for 0."""
    if key & _UNIPARC:
        return f"UniRef50_UPI{key & (_UNIPARC - 1):010X}"
    if not key:
        return ""
    code, isoform = divmod(key, _ISOFORMS)
    return f"UniRef50_{decode([code - 1])[0]}" + (f"-{isoform - 1}" if isoform else "")
