"""A phase as its organisers watch it: servers against the deadline, conspicuous uploads.

It is one walk over the rows that the monitor keeps anyway. The control room shows it, and notices
to organisers come from its findings.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from metaserver.base.boards import column_named
from metaserver.base.findings import FindingKind, PhaseFinding, Subject
from metaserver.base.plans import Change
from metaserver.base.records import ServerName, TaskName
from metaserver.base.states import OPEN_STATES, OVER, PhaseState, ServerState
from metaserver.base.zones import in_words
from metaserver.boards.forecast import Forecast, Verdict, forecast, verdict
from metaserver.boards.scoreboard import ranked
from metaserver.boards.snapshots import ServerStatus
from metaserver.phases.runtime import RunningPhase
from metaserver.store.uploads import Upload

# -- uploads that an organiser should look at: they may try the gold out ---------------------------

BURST, BURST_SECONDS = 5, 600.0
"""A team's uploads for a task within that time that make a burst."""
JUMP = 0.1
"""Difference of the first measure by which a run is far better than the team's best before."""


def conspicuous(
    uploads: Sequence[Upload],
    leaders: Mapping[TaskName, ServerName],
    rising: Collection[TaskName] = (),
) -> Iterator[tuple[FindingKind, Subject]]:
    """Yield what is conspicuous among a phase's uploads, in their order.

    `leaders` are the first runs of the tasks, `rising` the tasks whose lowest score is the best.
    """

    def key(upload: Upload) -> tuple[str, str]:
        return upload.team, upload.task

    for (team, task), group in groupby(sorted(uploads, key=key), key=key):
        by_time = sorted(group, key=lambda upload: upload.id)
        if (count := _burst(by_time)) >= BURST:
            text = f"{team} uploaded {count} runs of {task} in {BURST_SECONDS / 60:.0f} minutes"
            yield FindingKind.BURST, Subject(name=f"{team} {task}", text=text)
        if near := [upload for upload in by_time if upload.near]:
            last = near[-1]
            times = f", {len(near)} times so far" if len(near) > 1 else ""
            answers = "1 answer" if last.changed == 1 else f"{last.changed} answers"
            text = f"{last.run} of {team} differs from an earlier {task} run in {answers}{times}"
            yield FindingKind.NEAR, Subject(name=last.run, text=text)
        sign = -1 if task in rising else 1
        yield from _jump(by_time, leaders.get(TaskName(task)), sign)


def _burst(uploads: Sequence[Upload]) -> int:
    """Return the maximum number of uploads within `BURST_SECONDS`."""
    moments = sorted(upload.at for upload in uploads)
    ends = (bisect_right(moments, start + BURST_SECONDS) for start in moments)
    return max(end - place for place, end in enumerate(ends))


def _jump(
    uploads: Sequence[Upload], leader: ServerName | None, sign: int
) -> Iterator[tuple[FindingKind, Subject]]:
    """Yield the first place of a team's last upload, if it is far better than earlier uploads.

    `sign` is -1 if the lowest score is best.
    """
    *before, last = uploads
    earlier = [sign * upload.score for upload in before if upload.score is not None]
    if last.run != leader or last.score is None or not earlier:
        return
    if (rise := sign * last.score - max(earlier)) >= JUMP:
        text = (
            f"{last.run} of {last.team} has the first place in {last.task},"
            f" {rise:.2f} better than the team's best upload before"
        )
        yield FindingKind.JUMP, Subject(name=last.run, text=text)


# -- a phase as its organisers watch it ------------------------------------------------------------

WATCHED = OPEN_STATES | {PhaseState.SETUP}
"""The states in which something may need a look: in any other, `watch` finds nothing."""
NAMED = 3  # articles of a finding that are named


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchedServer:
    """A server's row of the monitor, with its team and its forecast against the deadline."""

    status: ServerStatus
    team: str
    forecast: Forecast | None
    verdict: Verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseWatch:
    """A phase at `now` (Unix seconds); `deadline` is the change after which no article is sent."""

    now: float
    deadline: Change | None
    servers: Sequence[WatchedServer]
    findings: Sequence[PhaseFinding]

    @property
    def left(self) -> float | None:
        """The seconds until the deadline; None without one."""
        return None if self.deadline is None else self.deadline.at.timestamp() - self.now


def watch(running: RunningPhase, now: float) -> PhaseWatch:
    """Return a phase as of now, with its findings, worst first."""
    deadline = next((change for change in running.phase.coming(now) if change.state in OVER), None)
    time_left = None if deadline is None else deadline.at.timestamp() - now
    state = running.phase.state(now)
    is_open = state in OPEN_STATES
    servers = [
        _watched(running, status, time_left, is_open=is_open)
        for status in running.boards.monitor().servers
    ]
    about: dict[FindingKind, list[Subject]] = {kind: [] for kind in FindingKind}
    if state in WATCHED:
        about[FindingKind.GOLD_OUTSIDE] += _outside(running)
    if is_open:
        for kind, subject in _found(running, servers, time_left):
            about[kind].append(subject)
    findings = [
        PhaseFinding(kind=kind, subjects=tuple(subjects))
        for kind, subjects in about.items()
        if subjects
    ]
    return PhaseWatch(now=now, deadline=deadline, servers=servers, findings=findings)


def is_watched(running: RunningPhase, now: float) -> bool:
    """Return whether `watch` may find something in a phase: if not, nothing has ended there."""
    return running.phase.state(now) in WATCHED


def _watched(
    running: RunningPhase, status: ServerStatus, time_left: float | None, *, is_open: bool
) -> WatchedServer:
    registered = running.servers.get(status.name)
    predicted = forecast(status, running.paces.measured(status.name)) if is_open else None
    judged = verdict(status, predicted, time_left)
    if not is_open and judged is not Verdict.FINISHED:
        judged = Verdict.STOPPED
    team = (registered.team or "") if registered else ""
    return WatchedServer(status=status, team=team, forecast=predicted, verdict=judged)


def _found(
    running: RunningPhase, servers: Sequence[WatchedServer], time_left: float | None
) -> Iterator[tuple[FindingKind, Subject]]:
    """Yield what needs a look in an open phase alone."""
    for task in running.tasks:
        if task.name not in running.gold:
            text = f"{task.name} has no gold, so it is not scored"
            yield FindingKind.NO_GOLD, Subject(name=task.name, text=text)
    for server in servers:
        for kind, text in _troubles(server, time_left):
            yield kind, Subject(name=server.status.name, text=text)
    rising = {
        task.name
        for task in running.boards.tasks()
        if column_named(task.columns, task.order[0]).rising
    }
    yield from conspicuous(running.uploads, _leaders(running), rising)


def _outside(running: RunningPhase) -> Iterator[Subject]:
    """Yield the tasks whose gold has articles that are not in the corpus."""
    for scored in running.boards.scoreboard.scored():
        count, task = len(scored.outside), scored.plugin.name
        if count:
            examples = ", ".join(scored.outside[:NAMED])
            more = f" and {count - NAMED} more" if count > NAMED else ""
            are = "1 article that is" if count == 1 else f"{count} articles that are"
            text = (
                f"the gold of {task} has {are} not in the corpus, without effect: {examples}{more}"
            )
            yield Subject(name=task, text=text)


def _leaders(running: RunningPhase) -> Mapping[TaskName, ServerName]:
    """Return the first run of each task that has uploads, by the newest scores that there are."""
    tasks = {upload.task for upload in running.uploads}
    board = running.boards.scoreboard
    leaders: dict[TaskName, ServerName] = {}
    for plugin in running.boards.tasks():
        rows = (
            ranked(plugin, board.ranking, board.recent(plugin.name)) if plugin.name in tasks else ()
        )
        if rows and rows[0].place is not None:
            leaders[plugin.name] = ServerName(rows[0].run)
    return leaders


def _troubles(server: WatchedServer, time_left: float | None) -> Iterator[tuple[FindingKind, str]]:
    status, name = server.status, server.status.name
    if server.forecast and time_left is not None:
        needs = f"{name} needs {in_words(server.forecast.seconds)}, {in_words(time_left)} are left"
        if server.verdict is Verdict.LATE:
            yield FindingKind.LATE, needs
        elif server.verdict is Verdict.CLOSE and server.forecast.seconds > time_left:
            yield FindingKind.CLOSE, f"{needs}: it may just make it"
    why = f": {status.note}" if status.note else ""
    if status.state is ServerState.DOWN:
        yield FindingKind.DOWN, f"{name} is down{why}"
    if status.state is ServerState.SUSPENDED:
        yield FindingKind.SUSPENDED, f"{name} is suspended{why}"
    if status.given_up:
        articles = "1 article was" if status.given_up == 1 else f"{status.given_up} articles were"
        yield FindingKind.GIVEN_UP, f"{articles} given up for {name}"
