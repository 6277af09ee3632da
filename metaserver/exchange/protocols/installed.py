"""The installed protocols: this package's, and plug-ins.

A plug-in is registered by its name under the entry point group `metaserver.protocols`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import Final

from metaserver.exchange.protocols.becalm import BECALM
from metaserver.exchange.protocols.bioc import BIOC
from metaserver.exchange.protocols.plugin import ServerProtocol
from metaserver.exchange.protocols.pubannotation import PUBANNOTATION
from metaserver.exchange.protocols.xmlrpc import XMLRPC

GROUP: Final = "metaserver.protocols"
OWN: Final[Sequence[ServerProtocol]] = (XMLRPC, PUBANNOTATION, BIOC, BECALM)


def protocol_title(name: str) -> str:
    """Return a protocol's name for readers; its own name if it is no longer installed."""
    protocol = installed_protocols().get(name)
    return protocol.title if protocol else name


@cache
def installed_protocols() -> Mapping[str, ServerProtocol]:
    """Return every installed protocol by name, this package's first."""
    points = sorted(entry_points(group=GROUP), key=lambda entry: entry.name)
    own_protocols = {protocol.name: protocol for protocol in OWN}
    return own_protocols | {
        entry.name: entry.load() for entry in points if entry.name not in own_protocols
    }
