"""Checking a phase's plan: consistent dates, a known corpus and release."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence

from metaserver.base.errors import InputError, Refusal, RefusedError
from metaserver.base.phases import Phase
from metaserver.base.plans import DATES, PhasePlan
from metaserver.base.records import TaskName
from metaserver.base.states import OPEN_STATES, PhaseState
from metaserver.operations.context import HubContext
from metaserver.operations.fields import NAME, NAME_HELP, require_one_of
from metaserver.store import phases
from metaserver.tasks.plugin import CorpusTask, installed_tasks, offline_tasks
from metaserver.uniprot import Release


def checked(plan: PhasePlan) -> PhasePlan:
    """Return the plan if it is consistent; `RefusedError` names the field that is not."""
    dates = [(name, getattr(plan, name)) for name in DATES]
    dated = [(name, moment) for name, moment in dates if moment is not None]
    for (earlier, first), (later, second) in itertools.pairwise(dated):
        if first.timestamp() >= second.timestamp():  # dates of one zone would compare by local time
            raise RefusedError(Refusal.INVALID, f"must be after {earlier}", field=later)
    for task in plan.tasks:
        require_one_of(task, installed_tasks(), "tasks")
    if plan.ranking.measure:
        require_one_of(plan.ranking.measure, _measures(plan.tasks), "ranking.measure")
    require_divisible(plan, plan.tasks)
    uploaded = [task for task in plan.tasks if task in offline_tasks()]
    if uploaded and len(uploaded) < len(plan.tasks):
        answered = ", ".join(task for task in plan.tasks if task not in uploaded)
        message = (
            f"{', '.join(uploaded)} take uploads only, and {answered} are answered by servers: plan"
            " a phase for each kind"
        )
        raise RefusedError(Refusal.INVALID, message, field="tasks")
    return plan


def takes_uploads_only(tasks: Sequence[str]) -> bool:
    """Return whether a plan's tasks are offline: it needs neither articles nor a release."""
    return bool(tasks) and all(task in offline_tasks() for task in tasks)


def require_materials(
    hub: HubContext, tasks: Sequence[str], release: str, *, has_articles: bool
) -> None:
    """Raise `RefusedError` unless servers can be sent articles, and answers be checked.

    Phases of uploads need no corpus and no release; a release must be usable.
    """
    if not (is_uploaded := takes_uploads_only(tasks)) and not has_articles:
        message = "no articles are given: servers are sent those of a corpus"
        raise RefusedError(Refusal.INVALID, message, field="corpus")
    if release:
        require_release(hub, release)
    elif not is_uploaded:
        message = (
            "no UniProt release is given: answers are checked by one, which"
            " `metaserver uniprot build` makes on the hub's machine"
        )
        raise RefusedError(Refusal.INVALID, message, field="release")


def require_divisible(plan: PhasePlan, tasks: Iterable[str]) -> None:
    """Raise `RefusedError` if only part of the gold shall count, and a task has no parts."""
    whole = [
        task for task in tasks if not isinstance(installed_tasks().get(TaskName(task)), CorpusTask)
    ]
    if plan.public_share < 1 and whole:
        message = f"must be 1: runs of {', '.join(whole)} are scored whole, with every article"
        raise RefusedError(Refusal.INVALID, message, field="public_share")


def _measures(tasks: Sequence[str]) -> Sequence[str]:
    """Return the columns by which the tasks' boards can be sorted; without tasks, by any."""
    tasks_known = [task for name, task in installed_tasks().items() if not tasks or name in tasks]
    return sorted({column.key for task in tasks_known for column in task.columns if column.ranks})


async def known_corpus(hub: HubContext, text: str) -> int:
    """Return the id of the corpus that NAME or NAME@VERSION names; of no articles for no text."""
    if not text:
        return (await hub.store.add_corpus([])).id
    name, at, version = text.partition("@")
    if at and not version.isdigit():
        message = f"{text!r} is not NAME or NAME@VERSION"
        raise RefusedError(Refusal.INVALID, message, field="corpus")
    async with hub.store.reading() as connection:
        corpus = await phases.corpus_version(connection, name, int(version) if at else None)
    if corpus is None:
        message = f"there is no corpus {text!r}: import it first (corpora import)"
        raise RefusedError(Refusal.UNKNOWN, message, field="corpus")
    return corpus.corpus_id


def require_release(hub: HubContext, name: str) -> None:
    """Raise `RefusedError` if there is no usable UniProt release with this name."""
    if not re.fullmatch(NAME, name):
        raise RefusedError(Refusal.INVALID, f"{name!r} is not a name: {NAME_HELP}", field="release")
    try:
        Release.open(hub.settings.release_folder(name))
    except InputError as error:
        message = (
            f"there is no usable UniProt release {name!r}: {error.message}; build it on the hub's"
            " machine (metaserver uniprot build)"
        )
        raise RefusedError(Refusal.INVALID, message, field="release") from error


def reached(phase: Phase, plan: PhasePlan, now: float) -> PhaseState | None:
    """Return the state that a phase has reached under another plan.

    A state caused by dates may be undone by other dates; a manually set state stays. A phase that
    stays open has the plan's kind.
    """
    if phase.reached is not phase.plan.state(now, None):
        return plan.kind if phase.reached in OPEN_STATES else phase.reached
    state = plan.state(now, None)
    return None if state is PhaseState.SETUP else state
