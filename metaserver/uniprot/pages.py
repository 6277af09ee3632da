"""Where accessions' bits are in a release's files.

A six-character code is its own address (pages 0 to 271). Page 272 stays empty: codes without their
own page are looked up there. Each prefix of ten-character accessions that a release uses has a page
from 273 on, in prefix order; two small tables map it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metaserver.uniprot.codec import MALFORMED, PAGE, PREFIXES, SIX_PAGES, TEN, Codes

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
