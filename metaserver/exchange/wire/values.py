"""XML-RPC values and messages in Python, and the limits on a peer's messages.

WireError (a `PeerError`: the attempt fails with its outcome code)
└── FaultError    the peer answered with a fault; carries code and string
EncodeError (a `HubError`)    a value of the hub's that XML-RPC cannot carry
"""

from __future__ import annotations

import math
import re
from binascii import a2b_base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeAlias

from metaserver.base.errors import HubError, PeerError
from metaserver.base.states import Outcome


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A placeholder for an answer's value that could not be read; `kind` is the type it names.

    It has no type of the contract, so that only an answer that needs the value fails.
    """

    kind: str

    def __str__(self) -> str:
        return f"unreadable {self.kind}"


Value: TypeAlias = (
    "bool | int | float | str | bytes | datetime | Sequence[Value] | Mapping[str, Value] "
    "| Unreadable | None"
)
"""An XML-RPC value; the decoder builds `list` for an array and `dict` for a struct."""

CHUNK = 65_536
"""The most bytes that are passed to a parser or taken from a decompressor at once."""

MAX_FAULT_STRING = 2_000

FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
"""A character XML 1.0 cannot carry (XML 1.0, production 2)."""

INT32 = 2**31
INT64 = 2**63
"""Integer bounds: n fits if -INT <= n < INT; beyond 32 bits it is sent as `i8`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Caps on a message: `bytes` after decompression, total `values`, nesting `depth`.

    `depth` counts structs and arrays, the parameter list not among them. `settings` begins the
    names of the settings that set the caps on bytes and values; it is empty if none does.
    """

    bytes: int = 64 * 2**20
    values: int = 2_000_000
    depth: int = 64
    settings: str = ""

    def exceeded(self, kind: Literal["bytes", "values"]) -> str:
        """Return what is wrong with a message beyond a cap, with the setting that raises it.

        >>> Limits(values=1_000, settings="limits.answer_").exceeded("values")
        'more than 1,000 values (limits.answer_values)'
        """
        setting = f" ({self.settings}{kind})" if self.settings else ""
        return f"more than {getattr(self, kind):,} {kind}{setting}"


@dataclass(frozen=True, kw_only=True, slots=True)
class MethodCall:
    """A request: the method's name and its parameters in order."""

    method: str
    params: Sequence[Value]


@dataclass(frozen=True, kw_only=True, slots=True)
class MethodResponse:
    """An answer that is not a fault: its value."""

    value: Value


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """An answer that is a fault; a code that is not a number stays a string."""

    code: int | str
    string: str


Message: TypeAlias = MethodCall | MethodResponse | Fault


class WireError(PeerError):
    """A peer's message is not XML-RPC (`syntax`) or exceeds a limit (`too_large`)."""


class FaultError(WireError):
    """The peer answered with a fault; the message has its code and its string, cut at 2,000."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        super().__init__(Outcome.FAULT, f"{fault.code}: {fault.string[:MAX_FAULT_STRING]}")


class EncodeError(HubError):
    """A value that XML-RPC cannot carry: its type, its size, its depth or a forbidden character."""


# -- readers of scalar elements' texts; each raises ValueError or KeyError on an invalid one -------


def _integer(text: str) -> int:
    number = int(text)  # int() also takes 1_000 and digits of other scripts
    if not -INT64 <= number < INT64 or "_" in text or not text.isascii():
        raise ValueError
    return number


def _double(text: str) -> float:
    number = float(text)
    if not math.isfinite(number) or "_" in text or not text.isascii():
        raise ValueError
    return number


def _boolean(text: str) -> bool:
    return {"1": True, "0": False, "true": True, "false": False}[text.strip().lower()]


def _nothing(text: str) -> None:
    if text.strip():
        raise ValueError


_SPACE: Final = b" \t\r\n"


def _binary(text: str) -> bytes:
    # Not split(): for a text of short lines it builds a list many times the text's size.
    return a2b_base64(text.encode("ascii").translate(None, _SPACE), strict_mode=True)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text.strip())


EXTENSIONS: Final = frozenset(
    ("nil", "i1", "i2", "i8", "float", "biginteger", "bigdecimal", "dateTime", "serializable")
)
"""The types of Apache's extension; they have a prefix there, which peers do not always declare."""

READERS: Final[Mapping[str, Callable[[str], Value]]] = {
    "string": str,
    "int": _integer,
    "double": _double,
    "boolean": _boolean,
    "i4": _integer,
    "base64": _binary,
    "dateTime.iso8601": _moment,
    "nil": _nothing,
    "i1": _integer,
    "i2": _integer,
    "i8": _integer,
    "float": _double,
    "biginteger": _integer,
    "bigdecimal": _double,
    "dateTime": _moment,
    "serializable": _binary,
}
