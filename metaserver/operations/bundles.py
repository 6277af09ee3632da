"""Bundles of challenges: checked, made into a challenge at once, exported again."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.boards import MethodDescription
from metaserver.base.errors import InputError, Refusal, RefusedError, listed
from metaserver.base.lanes import LaneKey
from metaserver.base.phases import SECTIONS, Challenge, SignUpMode
from metaserver.base.plans import DATES, PhasePlan
from metaserver.base.records import (
    ArticleId,
    Problem,
    RegisteredServer,
    Server,
    ServerName,
    TaskName,
    TeamName,
)
from metaserver.base.states import Control, Role
from metaserver.base.structs import convert
from metaserver.base.zips import files_in, zip_of
from metaserver.boards.gold import no_accession, read_gold, unanswerable
from metaserver.corpus.writing import bioc_collections
from metaserver.exchange.wire.contract import MENTIONS
from metaserver.operations.bundle_files import (
    LIMITS,
    MOST_FAULTS,
    MOST_YAML,
    PLAN,
    BundledMethod,
    BundledServer,
    ChallengeDraft,
    PhaseDraft,
    read_bundle,
    unzipped_content,
    written_plan,
)
from metaserver.operations.bundle_lanes import (
    LaneDraft,
    LaneRules,
    lane_files,
    read_lane,
    too_large,
)
from metaserver.operations.caller import Caller
from metaserver.operations.challenges import seen_challenge
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.fields import END, NAME, ChallengeField
from metaserver.operations.phases import planned
from metaserver.operations.pictures import FOLDER
from metaserver.operations.planning import require_materials
from metaserver.operations.releases import built
from metaserver.operations.table import Scope, operation
from metaserver.operations.text_files import unpacked
from metaserver.phases.restore import asked_tasks, vocabulary_of
from metaserver.phases.runtime import RunningPhase
from metaserver.phases.work import answered_of
from metaserver.store import articles, logs, phases, runs, servers, teams
from metaserver.store.runs import OfflineRun
from metaserver.store.teams import Team
from metaserver.tasks.plugin import (
    FiledTask,
    OfflineTask,
    RunFile,
    TaskPlugin,
    installed_tasks,
)

MOST_REPORTED = 20
NO_ADDRESS = "https://none.invalid/"
"""The address of a server that came with a bundle (RFC 2606): it is retired."""
SAMPLES = Path(__file__).with_name("samples")
ONLY_THERE = (
    "names: whether the hub already has a challenge, team or server of the same name",
    "releases: which UniProt releases the hub has",
)
"""What only the hub itself can check."""
UNREAD = "its runs, its servers' answers and the accessions of its gold were not checked"

Content = Annotated[bytes, Meta(description="The bundle: a zip (docs/bundles.md)")]
Named = Annotated[
    str,
    Meta(pattern=rf"^([A-Za-z0-9][A-Za-z0-9._-]{{0,63}})?{END}", description="Another name for it"),
]


class BundleFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A bundle, or the name of a bundle that ships with the hub, and other names for its contents.

    `release`: of phases that name none; by default the newest that was built.
    """

    content: Content = b""
    sample: Annotated[
        Literal["", "interactions", "names", "biotopes"],
        Meta(description="Instead of a bundle: a small example that comes with the hub"),
    ] = ""
    challenge: Named = ""
    release: Annotated[Named, Meta(description="The UniProt release of phases without one")] = ""


class BundleOrder(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A challenge to be exported: its definition, gold and baselines; `answers`: all runs too."""

    challenge: ChallengeField
    answers: Annotated[
        bool, Meta(description="With uploaded runs, servers' attempts and answers, and methods")
    ] = False


class ChallengeCopy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A challenge to be made again under another name: without dates and the teams' runs."""

    challenge: ChallengeField
    name: Annotated[str, Meta(pattern=NAME, description="The name of the new challenge")]


class BundleFault(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is wrong in a bundle: its file, with the line where it is known."""

    place: str
    message: str


class BundledPhase(msgspec.Struct, frozen=True, kw_only=True):
    """A phase of a bundle: its name, its articles, the tasks of its gold, its runs and servers."""

    phase: str
    articles: int
    gold: tuple[str, ...]
    runs: int
    servers: int


class BundleReport(msgspec.Struct, frozen=True, kw_only=True):
    """The effects of a bundle, or all that is wrong with it: then nothing is made.

    `unchecked`: what a check without a hub (`challenges check --offline`) could not check.
    """

    challenge: str
    phases: tuple[BundledPhase, ...]
    faults: tuple[BundleFault, ...] = ()
    unchecked: tuple[str, ...] = ()


class BundleContent(msgspec.Struct, frozen=True, kw_only=True):
    """A challenge as a bundle: a zip."""

    challenge: str
    content: bytes


@operation("Challenges.check", "POST /bundles/check", Role.ORGANISER)
async def check(hub: HubContext, _caller: Caller, request: BundleFile) -> BundleReport:
    """Say what a bundle would make, or all that is wrong with it; nothing is made."""
    draft, _ = await _draft(hub, request)
    return _report(draft)


async def check_offline(hub: HubContext, request: BundleFile) -> BundleReport:
    """Check a bundle as `check` does, at an empty hub in place of that which is to make it.

    A release that this machine does not have is no fault: that hub may have it.
    """
    draft, _ = await _draft(hub, request, offline=True)
    draft.unchecked[:0] = ONLY_THERE
    return _report(draft)


@operation("Challenges.make", "POST /bundles", Role.ORGANISER)
async def make(hub: HubContext, caller: Caller, request: BundleFile) -> BundleReport:
    """Make a challenge of a bundle: page, phases, articles, gold, runs.

    Everything is checked before anything is made, and all of it is made at once, or nothing.
    """
    draft, read_runs = await _draft(hub, request)
    return await _made(hub, caller, draft, read_runs)


@operation(
    "Challenges.export", "GET /challenges/{challenge}/bundle", Role.ORGANISER, scope=Scope.CHALLENGE
)
async def export(hub: HubContext, caller: Caller, request: BundleOrder) -> BundleContent:
    """Return a challenge as a bundle, of which another hub makes the same challenge.

    Addresses and credentials of servers are never in it.
    """
    challenge = await seen_challenge(hub, caller, request.challenge)
    content = await _exported(hub, challenge, answers=request.answers)
    async with hub.store.writing() as connection:
        await audit_log(
            connection, caller, "challenges.export", challenge.name, answers=request.answers
        )
    return BundleContent(challenge=challenge.name, content=content)


@operation("Challenges.clone", "POST /challenges/{challenge}/clone", Role.ORGANISER)
async def clone(hub: HubContext, caller: Caller, request: ChallengeCopy) -> BundleReport:
    """Make a challenge again: its page, phases, articles, gold and baselines, without dates."""
    challenge = await seen_challenge(hub, caller, request.challenge)
    content = await _exported(hub, challenge, dated=False)
    bundle = BundleFile(content=content, challenge=request.name)
    draft, read_runs = await _draft(hub, bundle)
    return await _made(hub, caller, draft, read_runs)


# -- check and make --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ReadRuns:
    """The runs of a bundle as they were read, by phase, and by place or server."""

    files: dict[tuple[str, int], RunFile] = field(default_factory=dict)
    lanes: dict[tuple[str, str], LaneDraft] = field(default_factory=dict)


async def _draft(
    hub: HubContext, request: BundleFile, *, offline: bool = False
) -> tuple[ChallengeDraft, ReadRuns]:
    """Read a bundle and check it against the hub; faults are in the draft."""
    release = request.release or next(iter(built(hub)), "")
    content = await asyncio.to_thread(_shipped, request.sample) if request.sample else b""
    if bool(request.content) == bool(content):
        message = "is needed, or a sample: one of them"
        raise RefusedError(Refusal.INVALID, message, field="content")
    content = content or request.content
    draft = await asyncio.to_thread(read_bundle, content, release, request.challenge)
    read_runs = ReadRuns()
    if draft.challenge is not None:
        async with hub.store.reading() as connection:
            present = await phases.get_challenge(connection, draft.challenge.challenge)
            await _check_owners(connection, draft)
        if present is not None:
            draft.fault(PLAN, f"there is a challenge {present.name!r} already: give another name")
        for phase in draft.phases:
            await _check_phase(hub, draft, phase, read_runs, offline=offline)
    draft.faults = sorted(draft.faults, key=_place)[:MOST_FAULTS]
    return draft, read_runs


async def _check_owners(connection: AsyncConnection, draft: ChallengeDraft) -> None:
    """Check the names of teams and servers against those of the hub, and against each other."""
    present = {team.name.lower(): team for team in await teams.list_all(connection)}
    of_servers: dict[str, str] = {
        registered.server.name: registered.team or ""
        for registered in await servers.list_all(connection)
    }
    for phase in draft.phases:
        for server, _, _ in phase.servers:
            owner = of_servers.setdefault(server.server, server.team)
            if owner != server.team or await runs.is_offline(connection, ServerName(server.server)):
                message = f"server {server.server!r}: another team, or an upload, has this name"
                draft.fault(PLAN, message, phase.line)
        owners = {run.team for run, _ in phase.runs}
        owners |= {server.team for server, _, _ in phase.servers if server.team}
        for owner in sorted(owners):
            team = present.get(owner.lower())
            if team is not None and team.name != owner:
                message = f"team {owner!r} differs from {team.name!r} of this hub only in case"
                draft.fault(PLAN, message, phase.line)
            elif team is not None and team.retired_at is not None:
                draft.fault(PLAN, f"team {owner!r} is retired on this hub", phase.line)
            elif team is not None and not team.host and _is_host(draft, owner):
                message = f"team {owner!r} of this hub is not the organisers': its runs would be"
                draft.fault(PLAN, f"{message} no baselines", phase.line)


def _is_host(draft: ChallengeDraft, team: str) -> bool:
    """Return whether a bundle says that a team is the organisers'."""
    said = draft.teams.get(team)
    return said is not None and said.host


def _place(fault: InputError) -> tuple[str, int]:
    """Return a fault's file and line."""
    file, _, line = fault.place.rpartition(":")
    return (file, int(line)) if line.isdecimal() else (fault.place, 0)


def _shipped(sample: str) -> bytes:
    """Return a bundle that ships with the hub."""
    return zip_of(files_in(SAMPLES / sample))


async def _check_phase(
    hub: HubContext,
    draft: ChallengeDraft,
    phase: PhaseDraft,
    read_runs: ReadRuns,
    *,
    offline: bool,
) -> None:
    """Check a phase's release, its gold against that, and read its runs."""
    try:
        has_articles = bool(phase.articles.rows)
        require_materials(hub, phase.plan.tasks, phase.plan.release, has_articles=has_articles)
    except RefusedError as error:
        message = f"phase {phase.plan.phase}: {error.message}"
        if offline and error.field == "release":
            draft.unchecked.append(f"{PLAN}:{phase.line}: {message}; {UNREAD}")
        else:
            draft.fault(PLAN, message, phase.line)
        return
    runs_before: set[tuple[str, str, str]] = set()
    for place, (run, _) in enumerate(phase.runs):
        key = (run.team, run.task, run.run)
        if key in runs_before:
            message = f"team {run.team} has two runs {run.run!r} of {run.task}"
            draft.fault(PLAN, message, phase.line)
        runs_before.add(key)
        try:
            run_file = await asyncio.to_thread(_read_run, hub, phase, place)
        except (InputError, RefusedError) as error:
            draft.fault(run.file, error.message)
            continue
        read_runs.files[phase.plan.phase, place] = run_file
        if run_file.faults or not run_file.payloads:
            problems = (run_file.faults or run_file.problems)[:MOST_REPORTED]
            draft.faults += [_fault_of(run.file, problem) for problem in problems]
            if not problems:
                draft.fault(run.file, "it has no valid answer")
    for server, attempts, answers in phase.servers:
        lane = await asyncio.to_thread(_read_lane, hub, phase, server, attempts, answers)
        read_runs.lanes[phase.plan.phase, server.server] = lane
        draft.faults += lane.faults
    for file, message in await asyncio.to_thread(_unanswerable, hub, phase):
        draft.fault(file, message)


def _unanswerable(hub: HubContext, phase: PhaseDraft) -> Sequence[tuple[str, str]]:
    """Return the golds that no answer can match, as they are of another task or release."""
    faults = []
    vocabulary = vocabulary_of(hub.settings, phase.plan.release)
    for task, (name, content) in phase.gold.items():
        gold = read_gold(task, unpacked(content), name)
        if unanswerable(installed_tasks()[task], gold, vocabulary).is_all:
            faults.append((name, no_accession(phase.plan.release)))
    return faults


def _read_run(hub: HubContext, phase: PhaseDraft, place: int) -> RunFile:
    """Read an uploaded run; `RefusedError` for a run of a wrong task. Slow: for a thread."""
    run, content = phase.runs[place]
    task: TaskPlugin | None = installed_tasks().get(TaskName(run.task))
    if not isinstance(task, FiledTask | OfflineTask):
        raise RefusedError(Refusal.INVALID, f"{run.task!r} takes no result files")
    if phase.plan.tasks and run.task not in phase.plan.tasks:
        raise RefusedError(Refusal.INVALID, f"{run.task} is no task of phase {phase.plan.phase}")
    with tempfile.TemporaryDirectory(prefix="metaserver-run-") as folder:
        path = Path(folder) / "run.tsv"
        path.write_bytes(unpacked(content))
        if isinstance(task, OfflineTask):
            if task.name not in phase.gold:
                raise RefusedError(
                    Refusal.INVALID, f"there is no gold of {task.name} to read it by"
                )
            name, gold = phase.gold[task.name]
            run_file = task.read_upload(path, read_gold(task.name, unpacked(gold), name))
        else:
            ids = [ArticleId(row["article_id"]) for row in phase.articles.rows]
            run_file = task.read_run(path, ids, vocabulary_of(hub.settings, phase.plan.release))
    return run_file


def _fault_of(file: str, problem: Problem) -> InputError:
    """Return what is wrong with a run, by its file and line where these are known."""
    place = re.fullmatch(r"(?:(\S+) )?line ([0-9]{1,9})(?:, (column [0-9]+))?", problem.path)
    if place is None:
        return InputError(file, str(problem))
    inner, line, column = place.groups()
    message = f"{column}: {problem.message}" if column else problem.message
    return InputError(f"{file}/{inner}" if inner else file, message, line=int(line))


def _read_lane(
    hub: HubContext, phase: PhaseDraft, server: BundledServer, attempts: bytes, answers: bytes
) -> LaneDraft:
    """Read a server's attempts and answers. Slow: for a thread."""
    plan, settings = phase.plan, hub.settings.of_phase(planned(phase.plan, "UTC"))
    asked = answered_of(asked_tasks(phase.gold, plan.tasks))
    rules = LaneRules(
        ids=[ArticleId(row["article_id"]) for row in phase.articles.rows],
        # A server may have been of other tasks when it answered; mentions may be for display.
        parts=[
            task
            for task in asked
            if task.key != MENTIONS or not server.tasks or task.name in server.tasks
        ],
        vocabulary=vocabulary_of(settings, plan.release),
        limits=settings.limits,
        now=hub.clock(),
    )
    return read_lane(server, attempts, answers, rules)


def _report(draft: ChallengeDraft, names: Sequence[str] = ()) -> BundleReport:
    """Return what a draft makes; `names` are its phases' names in the hub, once they are made."""
    names = names or [phase.plan.phase for phase in draft.phases]
    return BundleReport(
        challenge=draft.challenge.challenge if draft.challenge else "",
        phases=tuple(
            BundledPhase(
                phase=name,
                articles=len(phase.articles.rows),
                gold=tuple(phase.gold),
                runs=len(phase.runs),
                servers=len(phase.servers),
            )
            for name, phase in zip(names, draft.phases, strict=True)
        ),
        faults=tuple(
            BundleFault(place=fault.place, message=fault.message) for fault in draft.faults
        ),
        unchecked=tuple(draft.unchecked),
    )


async def _made(
    hub: HubContext, caller: Caller, draft: ChallengeDraft, read_runs: ReadRuns
) -> BundleReport:
    """Make a challenge of a draft without faults, in one transaction."""
    if draft.faults or draft.challenge is None:
        faults = msgspec.to_builtins(_report(draft).faults)
        raise RefusedError(
            Refusal.INVALID, listed(draft.faults), field="content", detail={"faults": faults}
        )
    plan, now = draft.challenge, hub.clock()
    async with hub.store.writing() as connection:
        if await phases.get_challenge(connection, plan.challenge) is not None:
            message = f"there is a challenge {plan.challenge!r} by now"
            raise RefusedError(Refusal.STATE, message, field="challenge")
        await phases.set_challenge(connection, plan.challenge, plan.title, plan.timezone)
        await phases.change_challenge(connection, plan.challenge, page=draft.page)
        challenge = await phases.get_challenge(connection, plan.challenge)
        assert challenge is not None
        await phases.add_pictures(connection, challenge.id, draft.pictures)
        phase_ids = []
        for phase in draft.phases:
            corpus = await articles.store_articles(connection, phase.articles)
            if phase.corpus:
                await phases.add_corpus_version(connection, phase.corpus, corpus.id, "bundle")
            phase_id = await phases.add(
                connection,
                phase.plan.phase,
                challenge.id,
                planned(phase.plan, plan.timezone),
                corpus_id=corpus.id,
                release=phase.plan.release,
                after=hub.phases.scheduler.last_id,
            )
            phase_ids.append(phase_id)
            for task, (file, content) in phase.gold.items():
                source = PurePath(file).name
                await phases.set_gold(connection, phase_id, task, source, content)
            for server, _, _ in phase.servers:
                lane = read_runs.lanes[phase.plan.phase, server.server]
                key = LaneKey(phase_id, await _server(connection, draft, server))
                note = "its answers came with a bundle"
                await servers.set_control(connection, key, Control.PAUSED, note)
                await logs.put(connection, key, lane.rows, lane.cursor)
            described = {(method.team, method.task, method.run): method for method in phase.methods}
            for place, (run, content) in enumerate(phase.runs):
                task = TaskName(run.task)
                owner = await _owner(connection, draft, TeamName(run.team))
                run_file = read_runs.files[phase.plan.phase, place]
                name = await runs.board_name(connection, phase_id, owner, task, run.run)
                await runs.put(
                    connection,
                    phase_id,
                    owner.id,
                    task,
                    name,
                    run.run,
                    content=unpacked(content),
                    payloads=run_file.payloads,
                    asides=run_file.asides,
                    problems=run_file.problems,
                    at=now,
                )
                if method := described.pop((run.team, run.task, run.run), None):
                    described_as = convert(method, MethodDescription)
                    await runs.put_method(connection, phase_id, name, described_as)
            for method in described.values():  # of servers
                name, described_as = ServerName(method.run), convert(method, MethodDescription)
                await runs.put_method(connection, phase_id, name, described_as)
        stored = [await phases.by_id(connection, phase_id) for phase_id in phase_ids]
        stored_phases = [stored_phase for stored_phase in stored if stored_phase is not None]
        names = [stored_phase.name for stored_phase in stored_phases]
        await audit_log(connection, caller, "challenges.make", plan.challenge, phases=names)
    for stored_phase in stored_phases:
        await hub.phases.scheduler.take_over(stored_phase)
    return _report(draft, names)


async def _owner(connection: AsyncConnection, draft: ChallengeDraft, name: TeamName) -> Team:
    """Return a team of the hub, which is made if there is none."""
    if await teams.get(connection, name) is None:
        said = draft.teams.get(name)
        await teams.add(connection, name, said.title if said else "", "")
        await teams.change(connection, name, host=_is_host(draft, name))
    owner = await teams.get(connection, name)
    assert owner is not None
    return owner


async def _server(connection: AsyncConnection, draft: ChallengeDraft, server: BundledServer) -> int:
    """Return the id of a server of the hub; if there is none, a retired server is made."""
    name = ServerName(server.server)
    present = await servers.get(connection, name)
    if present is not None:
        if (present.team or "") != server.team:
            message = f"there is a server {name!r} of another team by now"
            raise RefusedError(Refusal.STATE, message, field="content")
        return present.id
    team = await _owner(connection, draft, TeamName(server.team)) if server.team else None
    tasks = tuple(map(TaskName, server.tasks))
    server_made = Server(name=name, url=NO_ADDRESS, protocol=server.protocol, tasks=tasks)
    number = await servers.add(connection, server_made, team.id if team else None)
    await servers.retire(connection, number)
    return number


# -- export ----------------------------------------------------------------------------------------


async def _exported(
    hub: HubContext, challenge: Challenge, *, answers: bool = False, dated: bool = True
) -> bytes:
    """Return the bundle of a challenge."""
    page = challenge.page
    mode = SignUpMode.APPROVE if page.sign_up is SignUpMode.CODE else page.sign_up
    head: dict[str, Any] = {
        "challenge": challenge.name,
        "title": challenge.title,
        "timezone": challenge.timezone,
        "sign_up": mode.value,
        "terms_version": page.terms_version,
    }
    files: dict[str, bytes] = {
        f"texts/{name}.md": text.encode()
        for name in (*(section.name for section in SECTIONS), "terms")
        if (text := getattr(page, name))
    }
    async with hub.store.reading() as connection:
        for name in await phases.picture_names(connection, challenge.id):
            content = await phases.picture(connection, challenge.id, name)
            files |= {f"{FOLDER}/{name}": content} if content else {}
    owners: dict[str, Mapping[str, Any]] = {}
    plans = [
        await _phase(hub, running, files, owners, answers=answers, dated=dated)
        for running in sorted(
            hub.phases.scheduler.phases.values(), key=lambda running: running.phase.id
        )
        if running.phase.challenge == challenge.name
    ]
    if owners:
        head["teams"] = [owners[name] for name in sorted(owners)]
    files = {PLAN: written_plan(head, plans)} | files
    sizes = [len(content) for content in files.values()]
    if (
        max(sizes) > LIMITS.file_bytes
        or sum(sizes) > LIMITS.bytes
        or len(sizes) > LIMITS.files
        or sizes[0] > MOST_YAML
    ):
        raise too_large()
    placed = [(f"{challenge.name}/{name}", content) for name, content in files.items()]
    return await asyncio.to_thread(zip_of, placed)


async def _phase(
    hub: HubContext,
    running: RunningPhase,
    files: dict[str, bytes],
    owners: dict[str, Mapping[str, Any]],
    *,
    answers: bool,
    dated: bool,
) -> Mapping[str, Any]:
    """Return a phase as the plan has it; add its files, and the teams of its runs to `owners`.

    Without `answers`, these are the uploaded runs of the organisers' own teams: its baselines.
    """
    phase = running.phase
    async with hub.store.reading() as connection:
        corpora = [
            version.name
            for version in await phases.list_corpora(connection)
            if version.corpus_id == phase.corpus_id
        ]
        golds = await phases.newest_gold(connection, phase.id)
    place = f"articles/{corpora[0] if corpora else phase.own_name}"
    if running.corpus.ids and not any(name.startswith(f"{place}/") for name in files):
        batches = [batch async for batch in hub.store.articles(running.phase.corpus_id)]
        parts = await asyncio.to_thread(
            lambda: [*map(b"".join, bioc_collections(chain.from_iterable(batches)))]
        )
        files |= {f"{place}/{n:04}.json": part for n, part in enumerate(parts, start=1)}
    gold = {
        task: _filed(
            files, f"phases/{phase.own_name}/gold_{task}", version.source, unpacked(version.content)
        )
        for task, version in golds.items()
    }
    plan, usual = map(msgspec.to_builtins, (phase.plan, PhasePlan()))
    plan |= {name: _date(running, name) if dated else None for name in DATES}
    values = {key: value for key, value in plan.items() if value != usual[key]}
    place = place if running.corpus.ids else ""
    files_of = {"release": phase.release, "articles": place, "gold": gold}
    written: dict[str, Any] = {"phase": phase.own_name, **values}
    written |= {key: value for key, value in files_of.items() if value}
    async with hub.store.reading() as connection:
        methods = await runs.methods_by_run(connection, phase.id)
    registered = running.servers if answers else {}
    lanes = [await _lane(hub, running, server, files) for server in registered.values()]
    written |= {"servers": lanes} if lanes else {}
    uploaded = {
        name: run
        for name, run in running.offline.items()
        if answers or running.teams[run.team].host
    }
    filed = [run async for run in _runs(hub, running, uploaded.values(), files)]
    written |= {"runs": filed} if filed else {}
    described = [
        convert(method, BundledMethod, run=run.own_name, team=run.team, task=run.task)
        for name, method in methods.items()
        if (run := uploaded.get(name)) is not None
    ]
    described += [
        convert(method, BundledMethod, run=name)
        for name, method in methods.items()
        if name in registered
    ]
    if described:
        name = f"phases/{phase.own_name}/methods.jsonl"
        files[name] = b"".join(msgspec.json.encode(method) + b"\n" for method in described)
        written["methods"] = name
    names = {run.team for run in uploaded.values()}
    names |= {server.team for server in registered.values() if server.team}
    for team in map(running.teams.__getitem__, names):
        owners[team.name] = {"team": team.name, "title": team.title, "host": team.host}
    return written


def _date(running: RunningPhase, name: str) -> str | None:
    """Return when a phase reached a state manually, or else reaches it by its plan."""
    phase = running.phase
    manual, planned_at = getattr(phase.moments, name), getattr(phase.plan, name)
    at = planned_at if manual is None else datetime.fromtimestamp(manual, UTC)
    return at.astimezone(UTC).isoformat() if at else None


async def _lane(
    hub: HubContext, running: RunningPhase, registered: RegisteredServer, files: dict[str, bytes]
) -> Mapping[str, Any]:
    """Return a server as the plan has it, and add its files."""
    server, place = registered.server, f"phases/{running.phase.own_name}/servers"
    names = [f"{place}/{server.name}/{file}" for file in ("attempts.tsv", "answers.jsonl")]
    files |= dict(zip(names, await lane_files(hub.store, running, registered), strict=True))
    if sum(map(len, files.values())) > LIMITS.bytes:
        raise too_large()
    written = {"server": server.name, "team": registered.team or "", "tasks": list(server.tasks)}
    return written | {"protocol": server.protocol, "attempts": names[0], "answers": names[1]}


async def _runs(
    hub: HubContext,
    running: RunningPhase,
    uploaded: Iterable[OfflineRun],
    files: dict[str, bytes],
) -> AsyncIterator[Mapping[str, str]]:
    # The names on boards that are shortest are given again first: `runs.board_name`.
    for run in sorted(uploaded, key=lambda run: len(run.name) - len(run.own_name)):
        async with hub.store.reading() as connection:
            content = await runs.content(connection, running.phase.id, run.name)
        if content is not None:
            place = f"phases/{running.phase.own_name}/runs/{run.team}/{run.task}/{run.own_name}"
            filed = _filed(files, place, "run.tsv", unpacked(content))
            yield {"run": run.own_name, "team": run.team, "task": run.task, "file": filed}


def _filed(files: dict[str, bytes], place: str, source: str, content: bytes) -> str:
    """Add a file to a bundle, a zip as a folder; return its place."""
    with unzipped_content(content) as inner:
        if inner is not None:
            files |= {f"{place}/{name}": data for name, data in inner.items()}
            return place
    suffix = PurePath(source.removesuffix(".gz")).suffix
    name = f"{place}{suffix if re.fullmatch(r'[.][A-Za-z0-9]{1,8}', suffix) else '.tsv'}"
    files[name] = content
    return name
