"""BioC collections in XML, as the values that BioC-JSON has.

No DTD is loaded, no entity is expanded, nothing is fetched.
"""

from __future__ import annotations

from typing import Any, Final

from lxml import etree
from lxml.etree import _Element

from metaserver.base.errors import PeerError
from metaserver.base.states import Outcome
from metaserver.exchange.wire.values import Limits

_MANY: Final = {
    "document": "documents",
    "passage": "passages",
    "sentence": "sentences",
    "annotation": "annotations",
    "relation": "relations",
    "location": "locations",
    "node": "nodes",
}
"""The elements of which there may be several, by the name of their array in JSON."""
_ATTRIBUTES: Final = ("id", "refid", "role", "offset", "length")
"""Those of BioC: to list all of an element takes the time of the square of their number."""
_NUMBERS: Final = frozenset({"offset", "length"})
_DIGITS: Final = 15


def collection_of_xml(body: bytes, limits: Limits) -> Any:
    """Return a collection; its time grows with the size of the body. Raises `PeerError`."""
    if body.count(b"<") > limits.values:
        raise PeerError(Outcome.TOO_LARGE, f"more than {limits.values:,} tags")
    parser = etree.XMLParser(
        encoding="utf-8",
        load_dtd=False,
        no_network=True,
        resolve_entities=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root = etree.fromstring(body, parser)
    except etree.XMLSyntaxError as error:
        message = (error.msg or "no content").partition(", line ")[0].strip()
        raise PeerError(Outcome.SYNTAX, f"not XML: {message}: line {error.lineno}") from error
    return _value(root)


def _value(element: _Element) -> dict[str, Any]:
    """Return an element as an object; the parser bounds the depth."""
    members: dict[str, Any] = {
        name: _number(name, str(value))
        for name in _ATTRIBUTES
        if (value := element.get(name)) is not None
    }
    infons: dict[str, str] = {}
    for child in element:
        name = str(child.tag)
        if name == "infon":
            infons[str(child.get("key", ""))] = child.text or ""
        elif name in _MANY:
            members.setdefault(_MANY[name], []).append(_value(child))
        elif name.isidentifier():  # an entity's is not
            members[name] = _number(name, child.text or "")
    return members | {"infons": infons}


def _number(name: str, text: str) -> int | str:
    """Return the value of an attribute or element: offsets and lengths are integers."""
    plain = text.strip()
    if name in _NUMBERS and plain.isascii() and plain.isdigit() and len(plain) <= _DIGITS:
        return int(plain)
    return text
