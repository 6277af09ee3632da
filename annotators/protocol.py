"""XML-RPC bytes to values and back, by the standard library's marshalling; no I/O.

The hub has a codec of its own, so two independent ones meet in every call.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from xml.parsers import expat
from xmlrpc.client import Fault, Unmarshaller, dumps

from annotators.errors import RequestError

# "Specification for Fault Code Interoperability" (xmlrpc-epi)
PARSE_ERROR, INVALID_REQUEST, UNKNOWN_METHOD = -32700, -32600, -32601
INVALID_PARAMETERS, INTERNAL_ERROR = -32602, -32603

MAX_FAULT_STRING = 2000  # the hub stores no more of it
MAX_TAGS = 1000  # a hub's request has about 40

OTHER_ENCODING = re.compile(
    rb"""(?:\xef\xbb\xbf)?\s*<\?xml[^>]*encoding\s*=\s*["'](?!utf-8["'])""", re.IGNORECASE
)
"""The beginning of XML that declares another encoding than UTF-8."""

FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
"""The characters XML 1.0 has no place for, not even escaped (section 2.2)."""


class Call(NamedTuple):
    """A decoded request."""

    method: str
    params: tuple[Any, ...]


def decode_call(body: bytes) -> Call:
    """Decode a methodCall; a request that is none raises `RequestError`.

    Document type declarations are refused, so no entity is ever expanded; so are other encodings
    than UTF-8 and more tags than any request of a hub has, before they are parsed.
    """
    if reason := _refused(body):
        raise RequestError(PARSE_ERROR, reason)
    target = Unmarshaller(use_builtin_types=True)
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.StartElementHandler = target.start
    parser.EndElementHandler = target.end
    parser.CharacterDataHandler = target.data
    target.xml(None, None)  # type: ignore[arg-type]  # None: expat hands on str, not bytes
    try:
        parser.Parse(body, True)
        params = target.close()
    except RequestError:
        raise
    except Exception as error:  # the standard library raises half a dozen kinds on bad input
        raise RequestError(PARSE_ERROR, f"not XML-RPC: {type(error).__name__}: {error}") from error
    method = target.getmethodname()
    if not isinstance(method, str):
        raise RequestError(INVALID_REQUEST, "expected a methodCall with a methodName")
    return Call(method, tuple(params))


def _refused(body: bytes) -> str:
    """Return why a request is not parsed at all, empty if it is."""
    if b"\0" in body:
        return "not UTF-8: a NUL"
    if OTHER_ENCODING.match(body):
        return "another encoding than UTF-8 is declared"
    try:
        body.decode()
    except UnicodeDecodeError:
        return "not UTF-8"
    return f"more than {MAX_TAGS} tags" if body.count(b"<") > MAX_TAGS else ""


def _refuse_doctype(*_: object) -> None:
    raise RequestError(PARSE_ERROR, "a document type declaration is not allowed")


def encode_answer(value: object) -> bytes:
    """Encode a methodResponse; a value XML-RPC cannot carry raises `TypeError` or `ValueError`."""
    return dumps((plain(value, "answer"),), methodresponse=True).encode()


def encode_fault(code: int, message: str) -> bytes:
    """Encode a fault, its string cut at 2,000 characters."""
    return dumps(Fault(code, FORBIDDEN.sub("\ufffd", message[:MAX_FAULT_STRING]))).encode()


def plain(value: Any, path: str) -> Any:
    """Return `value` in the types that XML-RPC carries.

    Takes numpy scalars, tuples and any mapping or sequence too. Characters XML forbids become
    U+FFFD. A path names what cannot be sent: None, NaN, infinities, other objects.
    """
    if hasattr(value, "tolist"):  # numpy scalars and arrays, without importing numpy
        value = value.tolist()
    match value:
        case str():
            return FORBIDDEN.sub("\ufffd", value)
        case bool() | bytes():
            return value
        case int():
            return int(value)
        case float() if math.isfinite(value):
            return float(value)
        case float():
            raise ValueError(f"{path}: {value} has no XML-RPC form")
        case Mapping():
            return {str(key): plain(member, f"{path}.{key}") for key, member in value.items()}
        case Sequence():
            return [plain(item, f"{path}[{index}]") for index, item in enumerate(value)]
        case _:
            raise TypeError(f"{path}: {type(value).__name__} has no XML-RPC form")
