"""Publishing a phase's results: viewed beforehand, then done in a single act."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from metaserver.base.boards import RAW, BoardRow, FrozenBoard, column_named
from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.plans import TeamNames
from metaserver.base.states import OVER, Role, Visibility
from metaserver.operations.caller import Caller
from metaserver.operations.challenge_pages import Long
from metaserver.operations.challenges import seen_challenge
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.fields import OneChallenge, OnePhase, PhaseField, Title
from metaserver.operations.kept import kept_file, published_name
from metaserver.operations.methods import seen_methods
from metaserver.operations.phase_view import frozen_board
from metaserver.operations.phases import PhaseDetail, detail, reopened
from metaserver.operations.table import Scope, operation
from metaserver.phases.notifications import tell_teams
from metaserver.phases.runtime import RunningPhase
from metaserver.store import boards, phases

PODIUM = 3
"""The places that are named beside the board."""
NAMED = 5
"""How many runs a sentence names; for more it gives the number."""


class NewPublication(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Publishes a phase's results, with an announcement unless its title is empty."""

    phase: PhaseField
    title: Annotated[Title, Meta(description="The announcement, in short; empty: none is made")] = (
        ""
    )
    text: Annotated[Long, Meta(description="The announcement, in Markdown")] = ""


class UndescribedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run whose team has not said how it was made."""

    run: str
    team: str


class PublicationPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A publication's effects beforehand, and an announcement written from the results.

    `boards` are the frozen boards' ids. `public`: its scores are public already. `published`: so
    are its results. `refused` says why it cannot be published now, or is empty. `names`: team names
    are hidden until the freeze.
    """

    phase: str
    public: bool
    published: bool
    refused: str
    boards: tuple[str, ...]
    names: bool
    undescribed: tuple[UndescribedRun, ...]
    title: str
    text: str


class TaskResults(msgspec.Struct, frozen=True, kw_only=True):
    """A task's final board: its id, its top rows, what they say in words.

    `gone` are the runs that were deleted since.
    """

    task: str
    title: str
    board: str
    at: float
    runs: int
    podium: tuple[BoardRow, ...]
    words: str
    gone: tuple[str, ...] = ()


class PhaseResults(msgspec.Struct, frozen=True, kw_only=True):
    """The published results of a phase; `published` is in Unix seconds, null if it always was.

    `package` is the size in bytes of its results package for everybody, 0 if there is none.
    """

    phase: str
    title: str
    published: float | None
    tasks: tuple[TaskResults, ...]
    package: int


@operation(
    "Phases.publication", "GET /phases/{phase}/publication", Role.ORGANISER, scope=Scope.PHASE
)
async def plan(hub: HubContext, caller: Caller, request: OnePhase) -> PublicationPlan:
    """Return what publishing a phase's results would show, and what is missing."""
    running = hub.phase(request.phase)
    boards_final = await _final(hub, running, caller, current=True)
    runs = {row.run for _, board in boards_final for row in board.board(RAW).rows}
    name = running.phase.plan.title or running.name
    return PublicationPlan(
        phase=running.name,
        public=running.phase.plan.visibility is Visibility.PUBLIC,
        published=running.phase.moments.published is not None,
        refused=_refusal(hub, running, [board for _, board in boards_final]),
        boards=tuple(key for key, _ in boards_final),
        names=running.phase.plan.team_names is TeamNames.HIDDEN,
        undescribed=tuple(
            UndescribedRun(run=method.run, team=method.team)
            for method in await seen_methods(hub, running, caller.viewer)
            if method.method is None and method.run in runs
        ),
        title=f"Results of {name}",
        text=_announcement(name, running.phase.challenge, [board for _, board in boards_final]),
    )


@operation("Phases.publish", "POST /phases/{phase}/publish", Role.ORGANISER, scope=Scope.PHASE)
async def publish(hub: HubContext, caller: Caller, request: NewPublication) -> PhaseDetail:
    """Publish a finished phase's results: everybody sees its scores from now on.

    The challenge's results page has them, and the announcement is sent to its teams, all at once.
    Answers are public once the phase is closed as well.
    """
    running, now = hub.phase(request.phase), hub.clock()
    boards_final = await _final(hub, running, caller, current=True)
    if message := _refusal(hub, running, [board for _, board in boards_final]):
        raise RefusedError(Refusal.STATE, message, field="phase")
    challenge = await seen_challenge(hub, caller, running.phase.challenge)
    public = msgspec.structs.replace(running.phase.plan, visibility=Visibility.PUBLIC)
    moments = msgspec.structs.replace(running.phase.moments, published=now)
    async with hub.store.writing() as connection:
        await phases.change(connection, running.phase.id, plan=public, moments=moments)
        if request.title:
            await phases.add_announcement(
                connection, challenge.id, now, request.title, request.text
            )
            await tell_teams(connection, hub.settings.notices, challenge, now, request.title)
        await audit_log(
            connection, caller, "phases.publish", running.name, announced=request.title or None
        )
    return detail(hub, await reopened(hub, running.name))


@operation("Challenges.results", "GET /challenges/{challenge}/results", None, scope=Scope.CHALLENGE)
async def results(hub: HubContext, caller: Caller, request: OneChallenge) -> Sequence[PhaseResults]:
    """Return a challenge's public results, its newest phase first."""
    challenge = await seen_challenge(hub, caller, request.challenge)
    details = []
    for running in hub.seen_phases(caller):
        plan = running.phase.plan
        over = running.state in OVER and plan.visibility is Visibility.PUBLIC
        if running.phase.challenge != challenge.name or not over:
            continue
        if boards_final := await _final(hub, running, caller):
            details.append(
                PhaseResults(
                    phase=running.name,
                    title=plan.title,
                    published=running.phase.moments.published,
                    tasks=tuple(_task(key, board) for key, board in boards_final),
                    package=await _package(hub, running, boards_final),
                )
            )
    return details[::-1]


async def _final(
    hub: HubContext, running: RunningPhase, caller: Caller, *, current: bool = False
) -> Sequence[tuple[str, FrozenBoard]]:
    """Return the final boards of a phase with their ids, by task: none before it is over.

    With `current` none that was made from other gold, answers or runs than there are now.
    """
    if running.state not in OVER:
        return []
    phase, ids = running.phase, list[str]()
    async with hub.store.reading() as connection:
        stored = await boards.list_all(connection, phase.id)
        for task in running.boards.tasks():
            final = [one for one in stored if (one.task, one.reason) == (task.name, boards.FROZEN)]
            if current:
                basis = await boards.basis_of(connection, phase.id, task.name, phase.plan.ranking)
                made = (running.gold[task.name].version, basis)
                final = [one for one in final if (one.gold_version, one.basis) == made]
            ids += [board.id for board in final[:1]]
    found = [(key, await frozen_board(hub, key, caller)) for key in ids]
    return [(key, board) for key, board in found if board is not None]


async def _package(
    hub: HubContext, running: RunningPhase, boards_final: Sequence[tuple[str, FrozenBoard]]
) -> int:
    """Return the size of a phase's published package; 0 if it is older than a board."""
    package = await kept_file(hub, published_name(running))
    made_since = package is not None and all(
        package.made_at >= board.at for _, board in boards_final
    )
    return package.size if package is not None and made_since else 0


def _refusal(hub: HubContext, running: RunningPhase, boards_final: Sequence[FrozenBoard]) -> str:
    """Return why a phase's results cannot be published, or ""."""
    if running.state not in OVER:
        return f"{running.label} is {running.state}: freeze it first, its results are not final"
    if hub.is_embargoed(running):
        title = running.phase.challenge_title or f"challenge {running.phase.challenge}"
        return f"{title} is not announced yet: change that first"
    if running.phase.moments.published:
        return f"the results of {running.label} are published already"
    tasks = running.boards.tasks()
    if not tasks:
        return f"{running.label} has no gold: nothing was scored"
    if missing := [
        task.name for task in tasks if task.name not in {board.name for board in boards_final}
    ]:
        return f"the final board of {', '.join(missing)} is not made yet: try again in a moment"
    return ""


def _task(key: str, board: FrozenBoard) -> TaskResults:
    rows = board.board(RAW).rows
    return TaskResults(
        task=board.name,
        title=board.title,
        board=key,
        at=board.at,
        runs=len(rows),
        podium=tuple(row for row in rows if row.place is not None and row.place <= PODIUM),
        words=in_words(rows),
        gone=board.gone,
    )


def in_words(rows: Sequence[BoardRow]) -> str:
    """Return what the first place of a board is worth, in sentences; rows are ordered by place."""
    first = [row for row in rows if row.place == 1]
    if not first:
        return "No run has a place."
    said = f"{_listed(first)} {'has' if len(first) == 1 else 'share'} the first place."
    if any(row.place is not None and row.interval is None for row in rows):
        return said
    contenders = [row for row in rows if row.interval and row.interval.best_rank == 1]
    if len(contenders) > len(first):
        return (
            f"{said} The 95 % intervals of the rank include the first place for"
            f" {len(contenders)} runs, {_listed(contenders)}: these do not differ clearly."
        )
    return f"{said} The 95 % interval of no other run's rank includes it."


def _listed(rows: Sequence[BoardRow]) -> str:
    names = [called(row) for row in rows]
    if len(names) > NAMED:
        names = [*names[:NAMED], f"{len(names) - NAMED} more"]
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def called(row: BoardRow) -> str:
    """Return a run's name with its team's, unless it begins with that."""
    team = row.title or row.team
    return row.run if not team or row.run.startswith(team) else f"{row.run} ({team})"


def _announcement(name: str, challenge: str, boards_final: Sequence[FrozenBoard]) -> str:
    """Return an announcement of results, in Markdown."""
    lines = [f"The results of {_plain(name)} are [published](/results/{challenge})."]
    for board in boards_final:
        rows, measure = board.board(RAW).rows, board.order[0]
        if not rows:
            continue
        column = column_named(board.columns, measure)
        runs = "1 run" if len(rows) == 1 else f"{len(rows)} runs"
        lines.append(f"**{_plain(board.title)}** ({runs}): {_plain(in_words(rows))}")
        lines.append(
            "\n".join(
                f"- place {row.place}: {_plain(called(row))}, {column.text(row.values[measure])}"
                for row in rows
                if row.place is not None and row.place <= PODIUM
            )
        )
    return "\n\n".join(filter(None, lines))


def _plain(text: str) -> str:
    """Return a text by teams so that Markdown shows it as it is."""
    return "".join(f"\\{letter}" if letter in r"\`*_[]<>!#|&" else letter for letter in text)
