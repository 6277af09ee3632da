"""What XML-RPC carries, as Python values, and the limits on what a peer may send.

WireError (a `PeerError`: the attempt fails with its outcome code)
└── FaultError    the peer answered with a fault; carries code and string
EncodeError (a `HubError`)    a value of ours that XML-RPC cannot carry
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from metaserver.model.errors import HubError, PeerError
from metaserver.model.states import Outcome


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Stands for a value of an answer that could not be read; `kind` is what it should have been.

    It is of no agreed type, so that only an answer that needs the value fails.
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
"""The most bytes that are handed to a parser or taken from a decompressor at once."""

MAX_FAULT_STRING = 2_000

FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
"""A character XML 1.0 cannot carry (XML 1.0, production 2)."""

INT32 = 2**31
INT64 = 2**63
"""An integer n fits in so many bits where -INT <= n < INT; above 32, it is sent as `i8`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Caps on one message: `bytes` after decompression, `values` of any kind, `depth` of nesting.

    `depth` counts structs and arrays, the parameter list not among them.
    """

    bytes: int = 64 * 2**20
    values: int = 2_000_000
    depth: int = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class MethodCall:
    """A request: the method's name and its parameters in order."""

    method: str
    params: Sequence[Value]


@dataclass(frozen=True, kw_only=True, slots=True)
class MethodResponse:
    """An answer that is not a fault: its one value."""

    value: Value


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """An answer that is a fault; a code that is not a number stays the string it came as."""

    code: int | str
    string: str


Message: TypeAlias = MethodCall | MethodResponse | Fault


class WireError(PeerError):
    """What a peer sent is no XML-RPC (`xml`) or passes a limit (`too_large`)."""


class FaultError(WireError):
    """The peer answered with a fault; the message has its code and its string, cut at 2,000."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        super().__init__(Outcome.FAULT, f"{fault.code}: {fault.string[:MAX_FAULT_STRING]}")


class EncodeError(HubError):
    """A value that XML-RPC cannot carry: its type, its size, its depth or a forbidden character."""
