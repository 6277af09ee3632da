"""The launch check: what is missing or unwise before a phase is opened."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from aiohttp import web

from metaserver.base.plans import PhasePlan
from metaserver.base.states import PhaseState
from metaserver.operations import servers, teams
from metaserver.operations.phases import PhaseDetail, PhasePlanDetail
from metaserver.operations.planning import takes_uploads_only
from metaserver.operations.rounded import warning
from metaserver.operations.servers import ServerDetail
from metaserver.operations.table import Nothing
from metaserver.web.access.refusals import sentence
from metaserver.web.ui.console import ConsoleContext


async def taking_part(
    console: ConsoleContext, request: web.Request
) -> tuple[int, Collection[str], Sequence[ServerDetail]]:
    """Return the number of teams but the organisers' own, these, and their servers."""
    listed = await console.ask(request, teams.list_, Nothing())
    present = [team for team in listed if team.retired_at is None]
    hosts = {team.team for team in present if team.host}
    registered = await console.ask(request, servers.list_, Nothing()) if hosts else []
    own = [server for server in registered if server.team in hosts and not server.retired]
    return len(present) - len(hosts), hosts, own


def launch_check(
    phase: PhaseDetail, plan: PhasePlanDetail, guests: int, baselines: int
) -> Sequence[str]:
    """Return what a planned phase lacks, in sentences."""
    missing = [] if phase.gold else ["No task has gold, so nothing is scored."]
    for task, outside in plan.outside.items():
        missing.append(f"{outside.count:,} gold articles of {task} are outside the corpus.")
    return [*missing, *_unready(phase, phase.uploads_only, guests, baselines)]


def plan_check(plan: PhasePlan, now: float, guests: int, baselines: int) -> Sequence[str]:
    """Return what a plan lacks, or does at once, before there is a phase."""
    missing = _unready(plan, takes_uploads_only(plan.tasks), guests, baselines)
    if (state := plan.state(now, None)) is not PhaseState.SETUP:
        missing.append(f"By its dates, it is at once in the state {state}.")
    if text := warning(plan):
        missing.append(sentence(text))
    return missing


def _unready(
    plan: PhasePlan | PhaseDetail, uploads_only: bool, guests: int, baselines: int
) -> list[str]:
    missing = [] if guests else ["There is no team yet."]
    if not baselines and not uploads_only:
        missing.append(
            "No baseline takes part: mark a team of yours as such, and register its server or"
            " upload its run."
        )
    missing += [
        f"It has no date on which it {name}, so you do that manually."
        for name in ("opens", "freezes")
        if getattr(plan, name) is None
    ]
    return missing
