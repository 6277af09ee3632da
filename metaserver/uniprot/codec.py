"""Codec of UniProt accessions, entry names and integers: one-to-one, for thousands at once.

An accession has six or ten characters (https://www.uniprot.org/help/accession_numbers):

    [OPQ][0-9][A-Z0-9]{3}[0-9]                      13,996,800 of them
    [A-NR-Z][0-9][A-Z][A-Z0-9]{2}[0-9]              77,500,800
    the same six, then [A-Z][A-Z0-9]{2}[0-9]        336,960 for each of these prefixes

Every six-character accession is a number below 91,497,600. A ten-character accession is a *page*
(its prefix) and a place in it. Characters are read two at a time through tables of 65,536 sums, so
a string costs five look-ups; a pair that is invalid at its place adds a flag instead of a value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int64]

PATTERN = re.compile(r"[OPQ][0-9][A-Z0-9]{3}[0-9]|[A-NR-Z][0-9](?:[A-Z][A-Z0-9]{2}[0-9]){1,2}")
r"""The codec's definition, for `fullmatch`; not `\d`, which matches Arabic digits too."""

PAGE = 26 * 36 * 36 * 10
"""The number of codes in a page: a ten-character accession's last four characters."""
PREFIXES = 23 * 10 * PAGE
"""The number of six-character accessions without O, P or Q first: only these begin longer ones."""
SIX_PAGES = 272
"""The pages that the six-character codes fill, the last in part."""
TEN = SIX_PAGES * PAGE
"""The first code for ten-character accessions."""
MALFORMED = -1

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_CHARACTERS = _LETTERS + "0123456789"
_OTHER_HEADS = _LETTERS.replace("O", "").replace("P", "").replace("Q", "")
_THIRD, _FOURTH = 36 * 36 * 10, 36 * 10

# A sum's upper bits: 0 or 1 for the kind of the first pair, plus 2 for a digit in third place, plus
# 4 or more for each invalid pair. Five such pairs stay below 2**63.
_FLAG = 40
_VALUE = (1 << _FLAG) - 1
_OTHER_HEAD, _DIGIT_THIRD, _NO_PAIR = 1 << _FLAG, 2 << _FLAG, 4 << _FLAG
_LINE = 10  # "\n"
PADDING = b"\0" * 10
"""The end of the text for `encode_lines`, since strings are read ten bytes at a time."""


def _pair(first: str, second: str) -> int:
    return ord(first) | ord(second) << 8


def _tables() -> tuple[Codes, Codes, Codes]:
    heads, middles, tails = (np.full(1 << 16, _NO_PAIR, np.int64) for _ in range(3))
    for digit in range(10):
        for place, head in enumerate(_OTHER_HEADS):
            heads[_pair(head, str(digit))] = (place * 10 + digit) * PAGE + _OTHER_HEAD
        for place, head in enumerate("OPQ"):
            heads[_pair(head, str(digit))] = PREFIXES + (place * 10 + digit) * 36 * _THIRD
        for place, character in enumerate(_CHARACTERS):
            tails[_pair(character, str(digit))] = place * 10 + digit
    for third, character in enumerate(_CHARACTERS):
        flag = 0 if third < len(_LETTERS) else _DIGIT_THIRD
        for fourth, next_character in enumerate(_CHARACTERS):
            middles[_pair(character, next_character)] = third * _THIRD + fourth * _FOURTH + flag
    return heads, middles, tails


_HEADS, _MIDDLES, _TAILS = _tables()


def encode(strings: Sequence[str]) -> Codes:
    """Return each string's code, `MALFORMED` if it is not exactly an accession.

    Any other character (white space, line ends, any Unicode) makes a string malformed.

    Example: `decode(encode(["P04637", "p53"])[:1])` returns `["P04637"]`.
    """
    if not strings:
        return np.empty(0, np.int64)
    text = "\n".join(strings).encode("ascii", "replace")
    if text.count(b"\n") != len(strings) - 1:  # line ends inside strings
        text = "\n".join([s.replace("\n", "?") for s in strings]).encode("ascii", "replace")
    return encode_lines(text + b"\n" + PADDING)


def encode_lines(text: bytes) -> Codes:
    """Return the code for each line in `text`, which must end in a line end and `PADDING`."""
    ends = np.flatnonzero(np.frombuffer(text, np.uint8, len(text) - len(PADDING)) == _LINE)
    starts = np.empty_like(ends)
    starts[0] = 0
    np.add(ends[:-1], 1, out=starts[1:])
    return _encode(text, starts, ends - starts)


def _encode(text: bytes, starts: npt.NDArray[np.intp], lengths: npt.NDArray[np.intp]) -> Codes:
    tens = np.ndarray(len(text) - 9, "V10", text, strides=(1,))[starts]
    pairs = tens.view("<u2").reshape(-1, 5)
    sums = _HEADS.take(pairs[:, 0])
    sums += _MIDDLES.take(pairs[:, 1])
    sums += _TAILS.take(pairs[:, 2])
    codes = np.where((lengths == 6) & (sums < _OTHER_HEAD | _DIGIT_THIRD), sums & _VALUE, MALFORMED)
    long = np.flatnonzero(lengths == 10)
    if long.size:
        codes[long] = _encode_tens(sums[long], pairs[long])
    return codes


def _encode_tens(heads: Codes, pairs: npt.NDArray[np.uint16]) -> Codes:
    tails = _MIDDLES.take(pairs[:, 3])
    tails += _TAILS.take(pairs[:, 4])
    valid = (heads >> _FLAG == 1) & (tails < _OTHER_HEAD)
    return np.where(valid, TEN + (heads & _VALUE) * PAGE + tails, MALFORMED)


def decode(codes: npt.ArrayLike) -> list[str]:
    """Return each code's accession; codes must come from `encode`."""
    text = characters(np.asarray(codes, np.int64).ravel()).tobytes().decode("ascii")
    return [text[i : i + 10].rstrip() for i in range(0, len(text), 10)]


def characters(codes: Codes) -> npt.NDArray[np.uint8]:
    """Return each accession's characters, (n, 10), short accessions padded with spaces."""
    long = codes >= TEN
    prefixes, places = np.divmod(codes - TEN, PAGE)
    head = _decode_sixes(np.where(long, prefixes, codes))
    tail = np.where(long[:, None], _decode_page(places), np.uint8(ord(" ")))
    return np.concatenate([head, tail], axis=1)


_ALPHABET = np.frombuffer(_CHARACTERS.encode(), np.uint8)
_HEAD_ALPHABET = np.frombuffer((_OTHER_HEADS + "OPQ").encode(), np.uint8)


def _decode_sixes(numbers: Codes) -> npt.NDArray[np.uint8]:
    classic = numbers >= PREFIXES  # O, P or Q first
    third = np.where(classic, 36, 26) * _THIRD
    heads, rest = np.divmod(np.where(classic, numbers - PREFIXES, numbers), third)
    letters, digits = np.divmod(heads, 10)
    letters = np.where(classic, letters + len(_OTHER_HEADS), letters)
    head = np.stack([_HEAD_ALPHABET[letters], digits.astype(np.uint8) + ord("0")], axis=1)
    return np.concatenate([head, _decode_page(rest)], axis=1)


def _decode_page(places: Codes) -> npt.NDArray[np.uint8]:
    first, rest = np.divmod(places, _THIRD)
    second, rest = np.divmod(rest, _FOURTH)
    third, digit = np.divmod(rest, 10)
    return np.stack(
        [_ALPHABET[first % 36], _ALPHABET[second], _ALPHABET[third], _ALPHABET[26 + digit]], axis=1
    )


# -- entry names (`P53_HUMAN`) and UniRef50 clusters as integers that sort and compare -------------

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
