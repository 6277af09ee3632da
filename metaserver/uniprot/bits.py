"""The bitmap of a release's entries: addresses, membership, ranks and their inverse."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from metaserver.uniprot.codec import MALFORMED, PAGE, PREFIXES, SIX_PAGES, TEN, Codes

# -- where accessions' bits are in a release's files -----------------------------------------------
# A six-character code is its own address (pages 0 to 271). Page 272 stays empty: codes without
# their own page are looked up there. Each prefix of ten-character accessions that a release uses
# has a page from 273 on, in prefix order; two small tables map it.

PAGE_BYTES = PAGE // 8
EMPTY_PAGE = SIX_PAGES
FIRST_TEN_PAGE = SIX_PAGES + 1
_GROUP = 36 * 36 * 10
"""The number of prefixes that share their first three characters, such as A0A: a table each."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AccessionPages:
    """A release's pages; `prefixes` are those of ten-character accessions, ascending."""

    prefixes: npt.NDArray[np.int32]
    groups: npt.NDArray[np.int32]
    table: npt.NDArray[np.int32]

    @classmethod
    def of(cls, prefixes: npt.NDArray[np.int32]) -> AccessionPages:
        """Return the pages for the given prefixes: distinct and ascending."""
        used, place = np.unique(prefixes // _GROUP, return_inverse=True)
        groups = np.zeros(PREFIXES // _GROUP, np.int32)
        groups[used] = np.arange(1, len(used) + 1)
        table = np.full((len(used) + 1) * _GROUP, EMPTY_PAGE, np.int32)
        pages = np.arange(FIRST_TEN_PAGE, FIRST_TEN_PAGE + len(prefixes), dtype=np.int32)
        table[(place + 1) * _GROUP + prefixes % _GROUP] = pages
        return cls(prefixes=prefixes, groups=groups, table=table)

    @property
    def count(self) -> int:
        """The number of pages, including the empty page."""
        return FIRST_TEN_PAGE + len(self.prefixes)

    def addresses(self, codes: Codes) -> Codes:
        """Return each code's bit address; a malformed string gets an address that is never set."""
        addresses_of = np.where(codes == MALFORMED, EMPTY_PAGE * PAGE, codes)
        long = np.flatnonzero(codes >= TEN)
        if long.size:
            prefixes, places = np.divmod(codes[long] - TEN, PAGE)
            group, member = np.divmod(prefixes, _GROUP)
            page = self.table.take(self.groups.take(group) * _GROUP + member).astype(np.int64)
            addresses_of[long] = page * PAGE + places
        return addresses_of

    def codes(self, addresses: Codes) -> Codes:
        """Return the code at each address: the inverse of `addresses`."""
        pages, places = np.divmod(addresses, PAGE)
        long = np.flatnonzero(pages >= FIRST_TEN_PAGE)
        codes = addresses.copy()
        prefixes = self.prefixes[pages[long] - FIRST_TEN_PAGE].astype(np.int64)
        codes[long] = TEN + prefixes * PAGE + places[long]
        return codes


def prefixes_of(codes: Codes) -> npt.NDArray[np.int32]:
    """Return the distinct prefixes of the ten-character accessions among `codes`, ascending."""
    return np.unique((codes[codes >= TEN] - TEN) // PAGE).astype(np.int32)


# -- a release's entry bitmap: membership, ranks and their inverse ---------------------------------

Bitmap = npt.NDArray[np.uint8]
Ranks = npt.NDArray[np.int64]

NO_ENTRY = -1
"""The rank for accessions that are not primary."""

_SCAN = 1 << 20  # bytes of the bitmap at a time: memory stays bounded


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class EntryBits:
    """The primary accessions and their ranks."""

    pages: AccessionPages
    live: Bitmap
    rank64: npt.NDArray[np.uint32]  # primary accessions before each 64-bit word of `live`

    @property
    def count(self) -> int:
        """The number of primary accessions, counted on each access."""
        step = range(0, len(self.live), _SCAN)
        return sum(int(np.bitwise_count(self.live[i : i + _SCAN]).sum()) for i in step)

    def ranks(self, codes: Codes) -> Ranks:
        """Return the number of entries before each code; `NO_ENTRY` if it is not primary."""
        addresses = self.pages.addresses(codes)
        words = self.live.view("<u8")[addresses >> 6]
        below = (np.uint64(1) << (addresses & 63).astype(np.uint64)) - np.uint64(1)
        before = self.rank64[addresses >> 6] + np.bitwise_count(words & below).astype(np.int64)
        return np.where(bits_at(self.live, addresses) & 1, before, NO_ENTRY)

    def codes(self, ranks: Ranks) -> Codes:
        """Return the code for each entry number, from 0 to `count` - 1."""
        numbers = ranks.astype(np.uint32)
        word = np.searchsorted(self.rank64, numbers, side="right") - 1
        within = numbers - self.rank64[word]
        words = self.live.reshape(-1, 8)[word]
        running = np.unpackbits(words, axis=1, bitorder="little").cumsum(axis=1)
        place = (running == within[:, None] + 1).argmax(axis=1)
        return self.pages.codes(word.astype(np.int64) * 64 + place)

    def scan(self) -> Iterator[Codes]:
        """Yield all entries' codes in rank order, in blocks."""
        for start in range(0, len(self.live), _SCAN):
            addresses = set_bits(self.live[start : start + _SCAN])
            if addresses.size:
                yield self.pages.codes(addresses + start * 8)


def bits_at(bitmap: Bitmap, addresses: Codes) -> Bitmap:
    """Return, for each address, a byte whose lowest bit is the bit at it."""
    return cast(Bitmap, bitmap[addresses >> 3] >> (addresses & 7).astype(np.uint8))


def set_bits(bitmap: Bitmap) -> Codes:
    """Return the set bits' positions, ascending."""
    used = np.flatnonzero(bitmap)
    bits = np.unpackbits(bitmap[used, None], axis=1, bitorder="little")
    byte, bit = bits.nonzero()
    return (used[byte] * 8 + bit).astype(np.int64)
