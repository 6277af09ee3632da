"""The first organiser: a one-time link that a start prints, while no organiser can sign in.

These are no operations that a caller asks for: they find out who the caller is.
"""

from __future__ import annotations

from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.states import Role
from metaserver.base.viewer import PersonLink, PersonLinkKind
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext, audit_log
from metaserver.store import people, tokens

PATH = "/signin/first/"
"""The path of the link, before its secret."""
LABEL = "first"
"""The label of the first organiser's token."""

_KIND = PersonLinkKind.FIRST


async def make_link(hub: HubContext) -> str | None:
    """Return the path of a new link, which ends earlier links; None if an organiser can sign in.

    Raises `UnavailableError` if it cannot be stored.
    """
    now = hub.clock()
    async with hub.store.reading() as connection:
        if await tokens.has_organiser(connection, now):
            return None
    async with hub.store.writing() as connection:
        await people.delete_links(connection, _KIND)
        link = await people.add_link(connection, _KIND, now)
        return PATH + (await people.make_secret(connection, link)).secret


async def is_open(hub: HubContext, secret: str) -> bool:
    """Return whether a link can be used; looking does not use it."""
    async with hub.store.reading() as connection:
        return await _found(connection, secret, hub.clock()) is not None


async def use(hub: HubContext, caller: Caller, secret: str) -> str:
    """Use a link up; return an organiser's token, which is shown once; else `RefusedError`."""
    now = hub.clock()
    async with hub.store.writing() as connection:
        link = await _found(connection, secret, now)
        if link is None or not await people.use_link(connection, link.id, now):
            message = "this link was used, is older than a day, or was replaced by a later start"
            raise RefusedError(Refusal.UNKNOWN, message)
        token_id, issued = await tokens.issue(connection, Role.ORGANISER, LABEL)
        await audit_log(connection, caller, "tokens.first", f"token {token_id}", label=LABEL)
    return issued


async def _found(connection: AsyncConnection, secret: str, now: float) -> PersonLink | None:
    if await tokens.has_organiser(connection, now):
        return None
    return await people.find_link(connection, _KIND, now, secret=secret)
