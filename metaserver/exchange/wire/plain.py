"""Fast path for a short plain answer, in less than half the time that `stream` takes.

Expat builds a tree of the whole body in C, and a walk takes the values from it. The walk reports
no errors: where anything differs from nearly all answers, it gives up, and `stream` decides. So the
only requirement on it is that it reads the same values as `stream`.

lxml is not used, for the reason given in `stream`.
"""

from __future__ import annotations

import re
from typing import Any, Final
from xml.etree import ElementTree

from metaserver.exchange.wire.values import READERS, Limits, MethodResponse

BEGINNINGS: Final = (b"<?xml", b"<methodResponse>")
"""The first bytes of a plain answer; other answers need not be held back."""

# No other encoding: ElementTree and `stream` might decode it differently.
_START: Final = re.compile(
    rb"""(?:<\?xml\s+version=(["'])1\.0\1(?:\s+encoding=(["'])utf-8\2)?\s*\?>\s*)?<methodResponse>""",
    re.IGNORECASE,
)
_ATTRIBUTE: Final = re.compile(rb"""=\s*["']""")  # or a text that looks like one


def plain_response(body: bytes, limits: Limits) -> MethodResponse | None:
    """Return the answer in a body of a few KB; None where it is left to `stream`.

    Left to `stream` are faults, calls, any declared encoding other than UTF-8, document types (so
    there are no entities to expand), attributes and namespaces, and all invalid messages.
    """
    start = _START.match(body)
    if start is None or b"<!DOCTYPE" in body or _ATTRIBUTE.search(body, start.end()):
        return None
    if len(body) > limits.values:  # fewer bytes than values allowed: no need to count
        return None
    try:
        root = ElementTree.fromstring(body)  # noqa: S314 (a document type was ruled out)
        [params] = root
        [param] = params
        [value] = param
        if (root.tag, params.tag, param.tag) == ("methodResponse", "params", "param"):
            return MethodResponse(value=_value(value, limits.depth))
    except (ElementTree.ParseError, ValueError, KeyError):
        pass
    return None


def _value(element: ElementTree.Element, depth: int) -> Any:
    """Return the value in a <value>, with up to `depth` nested containers.

    Raises ValueError or KeyError to give up. It runs for every value, so here and in `_struct`
    `element[0]` after `len` is used, which is faster than unpacking, and loops run over a copied
    list, which is faster than over an element.
    """
    size = len(element)
    if element.tag != "value" or size > 1:
        raise ValueError
    if not size:
        return element.text or ""
    typed = element[0]
    reader = READERS.get(typed.tag)
    if reader is not None:
        if len(typed):
            raise ValueError
        return reader(typed.text or "")
    if not depth:
        raise ValueError
    if typed.tag == "struct":
        return _struct(typed, depth - 1)
    return _array(typed, depth - 1)


def _struct(element: ElementTree.Element, depth: int) -> dict[str, Any]:
    members = {}
    for member in element[:]:
        if member.tag != "member" or len(member) != 2:
            raise ValueError
        name = member[0]
        if name.tag != "name" or len(name):
            raise ValueError
        members[name.text or ""] = _value(member[1], depth)
    if len(members) != len(element):  # one of them twice
        raise ValueError
    return members


def _array(element: ElementTree.Element, depth: int) -> list[Any]:
    [data] = element
    if (element.tag, data.tag) != ("array", "data"):
        raise ValueError
    return [_value(value, depth) for value in data[:]]
