"""A hub's overview: its challenges, the steps to the first article, and open problems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote, urlencode

from aiohttp import web

from metaserver.base.findings import FindingKind
from metaserver.base.phases import AUTOMATIC_A_DAY
from metaserver.base.states import OPEN_STATES, PhaseState, Role, ServerState
from metaserver.operations import (
    challenges,
    corpora,
    monitoring,
    phases,
    releases,
    servers,
    teams,
    tokens,
)
from metaserver.operations.challenges import ChallengeDetail
from metaserver.operations.conformance import TestState
from metaserver.operations.control_room import FoundDetail, WatchQuery, watch_phase
from metaserver.operations.corpora import CorpusDetail
from metaserver.operations.monitoring import ProcessDetail
from metaserver.operations.phases import PhaseDetail
from metaserver.operations.servers import LaneProgress, ServerDetail
from metaserver.operations.table import Nothing
from metaserver.operations.teams import TeamDetail
from metaserver.operations.tokens import TokenDetail, TokenQuery
from metaserver.web.access.visitor import caller_of
from metaserver.web.team.settings import holds
from metaserver.web.ui.console import ConsoleContext

NAMED = 5
"""How many names are listed per problem; the others are counted."""

NEW_PHASE, NEW_CHALLENGE = "/organise/new-phase", "/organise/new-challenge"


UPLOADS: Mapping[FindingKind, str] = {
    FindingKind.BURST: "upload burst",
    FindingKind.NEAR: "few changes",
    FindingKind.JUMP: "jump",
}
"""The words for findings about uploads."""


class SetupStep(NamedTuple):
    """A step on the way to the first article."""

    done: bool
    title: str
    help: str
    path: str


class Need(NamedTuple):
    """A problem that needs an organiser; `state` is the shape and colour of its pill."""

    state: str
    word: str
    text: str
    path: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Overview:
    """A hub's challenges, phases, teams and servers, as of now; with a `challenge` its own alone.

    Then what is of the hub is left out: corpora, teams, tokens, releases, processes.
    """

    challenges: Sequence[ChallengeDetail]
    corpora: Sequence[CorpusDetail]
    phases: Sequence[PhaseDetail]
    teams: Sequence[TeamDetail]
    tokens: Sequence[TokenDetail]
    servers: Sequence[ServerDetail]
    releases: Sequence[str]
    processes: Sequence[ProcessDetail]
    found: Mapping[str, Sequence[FoundDetail]]  # by phase
    now: float
    challenge: str | None = None

    def phases_of(self, challenge: str) -> Sequence[PhaseDetail]:
        """Return a challenge's phases, the newest first."""
        return [phase for phase in reversed(self.phases) if phase.challenge == challenge]

    @property
    def tokenless(self) -> Sequence[str]:
        """The teams that nobody can sign in for, without those of the host's baselines."""
        holding = {
            token.team
            for token in self.tokens
            if token.role is Role.TEAM and holds(token, self.now)
        }
        return [team.team for team in self.playing if team.team not in holding]

    @property
    def playing(self) -> Sequence[TeamDetail]:
        """The teams that take part, without those of the host's baselines."""
        return [team for team in self.teams if team.retired_at is None and not team.host]


async def overview_of(console: ConsoleContext, request: web.Request) -> Overview:
    """Ask for all that a hub has, or the challenge that the caller organises."""
    nothing, caller = Nothing(), caller_of(request)
    planned = await organised_phases(console, request)
    findings = {
        phase.phase: (
            await console.ask(request, watch_phase, WatchQuery(phase=phase.phase, limit=1))
        ).findings
        for phase in planned
    }
    of_hub = caller.challenge is None
    return Overview(
        challenges=[
            challenge
            for challenge in await console.ask(request, challenges.list_challenges, nothing)
            if caller.organises(challenge.challenge)
        ],
        corpora=await console.ask(request, corpora.list_, nothing) if of_hub else (),
        phases=planned,
        teams=await console.ask(request, teams.list_, nothing) if of_hub else (),
        tokens=await console.ask(request, tokens.list_, TokenQuery(ended=0)) if of_hub else (),
        servers=await console.ask(request, servers.list_, nothing),
        releases=await console.ask(request, releases.list_, nothing) if of_hub else (),
        processes=(await console.ask(request, monitoring.machines, nothing)).processes
        if of_hub
        else (),
        found=findings,
        now=console.hub.clock(),
        challenge=caller.challenge,
    )


async def organised_phases(console: ConsoleContext, request: web.Request) -> Sequence[PhaseDetail]:
    """Return the phases that the caller organises."""
    listed, caller = await console.ask(request, phases.list_, Nothing()), caller_of(request)
    return [phase for phase in listed if caller.organises(phase.challenge)]


async def challenge_named(
    console: ConsoleContext, request: web.Request, name: str
) -> ChallengeDetail:
    """Return a challenge; `HTTPNotFound` if there is none of that name."""
    for challenge in await console.ask(request, challenges.list_challenges, Nothing()):
        if challenge.challenge == name:
            return challenge
    raise web.HTTPNotFound(text=f"There is no challenge called {name or repr(name)}.")


def steps(overview: Overview) -> Sequence[SetupStep]:
    """Return the way from an empty hub to a team that can begin, for organisers of the hub."""
    if overview.challenge:
        return ()
    newest = overview.phases[-1].phase if overview.phases else ""
    phase = f"/organise/phases/{quote(newest, safe='')}" if newest else ""
    gold = any(phase.gold for phase in overview.phases)
    playing = overview.playing
    return [
        SetupStep(
            bool(overview.challenges),
            "Make a challenge",
            "Its title, and the time zone of its dates.",
            NEW_CHALLENGE,
        ),
        SetupStep(
            bool(overview.corpora),
            "Import a corpus",
            "The articles that will be sent to servers: a file, or a zip of files.",
            "/organise/corpora",
        ),
        SetupStep(
            bool(overview.releases),
            "Build a UniProt release",
            "Once, on the hub's machine: metaserver uniprot build. Answers are checked against it.",
            "",
        ),
        SetupStep(
            bool(overview.phases),
            "Plan a phase",
            "Corpus, release, tasks, dates, limits, and who sees the scores.",
            NEW_PHASE if overview.challenges else "",
        ),
        SetupStep(gold, "Set its gold", "One file per task, by which runs are scored.", phase),
        SetupStep(bool(playing), "Add a team", "By its name.", "/organise/teams"),
        SetupStep(
            len(overview.tokenless)
            < len(playing),  # later teams without one are listed as problems
            "Give it a token",
            "It is shown once, and the team signs in with it.",
            team_path(overview.tokenless[0]) if overview.tokenless else "",
        ),
    ]


def team_path(team: str) -> str:
    """Return the path of a team's page."""
    return f"/organise/teams/{quote(team, safe='')}"


def phase_path(phase: str) -> str:
    """Return the path of a phase's page."""
    return f"/organise/phases/{quote(phase, safe='')}"


# -- problems --------------------------------------------------------------------------------------


def needs(overview: Overview) -> Sequence[Need]:
    """Return the problems that need an organiser, the worst first."""
    return [
        *_lacking(overview),
        *_down(overview),
        *_unscored(overview),
        *_outside(overview),
        *_untested(overview),
        *_uploads(overview),
        *_waiting(overview),
    ]


def _lacking(overview: Overview) -> Iterator[Need]:
    hosts: dict[str, list[str]] = {}
    for process in overview.processes:
        if process.lives and process.lacks:
            hosts.setdefault(process.lacks, []).append(process.host)
    for lacks, names in hosts.items():
        yield Need("down", "machine", f"On {_some(names)}: {lacks}", "/organise/machines")


def _open_lanes(overview: Overview) -> Iterator[tuple[str, LaneProgress]]:
    opened = {phase.phase for phase in overview.phases if phase.state in OPEN_STATES}
    for server in overview.servers:
        for progress in server.phases:
            if progress.phase in opened and not server.retired:
                yield server.server, progress


def _down(overview: Overview) -> Iterator[Need]:
    for state, word in (
        (ServerState.DOWN, "no longer answer"),
        (ServerState.SUSPENDED, "are suspended"),
    ):
        names = [name for name, progress in _open_lanes(overview) if progress.state == state]
        if names:
            yield Need(
                state, state, f"Servers that {word}: {_some(names)}", _servers(state=state.value)
            )
    given_up = [name for name, progress in _open_lanes(overview) if progress.given_up]
    if given_up:
        text = f"Articles were given up for {_some(given_up)}: re-queue them, or leave them"
        yield Need("slow", "given up", text, _servers(state="given up"))


def _unscored(overview: Overview) -> Iterator[Need]:
    for phase in overview.phases:
        missing = [task for task in phase.tasks if task not in phase.gold]
        if phase.state is PhaseState.CLOSED or (phase.gold and not missing):
            continue
        which = ", ".join(missing) if phase.gold else "any task"
        alarming = phase.state is not PhaseState.SETUP and not phase.gold
        text = f"No gold for {which} in {_title(phase)}: that is not scored"
        yield Need("down" if alarming else "waiting", "no gold", text, phase_path(phase.phase))


def _outside(overview: Overview) -> Iterator[Need]:
    for phase, findings in overview.found.items():
        for finding in findings:
            if finding.kind is FindingKind.GOLD_OUTSIDE:
                for subject in finding.subjects:
                    text = f"{_titles(overview)[phase]}: {subject.text}"
                    yield Need("waiting", "gold", text, phase_path(phase))


def _untested(overview: Overview) -> Iterator[Need]:
    titles = _titles(overview)
    failed = [
        f"{server.server} ({titles.get(tested.phase, tested.phase)})"
        for server in overview.servers
        for tested in server.tests
        if tested.state is TestState.FAILED and not server.retired
    ]
    if failed:
        text = f"Servers whose last test for a phase failed: {_some(failed)}"
        yield Need("down", "test failed", text, _servers(state="test failed"))


def _uploads(overview: Overview) -> Iterator[Need]:
    for phase, findings in overview.found.items():
        for finding in findings:
            if word := UPLOADS.get(finding.kind):
                path = f"/organise/uploads?{urlencode({'phase': phase})}"
                text = f"{_titles(overview)[phase]}: {finding.subjects[0].text}"
                more = finding.count - 1
                yield Need("slow", word, f"{text}; and {more} more" if more else text, path)


def _waiting(overview: Overview) -> Iterator[Need]:
    for challenge in overview.challenges:
        path = f"/organise/challenges/{quote(challenge.challenge, safe='')}/sign-ups"
        title = challenge.title or challenge.challenge
        if challenge.waiting:
            text = f"Sign-ups for {title} that wait for approval: {challenge.waiting}"
            yield Need("slow", "sign-up", text, path)
        if challenge.automatic >= AUTOMATIC_A_DAY:
            text = (
                f"{challenge.automatic} teams came into {title} without an organiser"
                " in 24 hours, each with uploads of its own: further ones wait for approval"
            )
            yield Need("slow", "sign-up", text, path)
    if overview.tokenless:
        text = f"Teams without a token: {_some(overview.tokenless)}"
        yield Need("waiting", "no token", text, team_path(overview.tokenless[0]))
    for phase in overview.phases:
        if phase.state is PhaseState.SETUP and phase.opens is None:
            text = f"No date to open {_title(phase)}: open it yourself, or set a date"
            yield Need("waiting", "no date", text, phase_path(phase.phase))


def _title(phase: PhaseDetail) -> str:
    return phase.title or phase.phase


def _titles(overview: Overview) -> Mapping[str, str]:
    return {phase.phase: _title(phase) for phase in overview.phases}


def _servers(**query: str) -> str:
    return f"/organise/servers?{urlencode(query)}"


def _some(names: Sequence[str]) -> str:
    names = list(dict.fromkeys(names))
    more = len(names) - NAMED
    listed = ", ".join(names[:NAMED])
    return f"{listed} and {more} more" if more > 0 else listed
