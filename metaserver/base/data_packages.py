"""A phase's data package, as its organiser released it."""

from __future__ import annotations

import msgspec


class PackedData(msgspec.Struct, frozen=True, kw_only=True):
    """A data package's file, named by `sha256`, the whole zip's checksum.

    `gold` has the version of each task's gold in it, `articles` the number of articles.
    """

    sha256: str
    size: int
    files: int
    articles: int
    corpus_id: int
    gold: dict[str, int]


class DataPackage(PackedData, frozen=True, kw_only=True):
    """A released package.

    `confirmed`: its organiser knew that it has articles of a test phase that is not over. `public`:
    everybody may read it, not teams alone.
    """

    license: str
    public: bool
    confirmed: bool
    released_at: float
