"""Deleting phases and challenges: only if nothing was answered, for good."""

from __future__ import annotations

from collections.abc import Sequence

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.states import Role
from metaserver.operations.caller import Caller
from metaserver.operations.challenges import challenge_named
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.fields import OneChallenge, OnePhase
from metaserver.operations.regrading import turn
from metaserver.operations.table import operation
from metaserver.phases.runtime import RunningPhase
from metaserver.store import people, phases, tokens


@operation("Phases.delete", "DELETE /phases/{phase}", Role.ORGANISER)
async def delete_phase(hub: HubContext, caller: Caller, request: OnePhase) -> None:
    """Delete a phase that has no answers, with its gold, failed attempts and server tests.

    A phase with answers, or with runs that teams uploaded, is refused: close it instead.
    """
    async with turn(hub, request.phase) as running, hub.phases.scheduler.lanes.lock:
        # Both locks are held: nothing begins in it.
        await _require_empty(hub, running)
        async with hub.store.writing() as connection:
            if await phases.answers(connection, running.phase.id):  # a run was uploaded meanwhile
                raise RefusedError(Refusal.STATE, "it has answers by now", field="phase")
            await phases.delete_phase(connection, running.phase.id)
            await audit_log(connection, caller, "phases.delete", running.name)
        hub.phases.scheduler.forget(running)
        for hook in hub.phases.deleted:
            await hook()


@operation("Challenges.delete", "DELETE /challenges/{challenge}", Role.ORGANISER)
async def delete_challenge(hub: HubContext, caller: Caller, request: OneChallenge) -> None:
    """Delete a challenge and its phases, which must have no answers."""
    challenge = await challenge_named(hub, request.challenge)
    for running in _phases_of(hub, request.challenge):
        await _require_empty(hub, running)  # before the first is gone
    for running in _phases_of(hub, request.challenge):
        await delete_phase(hub, caller, OnePhase(phase=running.name))
    async with hub.store.writing() as connection:
        await phases.delete_challenge(connection, challenge.id)
        await tokens.revoke_organisers(connection, challenge.name, hub.clock())
        await people.delete_invitations(connection, challenge.name)
        await audit_log(connection, caller, "challenges.delete", challenge.name)


def _phases_of(hub: HubContext, challenge: str) -> Sequence[RunningPhase]:
    running_phases = hub.phases.scheduler.phases.values()
    return [running for running in running_phases if running.phase.challenge == challenge]


async def _require_empty(hub: HubContext, running: RunningPhase) -> None:
    """Raise `RefusedError` if a phase has answers, or a server is at work in it."""
    async with hub.store.reading() as connection:
        answered = await phases.answers(connection, running.phase.id)
    if answered:
        message = f"{running.label} has {answered}: it can be closed, not deleted"
        raise RefusedError(Refusal.STATE, message, field="phase")
    lanes = hub.phases.scheduler.lanes
    if any(lanes.is_at_work(running.key(server)) for server in running.servers.values()):
        message = f"servers are at work in {running.label}: freeze it first"
        raise RefusedError(Refusal.STATE, message, field="phase")
