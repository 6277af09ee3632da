"""The context for operations: the running hub's parts in a single value."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.phases import label_of
from metaserver.base.records import PhaseName, RegisteredServer, ServerName, TeamName
from metaserver.base.states import OPEN_STATES, Role
from metaserver.config import Settings
from metaserver.exchange.http.client import HttpClient
from metaserver.operations.caller import Caller
from metaserver.operations.table import Scope
from metaserver.phases.alerting import AlertSender
from metaserver.phases.callbacks import CallbackDesk
from metaserver.phases.conformance import ConformanceRunner
from metaserver.phases.job_board import JobBoard
from metaserver.phases.jobs import Jobs
from metaserver.phases.mail import SignUpMailer
from metaserver.phases.membership import HubMember, Leader
from metaserver.phases.notifications import Notifier
from metaserver.phases.refresh import StoreFollower
from metaserver.phases.runtime import RunningPhase
from metaserver.phases.scheduler import Scheduler
from metaserver.store import audit, boards, people, servers, sign_ups, teams, tokens
from metaserver.store.store import Store
from metaserver.store.teams import Team

P = TypeVar("P")


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseParts:
    """The parts that work phases, in this process and between the processes of a hub.

    Each of `deleted` is called after a phase was deleted.
    """

    scheduler: Scheduler
    member: HubMember
    leader: Leader
    follower: StoreFollower
    deleted: list[Callable[[], Awaitable[None]]] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerParts:
    """The parts that call servers, and are called back.

    Each of `withdrawn` is called with a server that no longer serves curators.
    """

    client: HttpClient
    callbacks: CallbackDesk
    conformance: ConformanceRunner
    withdrawn: list[Callable[[ServerName], None]] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True, slots=True)
class JobParts:
    """The background jobs of this process, and the board on which those of all are."""

    own: Jobs
    board: JobBoard


@dataclass(frozen=True, kw_only=True, slots=True)
class NoticeParts:
    """The senders of notices, alerts and the mail of sign-ups."""

    notifier: Notifier
    alerts: AlertSender
    sign_ups: SignUpMailer


@dataclass(frozen=True, kw_only=True, slots=True)
class HubContext:
    """The parts of the running hub that operations use; `clock` returns Unix seconds.

    What only one subject needs is added under its type: `hub.part(Metrics)`.
    """

    store: Store
    settings: Settings
    phases: PhaseParts
    servers: ServerParts
    jobs: JobParts
    notices: NoticeParts
    clock: Callable[[], float] = time.time
    _parts: dict[type, Any] = field(default_factory=dict)

    def add(self, part: object) -> None:
        """Add the part of one subject, to be had by its type."""
        self._parts[type(part)] = part

    def part(self, kind: type[P]) -> P:
        """Return the part of a type; `KeyError` if the hub has none."""
        part: P = self._parts[kind]
        return part

    @property
    def webs(self) -> int:
        """The number of the hub's processes that serve its pages."""
        return self.phases.member.webs

    async def reload_changes(self) -> None:
        """Reload what other processes of the hub have changed, if there are others."""
        if not self.phases.member.is_alone:
            await self.phases.follower.reload_changes()

    def address_for(self, caller: Caller) -> str:
        """Return the hub's address without a slash at its end, or else the caller's way to it.

        The latter is for what the caller itself is answered, never for mail or for others.
        """
        return self.settings.web.url.rstrip("/") or caller.site

    async def team(self, name: str) -> Team:
        """Return a team that takes part; else `RefusedError`."""
        async with self.store.reading() as connection:
            team = await teams.get(connection, TeamName(name))
        if team is None or team.retired_at is not None:
            raise RefusedError(Refusal.UNKNOWN, f"there is no team {name!r}", field="team")
        return team

    async def team_for(self, caller: Caller, name: str | None, thing: str) -> Team:
        """Return the team of a thing: the caller's own, or that which an organiser names."""
        if caller.organiser and name is None:
            message = f"is required: the {thing}'s team, since you are an organiser"
            raise RefusedError(Refusal.INVALID, message, field="team")
        if not caller.organiser and name not in (None, caller.team):
            raise caller.not_your_team()
        return await self.team(name or caller.team or "")

    async def server(self, caller: Caller, name: str) -> RegisteredServer:
        """Return a server that the caller may see; `RefusedError` otherwise."""
        async with self.store.reading() as connection:
            registered = await servers.get(connection, ServerName(name))
        if registered is None or not caller.viewer.owns(registered.team):
            raise RefusedError(
                Refusal.UNKNOWN,
                f"there is no server {name!r}" + ("" if caller.organiser else " among yours"),
                field="server",
            )
        return registered

    async def server_in_use(self, caller: Caller, name: str) -> RegisteredServer:
        """Return a server that the caller may see and that is not retired; else `RefusedError`."""
        registered = await self.server(caller, name)
        if registered.retired_at is not None:
            raise RefusedError(Refusal.STATE, f"server {name} is retired", field="server")
        return registered

    async def in_challenge(self, caller: Caller, scope: Scope, request: Any) -> Caller:
        """Return the organiser of one challenge with all rights, for a request of that challenge.

        Here alone is decided what is of a challenge. Every other caller is returned as it is.
        """
        if caller.challenge is None or caller.organiser:
            return caller
        challenge = await self._challenge_of(caller, scope, request)
        return replace(caller, role=Role.ORGANISER) if challenge == caller.challenge else caller

    async def _challenge_of(self, caller: Caller, scope: Scope, request: Any) -> str | None:
        """Return the challenge of the object that a request names; None if it names none."""
        phase: str | None = None
        match scope:
            case Scope.OWN:
                return caller.challenge
            case Scope.CHALLENGE:
                return str(request.challenge)
            case Scope.JOB:
                job = self.jobs.own.get(request.job) or await self.jobs.board.find(request.job)
                own = job is not None and not job.team and job.asked_by == caller.name
                return caller.challenge if own else None
            case Scope.SIGN_UP:
                async with self.store.reading() as connection:
                    sign_up = await sign_ups.get(connection, request.id)
                return None if sign_up is None else sign_up.challenge
            case Scope.TOKEN:
                async with self.store.reading() as connection:
                    token = await tokens.get(connection, request.id)
                return None if token is None else token.challenge
            case Scope.INVITATION:
                async with self.store.reading() as connection:
                    link = await people.get_invitation(connection, request.id, self.clock())
                return None if link is None else link.challenge
            case Scope.BOARD:
                async with self.store.reading() as connection:
                    entry = await boards.get(connection, request.board)
                phase = None if entry is None else entry[0].phase
            case Scope.PHASE:
                phase = request.phase
        return self.challenge_of(phase or "")

    def challenge_of(self, phase: str) -> str | None:
        """Return a phase's challenge; None if there is no such phase."""
        running = self.phases.scheduler.phases.get(PhaseName(phase))
        return None if running is None else running.phase.challenge

    def phase_label(self, phase: str) -> str:
        """Return how people know a phase among all of the hub; a deleted phase by its name."""
        return self.phases.scheduler.labels().get(phase) or label_of(phase, "")

    def is_embargoed(self, running: RunningPhase) -> bool:
        """Return whether a phase's challenge is still for organisers alone."""
        return running.phase.is_embargoed(self.clock())

    def require_announced(self, caller: Caller, phase: str) -> None:
        """Raise `RefusedError`, as for an unknown phase, if the caller may not know the phase."""
        running = self.phases.scheduler.phases.get(PhaseName(phase))
        if running is None or caller.organises(running.phase.challenge):
            return
        if self.is_embargoed(running):
            raise RefusedError(Refusal.UNKNOWN, f"there is no phase {phase!r}", field="phase")

    def seen_phases(self, caller: Caller) -> Sequence[RunningPhase]:
        """Return the phases that the caller may know."""
        running_phases = self.phases.scheduler.phases.values()
        return [
            running
            for running in running_phases
            if caller.organises(running.phase.challenge) or not self.is_embargoed(running)
        ]

    def phase(self, name: str | None) -> RunningPhase:
        """Return a phase by name; without a name the only open phase; else `RefusedError`."""
        phases = self.phases.scheduler.phases
        if name is not None:
            if name not in phases:
                raise RefusedError(Refusal.UNKNOWN, f"there is no phase {name!r}", field="phase")
            return phases[PhaseName(name)]
        opened = [
            running
            for running in phases.values()
            if running.state in OPEN_STATES and not self.is_embargoed(running)
        ]
        if not opened:
            raise RefusedError(Refusal.STATE, "no phase is open", field="phase")
        if len(opened) > 1:
            names = ", ".join(running.name for running in opened)
            raise RefusedError(
                Refusal.INVALID, f"is needed: {names} are open at the same time", field="phase"
            )
        return opened[0]


async def audit_log(
    connection: AsyncConnection, caller: Caller, action: str, subject: str, **detail: Any
) -> None:
    """Write a caller's action into the audit log; no secret may be in `detail`."""
    await audit.add(
        connection,
        actor=caller.name,
        action=action,
        subject=subject,
        detail={name: value for name, value in detail.items() if value is not None},
        request_id=caller.request_id,
    )
