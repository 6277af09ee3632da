"""Options of a protocol, as a team writes them: NAME=VALUE, one a line; lists with commas."""

from __future__ import annotations

from functools import lru_cache
from math import isfinite
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta
from msgspec import inspect as kinds

from metaserver.exchange.protocols.json_body import number
from metaserver.exchange.protocols.offsets import Unit

Words = Annotated[tuple[str, ...], Meta(max_length=50)]
S = TypeVar("S", bound=msgspec.Struct)


class AnswerOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options that all protocols but XML-RPC have: how places count, and the scale of scores."""

    offsets: Unit = Unit.CODE_POINT
    score_min: float = 0.0
    score_max: float = 1.0

    def __post_init__(self) -> None:
        if not isfinite(self.score_max - self.score_min):
            raise ValueError("score_min and score_max must be finite numbers")
        if self.score_min >= self.score_max:
            raise ValueError("score_min must be below score_max")

    def scaled(self, value: Any) -> float | None:
        """Return a score on the scale of the contract, None where it is no number."""
        result = number(value)
        if result is None:
            return None
        return (result - self.score_min) / (self.score_max - self.score_min)


@lru_cache(maxsize=1_024)
def read_options(text: str, kind: type[S]) -> S:
    """Return the options in a text; raises `ValueError` that names the option."""
    values: dict[str, object] = {}
    info = kinds.type_info(kind)
    assert isinstance(info, kinds.StructType)
    lists = {field.name for field in info.fields if _is_list(field.type)}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, sign, value = (part.strip() for part in line.partition("="))
        if not sign:
            raise ValueError(f"{line[:40]!r}; expected NAME=VALUE")
        parts = [part.strip() for part in value.split(",") if part.strip()]
        values[name] = parts if name in lists else value
    try:
        return msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        names = ", ".join(field.name for field in info.fields)
        raise ValueError(f"{error}; the options are {names}") from error


def _is_list(kind: kinds.Type) -> bool:
    inner = kind.type if isinstance(kind, kinds.Metadata) else kind
    return isinstance(inner, kinds.VarTupleType | kinds.ListType)
