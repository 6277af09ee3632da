"""Connections to annotation servers: where they may lead, and that one answer comes for a request.

aiohttp keeps a connection for the next request. Whatever a server sends on it meanwhile, it would
take for the next request's answer, and keep all of it until then.
"""

from __future__ import annotations

import functools
import socket
from collections.abc import Callable
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import RawResponseMessage
from aiohttp.streams import StreamReader

from metaserver.client.framing import HeldHead
from metaserver.client.guard import AddressGuard

KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 6}  # as far as a system has it


class OneAnswer(ResponseHandler):
    """A connection that is closed as soon as something comes that was not asked for."""

    _awaited = False
    _head: HeldHead | None = None  # until the head of the awaited answer went to the parser

    def set_response_params(self, **params: Any) -> None:
        """Expect an answer: aiohttp is about to send a request."""
        self._awaited = True
        self._head = HeldHead()
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        """Read what belongs to the answer that is awaited or under way."""
        under_way = self._payload is not None and not self._payload.is_eof()
        if self._head is not None and data:
            self._begin(self._head, data)
        elif self._awaited or under_way or not data:
            super().data_received(data)
        else:
            self._refuse()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Give the parser what was held back, so that it says how the answer broke off."""
        if self._head is not None and (rest := self._head.rest()):
            self._head = None
            super().data_received(rest)
        super().connection_lost(exc)

    def _begin(self, head: HeldHead, data: bytes) -> None:
        """Read the beginning of an answer, and the interim answers before it."""
        head.add(data)
        while self._awaited and (ready := head.take()):
            if head.overridden:
                self.force_close()
            if not head.interim:
                self._head = None
            super().data_received(ready)

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        """Take the head of an answer, unless it is the second one."""
        if not self._awaited:
            self._refuse()
            return
        self._awaited = data[0].code < 200  # another follows: RFC 9110, section 15.2
        super().feed_data(data, size)

    def _refuse(self) -> None:
        self.force_close()
        self.close()


class Connector(aiohttp.TCPConnector):
    """Opens as many connections as are asked for, to addresses that the guard lets through."""

    def __init__(self, guard: AddressGuard | None, resolver: AbstractResolver | None) -> None:
        super().__init__(limit=0, resolver=resolver, socket_factory=_factory(guard))
        handler: type[ResponseHandler] = OneAnswer
        self._factory = functools.partial(handler, loop=self._loop)


def _factory(guard: AddressGuard | None) -> Callable[[Any], socket.socket]:
    """Return what makes a socket unless the guard is against where it would connect to."""

    def guarded(address_info: Any) -> socket.socket:
        if guard is not None:
            guard.check(address_info[4][0])
        return _socket(address_info)

    return guarded


def _socket(address_info: Any) -> socket.socket:
    """A socket that notices a peer which is gone: TCP keep-alive, since an answer may take long."""
    family, kind, protocol, _, _ = address_info
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in KEEPALIVE.items():
        if hasattr(socket, option):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made
