"""Answers of servers that are withheld while a phase that has their article is not closed."""

from __future__ import annotations

from metaserver.base.errors import Refusal, RefusedError
from metaserver.curation.asking import LiveRequest
from metaserver.curation.parts import CurationParts
from metaserver.curation.store import curation_sets, curations
from metaserver.curation.store.curations import CurationEntry
from metaserver.curation.texts import GUARDED
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext


async def is_withheld(hub: HubContext, caller: Caller, live: LiveRequest) -> bool:
    """Return whether a caller may not see the answers to a request now; organisers always may."""
    if caller.organiser or not hub.part(CurationParts).rules.guarded():
        return False
    stored = live.stored
    return await hub.part(CurationParts).guarded.holds_text(stored.id, stored.article, stored.text)


async def require_shown(hub: HubContext, caller: Caller, entry: CurationEntry) -> None:
    """Raise `RefusedError` for a curation with candidates that the caller may not see now.

    Those of a set without the servers' help have none: they are made while the phase is open.
    """
    if caller.organiser or not hub.part(CurationParts).rules.guarded():
        return
    async with hub.store.reading() as connection:
        of_set = await curation_sets.set_of(connection, entry.id)
        if of_set is not None and not of_set.plan.assist:
            return
        content = await curations.content(connection, entry.id)
    if await hub.part(CurationParts).guarded.holds_text(entry.id, entry.article, content.text):
        raise RefusedError(Refusal.STATE, GUARDED)
