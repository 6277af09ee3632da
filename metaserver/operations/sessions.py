"""Sessions: the tokens and cookies that visitors come with, and signing in and out.

These are no operations that a caller asks for: they find out who the caller is.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from metaserver.base.communications import CallingServer
from metaserver.base.errors import UnavailableError
from metaserver.base.viewer import Session, Token
from metaserver.operations.context import HubContext
from metaserver.store import audit, communications, tokens
from metaserver.store.store import Store


@dataclass(frozen=True, slots=True)
class Sessions:
    """A store's valid tokens and sessions. Moments are Unix seconds."""

    store: Store

    @classmethod
    def of(cls, hub: HubContext) -> Sessions:
        """Return a hub's sessions."""
        return cls(hub.store)

    async def token(self, secret: str, now: float) -> Token | None:
        """Return the token for a secret and note its use; None if it is invalid or expired."""
        async with self.store.reading() as connection:
            token = await tokens.find(connection, secret, now)
        if token is not None and tokens.must_touch(token, now):
            with suppress(UnavailableError):  # a busy store is no reason to refuse
                async with self.store.writing() as connection:
                    await tokens.touch(connection, token, now)
        return token

    async def calling_server(self, key: str) -> CallingServer | None:
        """Return the server in use with a callback key, or None."""
        async with self.store.reading() as connection:
            return await communications.server_of(connection, key)

    async def session(self, cookie: str, now: float) -> Session | None:
        """Return a cookie's session; None if it or its token is invalid or expired."""
        async with self.store.reading() as connection:
            return await tokens.find_session(connection, cookie, now)

    async def begin(
        self, token: Token, now: float, *, seconds: float, earlier: str | None, request_id: str
    ) -> tuple[str, Session]:
        """Begin a session, end the browser's `earlier` one; return the new cookie and session."""
        async with self.store.writing() as connection:
            await tokens.purge_sessions(connection, now)
            if earlier:
                await tokens.end_session(connection, earlier)
            session = await tokens.begin_session(connection, token, now, seconds)
            await audit.add(
                connection,
                actor=token.bearer,
                action="signin",
                subject=f"token {token.id}",
                request_id=request_id,
            )
        return session

    async def end(self, cookie: str) -> None:
        """End a session, if any."""
        async with self.store.writing() as connection:
            await tokens.end_session(connection, cookie)
