"""The state of a run's scorer as bytes: MessagePack with columns of numbers.

Each dump begins with its kind and the number of its format, which is raised when dumps of earlier
hubs can no longer be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from scoring.biocreative import ActState, ItemState, RunState
from scoring.match_lists import MatchLists


class PackedColumn(msgspec.Struct, frozen=True, array_like=True):
    """Numbers, little-endian."""

    kind: Literal["u1", "u2", "u4", "u8", "f8"]
    data: bytes

    @classmethod
    def of(cls, numbers: NDArray[Any]) -> PackedColumn:
        """Return integers from 0 in as few bytes as hold the greatest."""
        kind = np.min_scalar_type(int(numbers.max(initial=0))).newbyteorder("<")
        return cls(f"u{kind.itemsize}", numbers.astype(kind).tobytes())  # type: ignore[arg-type]

    def numbers(self) -> NDArray[Any]:
        """Return the numbers; raises `ValueError` for a part of one."""
        return np.frombuffer(self.data, dtype=f"<{self.kind}")


class _ItemDump(msgspec.Struct, frozen=True, array_like=True, tag="items 2"):
    """An `ItemState`, and the confidence of each article of the gold, empty where all are 0."""

    places: PackedColumn
    hits: PackedColumn
    counts: PackedColumn
    ranks: PackedColumn
    ignored: Mapping[str, int]
    confidences: PackedColumn


class _ActDump(msgspec.Struct, frozen=True, array_like=True, tag="classifications 2"):
    """An `ActState`; `ranks` are empty where no answer has one.

    `confidences` are as those of an `_ItemDump`.
    """

    places: PackedColumn
    relevant: PackedColumn
    confidence: PackedColumn
    ranks: PackedColumn
    ignored: tuple[str, ...]
    confidences: PackedColumn


_Dump: TypeAlias = _ItemDump | _ActDump
_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[_Dump] = msgspec.msgpack.Decoder(_Dump)


_T = TypeVar("_T")


def decoded(decoder: msgspec.msgpack.Decoder[_T], data: bytes) -> _T:
    """Read a dump by its decoder; raises `ValueError` for anything else."""
    try:
        return decoder.decode(data)
    except msgspec.MsgspecError as error:
        raise ValueError(f"no dump of this scorer, or of another format: {error}") from error


def dump_state(state: RunState, confidences: NDArray[np.float64]) -> bytes:
    """Return the state of a run's scorer as bytes, with the confidences of its articles."""
    column = PackedColumn("f8", confidences.astype("<f8").tobytes())
    if isinstance(state, ItemState):
        lists = state.lists
        return _encoder.encode(
            _ItemDump(
                places=PackedColumn.of(lists.places),
                hits=PackedColumn.of(lists.hits),
                counts=PackedColumn.of(lists.counts),
                ranks=PackedColumn.of(lists.ranks),
                ignored=state.ignored,
                confidences=column,
            )
        )
    return _encoder.encode(
        _ActDump(
            places=PackedColumn.of(state.places),
            relevant=PackedColumn.of(state.relevant),
            confidence=PackedColumn("f8", state.confidence.astype("<f8").tobytes()),
            ranks=PackedColumn.of(state.rank if state.rank.any() else state.rank[:0]),
            ignored=tuple(state.ignored),
            confidences=column,
        )
    )


def load_state(data: bytes) -> tuple[RunState, NDArray[np.float64]]:
    """Read a dump of `dump_state`; raises `ValueError` for anything else."""
    dump = decoded(_decoder, data)
    confidences = dump.confidences.numbers().astype(np.float64)
    if isinstance(dump, _ItemDump):
        columns = (dump.places, dump.hits, dump.counts, dump.ranks)
        lists = MatchLists(*(column.numbers() for column in columns))
        return ItemState(lists, dump.ignored), confidences
    ranks, places = dump.ranks.numbers(), dump.places.numbers()
    state = ActState(
        places=places.astype(np.int64),
        relevant=dump.relevant.numbers().astype(bool),
        confidence=dump.confidence.numbers(),
        rank=ranks.astype(np.int64) if len(ranks) else np.zeros(len(places), dtype=np.int64),
        ignored=dump.ignored,
    )
    return state, confidences
