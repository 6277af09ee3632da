"""The hub's processes: which there are, who leads, how many lanes each holds."""

from __future__ import annotations

import msgspec

from metaserver.base.states import Role
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.table import Nothing, operation
from metaserver.store import leases


class ProcessDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A hub process; `idle` is the time since it was seen, in seconds.

    `role` is `all`, `web` or `worker`. A process that does not live has lost its lanes. `blocked`
    says why it can store nothing, `lacks` what keeps it from working some servers, so that others
    have its share; each empty if nothing does.
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
    blocked: str
    lacks: str


class MachinesDetail(msgspec.Struct, frozen=True, kw_only=True):
    """The hub's processes, and what is missing.

    `lanes_due` lanes should be at work, `lanes_unheld` among them have no process. `follower_lag`
    is the age of what this process shows about the others, in seconds.
    """

    processes: tuple[ProcessDetail, ...]
    lanes_due: int
    lanes_unheld: int
    follower_lag: float


@operation("Hub.machines", "GET /hub/machines", Role.ORGANISER)
async def machines(hub: HubContext, _caller: Caller, _given: Nothing) -> MachinesDetail:
    """Return the hub's processes, the leader, and each process' lanes."""
    async with hub.store.reading() as connection:
        processes = await leases.processes(connection)
        leader = await leases.current(connection)
        census = await leases.census(connection)
    member, held = hub.phases.member, hub.phases.scheduler.lanes.holder.engine.count
    own_lanes = {member.id: held} if member.is_alone else {}
    own_block = {member.id: hub.store.blocked or ""} if member.is_alone else {}
    return MachinesDetail(
        processes=tuple(
            ProcessDetail(
                process=process.id,
                host=process.host,
                role=process.role,
                version=process.version,
                lanes=own_lanes.get(process.id, process.lanes),
                up=process.up,
                idle=process.idle,
                lives=process.lives,
                leads=leader is not None and leader.process == process.id,
                blocked=own_block.get(process.id, process.blocked),
                lacks=process.lacks,
            )
            for process in processes
        ),
        lanes_due=census.due,
        lanes_unheld=census.unheld,
        follower_lag=0.0 if member.is_alone else round(min(hub.phases.follower.lag, 1e6), 1),
    )
