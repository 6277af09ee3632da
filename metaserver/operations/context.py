"""The context of operations: the running hub's parts in one value."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.records import PhaseName, RegisteredServer, ServerName, TeamName
from metaserver.base.states import OPEN_STATES
from metaserver.boards.metrics import Metrics
from metaserver.config import Settings
from metaserver.curation.desk import RequestDesk
from metaserver.curation.models import ActiveModels
from metaserver.curation.operations.curation_logs import CurationLogs
from metaserver.curation.operations.curation_rules import ChallengeRules
from metaserver.curation.pdf import PdfReader
from metaserver.curation.proteins import ReleaseProteins
from metaserver.curation.texts import GuardedArticles
from metaserver.exchange.http.client import HttpClient
from metaserver.operations.caller import Caller
from metaserver.operations.recent import RecentCounts
from metaserver.phases.alerting import AlertSender
from metaserver.phases.archiver import BoardArchiver
from metaserver.phases.callbacks import CallbackDesk
from metaserver.phases.conformance import ConformanceRunner
from metaserver.phases.curves import ScoreCurves
from metaserver.phases.job_board import JobBoard
from metaserver.phases.jobs import Job, Jobs
from metaserver.phases.keeper import AggregateKeeper
from metaserver.phases.leader import Leader
from metaserver.phases.membership import HubMember
from metaserver.phases.notifications import Notifier
from metaserver.phases.refresh import StoreFollower
from metaserver.phases.runtime import RunningPhase
from metaserver.phases.scheduler import Scheduler
from metaserver.phases.sign_up_mail import SignUpMailer
from metaserver.phases.state_log import ServerStateRecorder
from metaserver.store import audit, servers, teams
from metaserver.store.store import Store
from metaserver.store.teams import Team
from metaserver.uniprot.vocabulary import Policies, split_name


@dataclass(frozen=True, kw_only=True, slots=True)
class HubContext:
    """The parts of the running hub that operations use; `clock` returns Unix seconds."""

    store: Store
    client: HttpClient
    callbacks: CallbackDesk
    settings: Settings
    scheduler: Scheduler
    member: HubMember
    leader: Leader
    state_recorder: ServerStateRecorder
    archiver: BoardArchiver
    keeper: AggregateKeeper
    follower: StoreFollower
    notifier: Notifier
    alerts: AlertSender
    metrics: Metrics
    conformance: ConformanceRunner
    jobs: Jobs
    job_board: JobBoard
    sign_up_mailer: SignUpMailer
    sign_ups: RecentCounts
    file_reads: RecentCounts  # of result files, by team
    curves: ScoreCurves
    rules: ChallengeRules
    requests: RequestDesk
    guarded: GuardedArticles
    models: ActiveModels
    pdfs: PdfReader = field(default_factory=PdfReader)
    curation_logs: CurationLogs = field(default_factory=CurationLogs)
    last_packages: dict[PhaseName, Job] = field(default_factory=dict)
    clock: Callable[[], float] = time.time

    def proteins(self, release: str) -> ReleaseProteins:
        """Return the proteins of a release by the name of a vocabulary."""
        name, _ = split_name(release, Policies())
        return ReleaseProteins(Path(self.settings.uniprot.releases), name)

    async def freshen(self) -> None:
        """Take in what other processes of the hub have changed, if there are others."""
        if not self.member.is_alone:
            await self.follower.freshen()

    def address_for(self, caller: Caller) -> str:
        """Return the hub's address without a slash at its end, or else the caller's way to it.

        The latter is for what the caller itself is answered, never for mail or for others.
        """
        return self.settings.web.url.rstrip("/") or caller.site

    async def team(self, name: str) -> Team:
        """Return a team that takes part; `RefusedError` where there is none of that name."""
        async with self.store.reading() as connection:
            team = await teams.get(connection, TeamName(name))
        if team is None or team.retired_at is not None:
            raise RefusedError(Refusal.UNKNOWN, f"there is no team {name!r}", field="team")
        return team

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

    def is_embargoed(self, running: RunningPhase) -> bool:
        """Return whether a phase's challenge is still for organisers alone."""
        return running.phase.is_embargoed(self.clock())

    def require_announced(self, caller: Caller, phase: str) -> None:
        """Raise `RefusedError`, as for an unknown phase, for one that the caller may not know."""
        running = self.scheduler.phases.get(PhaseName(phase))
        if running is not None and not caller.organiser and self.is_embargoed(running):
            raise RefusedError(Refusal.UNKNOWN, f"there is no phase {phase!r}", field="phase")

    def seen_phases(self, caller: Caller) -> Sequence[RunningPhase]:
        """Return the phases that the caller may know."""
        known = self.scheduler.phases.values()
        return [one for one in known if caller.organiser or not self.is_embargoed(one)]

    def phase(self, name: str | None) -> RunningPhase:
        """Return a phase by name; without a name the only one that is open; else `RefusedError`."""
        phases = self.scheduler.phases
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
