"""The servers whose credentials this process cannot open, as its key is lost or differs.

No request to them could succeed, so none is begun: their lanes wait, or other processes have them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress

from metaserver.base.errors import UnavailableError
from metaserver.base.records import RegisteredServer
from metaserver.exchange.http.credentials import Keyring
from metaserver.store import servers
from metaserver.store.servers import SealedSecret
from metaserver.store.store import Store

LOOK_SECONDS = 10.0
"""Time between two looks at the stored secrets and the key."""
NAMED = 5
"""How many servers are named; the others are counted."""

log = logging.getLogger(__name__)


class LockedServers:
    """The servers that are locked for a process; `changed` is called when they are others."""

    def __init__(self, store: Store, keyring: Keyring) -> None:
        self.changed: Callable[[], None] = lambda: None
        self._store = store
        self._keyring = keyring
        self._looking = asyncio.Lock()
        self._seen: tuple[str, Sequence[SealedSecret]] | None = None  # by which key, which secrets
        self._locked: Mapping[int, SealedSecret] = {}

    @property
    def ids(self) -> Set[int]:
        """The servers that were locked at the last look."""
        return self._locked.keys()

    def has(self, server_id: int) -> bool:
        """Return whether a server was locked at the last look."""
        return server_id in self._locked

    def locks(self, registered: RegisteredServer) -> bool:
        """Return whether a server is locked, unless its secret was entered again since."""
        locked = self._locked.get(registered.id)
        return locked is not None and locked.sealed == registered.server.access.sealed

    def reason(self) -> str:
        """Return what the key does not open, and the remedy; empty if it opens all."""
        names = [secret.name for secret in self._locked.values()]
        if not names:
            return ""
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        listed = ", ".join(names[:NAMED])
        does_not = f"{self._keyring.path} does not open the credentials of {listed}{more}"
        return f"{does_not}: put their key there, or have them entered again"

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            with suppress(UnavailableError):  # whose outage is said elsewhere
                await self.look()
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Find the servers that are locked now; `UnavailableError` if the store is blocked."""
        async with self._looking:
            async with self._store.reading() as connection:
                secrets = await servers.sealed_secrets(connection)
            seen = (self._keyring.digest(), secrets)
            if seen != self._seen:
                self._note(await asyncio.to_thread(self._closed, secrets))
                self._seen = seen

    def _closed(self, secrets: Sequence[SealedSecret]) -> Mapping[int, SealedSecret]:
        return {secret.id: secret for secret in secrets if not self._keyring.opens(secret.sealed)}

    def _note(self, locked: Mapping[int, SealedSecret]) -> None:
        before, self._locked = self._locked, locked
        if locked and not before:
            log.error("nothing is sent to some servers by this process: %s", self.reason())
        elif before and not locked:
            log.warning("%s opens the credentials of all servers again", self._keyring.path)
        if locked != before:
            self.changed()
