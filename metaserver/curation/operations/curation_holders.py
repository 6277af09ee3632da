"""Curations that go to another token: a curator's token has expired, or was lost."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.states import Role
from metaserver.curation.operations.curation_sets import curator_token
from metaserver.curation.store import curations
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.fields import GREATEST
from metaserver.operations.table import operation
from metaserver.store import tokens

HeldToken = Annotated[int, Meta(ge=1, le=GREATEST)]


class RenewedToken(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A curator's token, and its replacement."""

    curator: Annotated[HeldToken, Meta(description="The id of the token that has the curations")]
    to: Annotated[HeldToken, Meta(description="The id of the token that gets them")]


class MovedCurations(msgspec.Struct, frozen=True, kw_only=True):
    """The number of curations that another token got."""

    curations: int


@operation("Curation.reassign", "POST /curations/reassign", Role.ORGANISER)
async def reassign(hub: HubContext, caller: Caller, request: RenewedToken) -> MovedCurations:
    """Give a curator's curations that are in no set to another token with the same label.

    It is taken for the same person's: a decision has one author.
    """
    async with hub.store.writing() as connection:
        holder = await tokens.get(connection, request.curator)
        if holder is None or holder.role is not Role.CURATOR:
            message = f"{request.curator} is no token of a curator"
            raise RefusedError(Refusal.UNKNOWN, message, field="curator")
        to = await curator_token(connection, request.to, hub.clock(), "to")
        if to.label != holder.label or to.id == holder.id:
            message = f"expected another token with the label {holder.label!r}"
            raise RefusedError(Refusal.STATE, message, field="to")
        moved = await curations.give(connection, holder.id, to.id)
        await audit_log(
            connection,
            caller,
            "curation.reassign",
            f"token {holder.id}",
            to=to.id,
            curations=moved,
        )
    return MovedCurations(curations=moved)
