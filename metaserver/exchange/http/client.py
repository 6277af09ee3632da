"""The client for annotation servers: no redirects, no proxies, bounded answers, known secrets."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

import aiohttp
from aiohttp.abc import AbstractResolver

from metaserver.base.errors import InputError, PeerError
from metaserver.base.records import NO_ACCESS, Access, Server, ServerName
from metaserver.base.states import Outcome
from metaserver.exchange.http.channel import CallbackPort, HttpChannel
from metaserver.exchange.http.connections import Connector
from metaserver.exchange.http.credentials import Keyring
from metaserver.exchange.http.guard import AddressGuard
from metaserver.exchange.http.reading import FAILURES, peer_error
from metaserver.exchange.http.slots import ServerSlots
from metaserver.exchange.http.target import ServerTarget, target_of
from metaserver.exchange.http.transfer import Exchange
from metaserver.exchange.http.watchdog import Watchdog, watching
from metaserver.exchange.wire.values import Limits

# -- the pace of looks at jobs: each host is looked at so often a second, whoever looks ------------
# A host may serve many servers, and a server many lanes: services for all, such as NCBI's, count
# the requests of an address, not those of a job.

Origin: TypeAlias = tuple[str, str | None, int | None]
KNOWN: Final = 1_000
"""Hosts whose last turn is remembered; those whose turn is long over are forgotten."""


class HostPace:
    """The polling turns for each host, first come, first served."""

    def __init__(self) -> None:
        self._free: dict[Origin, float] = {}

    def turn(self, origin: Origin, pause: float, now: float, end: float) -> float:
        """Return the seconds until the next turn comes, and take it unless it is after `end`.

        The turn after it is `pause` seconds later. Times are of any clock that does not go back.
        """
        at = max(now, self._free.get(origin, now))
        if at >= end:
            return at - now
        if len(self._free) >= KNOWN and origin not in self._free:
            self._free = {host: free for host, free in self._free.items() if free > now}
        self._free[origin] = at + pause
        return at - now


# -- versions that servers report of themselves, until they are stored -----------------------------


class ReportedVersions:
    """The newest reported version for each server whose version changed."""

    def __init__(self) -> None:
        self._known: dict[ServerName, str] = {}
        self._changed: dict[ServerName, str] = {}

    def report(self, name: ServerName, version: str) -> None:
        """Record the version that a server reports; an empty version says nothing."""
        if version and self._known.get(name) != version:
            self._known[name] = self._changed[name] = version

    def changed(self) -> Mapping[ServerName, str]:
        """Return the versions that were reported and not yet stored."""
        return dict(self._changed)

    def stored(self, versions: Mapping[ServerName, str]) -> None:
        """Forget what is stored now, but for what was reported meanwhile."""
        for name, version in versions.items():
            if self._changed.get(name) == version:
                del self._changed[name]


# -- the client of annotation servers: no redirects, no proxies, bounded answers, known secrets ----

USER_AGENT = "biocreative-metaserver"


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpLimits:
    """Bounds on a request: `connect` in seconds, and `answer` on the answer's size."""

    connect: float = 10.0
    answer: Limits = Limits()  # noqa: RUF009 (frozen)


class HttpClient:
    """A client for annotation servers; `open_client` creates it.

    Each request holds `place`; a request's time begins when it has entered it. `callbacks` has the
    answers that servers send by themselves; None: this client takes none. `pace` bounds how often
    each host's jobs are polled. Who works on a large answer holds `large`: one at a time, so that
    many do not keep the loop and the threads from all others.
    """

    def __init__(
        self,
        session: aiohttp.ClientSession,
        limits: HttpLimits,
        watchdog: Watchdog,
        place: AbstractAsyncContextManager[None],
        keyring: Keyring,
        slots: ServerSlots,
        versions: ReportedVersions,
        callbacks: CallbackPort | None = None,
    ) -> None:
        self.session = session
        self.watchdog = watchdog
        self.place = place
        self.timeout = aiohttp.ClientTimeout(sock_connect=limits.connect)
        self.limits = limits
        self.keyring = keyring
        self.slots = slots
        self.versions = versions
        self.callbacks = callbacks
        self.pace = HostPace()
        self.large = asyncio.Lock()
        self._plain = lru_cache(maxsize=1_024)(lambda url: target_of(url, NO_ACCESS, keyring))
        self._targets = lru_cache(maxsize=1_024)(self._target)

    def bounded(self, limits: HttpLimits) -> HttpClient:
        """Return a client with other bounds that shares all else."""
        client = copy(self)
        client.limits = limits
        client.timeout = aiohttp.ClientTimeout(sock_connect=limits.connect)
        return client

    def target(self, server: Server) -> ServerTarget:
        """Return where a server's requests go; raises `PeerError` if there is no such place."""
        try:
            if server.access is NO_ACCESS:  # nearly always: no time to hash its values
                return self._plain(server.url)
            return self._targets(server.url, server.access)
        except aiohttp.InvalidURL as error:
            raise peer_error(error, 0.0, self.limits.connect) from error

    def _target(self, url: str, access: Access) -> ServerTarget:
        return target_of(url, access, self.keyring)

    def channel(self, server: Server, exchange: Exchange, deadline: float) -> HttpChannel:
        """Return a channel for an attempt or query; `deadline` bounds it in seconds."""
        return HttpChannel(self, server.name, self.target(server), exchange, deadline)

    async def fetch(
        self,
        url: str,
        limit: int,
        deadline: float,
        *,
        body: bytes | None = None,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> tuple[bytes, str]:
        """Return the content at an address, at most `limit` bytes, and its type.

        With a `body` that is posted. Raises `PeerError` for anything but status 200; redirects are
        not followed. As with `deliver`, no error quotes the answer.
        """
        try:
            target = self._plain(url)
            async with (
                self.place,
                asyncio.timeout(deadline),
                self.session.request(
                    "GET" if body is None else "POST",
                    target.url,
                    data=body,
                    headers={**headers, **target.headers, "Accept-Encoding": "identity"},
                    timeout=self.timeout,
                    allow_redirects=False,
                ) as response,
            ):
                if response.status != 200 or "Content-Encoding" in response.headers:
                    raise PeerError(Outcome.HTTP, "expected status 200 and no Content-Encoding")
                content = bytearray()
                async for chunk in response.content.iter_any():
                    content += chunk
                    if len(content) > limit:
                        raise PeerError(Outcome.TOO_LARGE, f"more than {limit:,} bytes")
                return bytes(content), response.content_type
        except FAILURES as error:
            raise PeerError(peer_error(error, deadline, self.limits.connect).outcome, "") from error

    async def deliver(
        self, url: str, body: bytes, headers: Mapping[str, str], deadline: float
    ) -> None:
        """Post a message; raises `PeerError` if the answer's status is not 2xx.

        A webhook's path is often its secret, and an answer may repeat it: in `Location`, in its
        status line, in anything that is not HTTP. So no error quotes the answer.
        """
        try:
            target = self._plain(url)
            async with (
                self.place,
                asyncio.timeout(deadline),
                self.session.post(
                    target.url,
                    data=body,
                    headers={**headers, **target.headers},
                    timeout=self.timeout,
                    allow_redirects=False,
                ) as response,
            ):
                if not 200 <= response.status < 300:
                    message = f"HTTP status {response.status}; expected 2xx"
                    raise PeerError(Outcome.HTTP, message)
        except FAILURES as error:
            failure = peer_error(error, deadline, self.limits.connect)
            if failure.outcome is Outcome.HTTP:
                failure = PeerError(Outcome.HTTP, "the answer is not HTTP")
            elif isinstance(error, UnicodeError | aiohttp.InvalidURL):
                failure = PeerError(Outcome.DNS, "no name of a host")
            raise failure from error


@asynccontextmanager
async def open_client(
    limits: HttpLimits | None = None,
    guard: AddressGuard | None = None,
    *,
    resolver: AbstractResolver | None = None,
    calls: int | None = None,
    keyring: Keyring | None = None,
    ca_file: Path | None = None,
    callbacks: CallbackPort | None = None,
) -> AsyncIterator[HttpClient]:
    """Open a client; at most `calls` requests are under way, the others wait in order.

    Without a guard it connects to any address: only for the operator's own URLs. `resolver`
    replaces the system's name resolver. `keyring` opens the servers' secrets. Trusted certificates
    are the system's and those in `ca_file`; raises `InputError` for a file without certificates.
    """
    async with (
        aiohttp.ClientSession(
            connector=Connector(guard, resolver, calls, trusted(ca_file)),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            headers={"User-Agent": USER_AGENT, "Accept-Encoding": "gzip"},
        ) as session,
        watching() as watchdog,
    ):
        place = nullcontext() if calls is None else asyncio.Semaphore(calls)
        keys = Keyring() if keyring is None else keyring
        bounds, slots, versions = limits or HttpLimits(), ServerSlots(), ReportedVersions()
        yield HttpClient(session, bounds, watchdog, place, keys, slots, versions, callbacks)


def trusted(ca_file: Path | None) -> ssl.SSLContext | bool:
    """Return the certificates to trust: the system's (True), and those in a PEM file."""
    if ca_file is None:
        return True
    context = ssl.create_default_context()
    try:
        context.load_verify_locations(ca_file)
    except OSError as error:  # `ssl.SSLError` is one
        reason = error.strerror or str(error)
        raise InputError(
            "security.ca_file", f"{ca_file}: not certificates in PEM: {reason}"
        ) from error
    return context
