"""A release's entry bitmap: membership, ranks and their inverse."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from metaserver.uniprot.codec import Codes
from metaserver.uniprot.pages import AccessionPages

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
