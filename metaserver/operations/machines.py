"""The processes of the hub: which there are, who leads, how many lanes each holds."""

from __future__ import annotations

import msgspec

from metaserver.base.states import Role
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.table import Nothing, operation
from metaserver.store import leases


class ProcessDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A process of the hub; `idle` is the time since it was seen, in seconds.

    `role` is `all`, `web` or `worker`. One that does not live has lost its lanes.
    """

    process: str
    host: str
    role: str
    version: str
    lanes: int
    up: float
    idle: float
    lives: bool
    leads: bool


class MachinesDetail(msgspec.Struct, frozen=True, kw_only=True):
    """The processes of the hub, and what is missing.

    `lanes_due` are to be at work, `lanes_unheld` of them have no process. `follower_lag` is the age
    of what this process shows of the others, in seconds.
    """

    processes: tuple[ProcessDetail, ...]
    lanes_due: int
    lanes_unheld: int
    follower_lag: float


@operation("Hub.machines", "GET /hub/machines", Role.ORGANISER)
async def machines(hub: HubContext, _caller: Caller, _given: Nothing) -> MachinesDetail:
    """Return the processes of the hub, the one that leads, and the lanes of each."""
    async with hub.store.reading() as connection:
        found = await leases.processes(connection)
        leader = await leases.current(connection)
        census = await leases.census(connection)
    member, held = hub.phases.member, hub.phases.scheduler.lanes.holder.engine.count
    own = {member.id: held} if member.is_alone else {}
    return MachinesDetail(
        processes=tuple(
            ProcessDetail(
                process=one.id,
                host=one.host,
                role=one.role,
                version=one.version,
                lanes=own.get(one.id, one.lanes),
                up=one.up,
                idle=one.idle,
                lives=one.lives,
                leads=leader is not None and leader.process == one.id,
            )
            for one in found
        ),
        lanes_due=census.due,
        lanes_unheld=census.unheld,
        follower_lag=0.0 if member.is_alone else round(min(hub.phases.follower.lag, 1e6), 1),
    )
