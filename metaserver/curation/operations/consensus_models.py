"""Consensus models: trained on closed phases, looked at, and put to use by organisers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from metaserver.base.concurrency import run_uncancelled
from metaserver.base.curations import ModelGold, ModelMember, TrainingReport
from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.records import PhaseName, ServerName, TaskName
from metaserver.base.states import PhaseState, Role
from metaserver.base.structs import convert
from metaserver.curation.candidates import RANKED
from metaserver.curation.models import changed_members
from metaserver.curation.parts import CurationParts
from metaserver.curation.store import consensus_models
from metaserver.curation.store.consensus_models import StoredModel
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.fields import GREATEST, NAME, TaskField, require_one_of
from metaserver.operations.jobs import JobDetail, begun_alone
from metaserver.operations.table import Nothing, operation
from metaserver.phases.jobs import Progress, in_process
from metaserver.phases.runtime import RunningPhase
from metaserver.publication.panels import TrainingOrder
from metaserver.publication.training import TrainedModel, train
from metaserver.store import servers

KIND = "consensus.train"
LEARNED = tuple(map(str, RANKED))
"""The model tasks."""

ModelField = Annotated[int, Meta(ge=1, le=GREATEST, description="The model's number")]
LearnedMethod = Annotated[
    Literal["auto", "stacked", "maxent"],
    Meta(description="How it learns; auto: stacked if cross-validation prefers it to a fusion"),
]


class NewModel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model to train on the servers' answers and the newest gold of closed phases."""

    task: TaskField
    phases: Annotated[
        tuple[Annotated[str, Meta(pattern=NAME)], ...],
        Meta(max_length=100, description="Closed phases with gold for the task; none: all"),
    ] = ()
    method: LearnedMethod = "auto"


class OneModel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model by its number."""

    model: ModelField


class ModelUse(OneModel, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model, and whether it is to be used."""

    active: Annotated[bool, Meta(description="Whether it ranks curators' requests")] = True


class ModelDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A model of a task: `active` if curators' requests are ranked by it.

    `changed` are the members that report another version than when it was made: it is older than
    these servers. `made_at` is in Unix seconds.
    """

    model: int
    task: str
    method: str
    made_at: float
    made_by: str
    active: bool
    golds: tuple[ModelGold, ...]
    members: tuple[ModelMember, ...]
    changed: tuple[str, ...]
    report: TrainingReport


class ModelOffer(msgspec.Struct, frozen=True, kw_only=True):
    """Closed phases whose gold of a task, or newest version of it, no model has learned from."""

    task: str
    phases: tuple[str, ...]


class ModelList(msgspec.Struct, frozen=True, kw_only=True):
    """The hub's models, newest first, and what a new model could learn from."""

    models: tuple[ModelDetail, ...]
    offers: tuple[ModelOffer, ...]


@operation("Consensus.train", "POST /consensus/models", Role.ORGANISER, report=ModelDetail)
async def train_(hub: HubContext, caller: Caller, request: NewModel) -> JobDetail:
    """Train a consensus model on closed phases; the job's report is the model.

    It is a background job. Each team is represented by its best server. Articles that are also in
    a phase that is not closed are left out. The model has no effect until `Consensus.use`.
    """
    require_one_of(request.task, LEARNED, "task")
    chosen = _chosen(hub, request)
    order = TrainingOrder(
        task=request.task,
        method=request.method,
        phases=tuple(running.name for running in chosen),
        guarded=tuple(corpus.id for corpus in hub.part(CurationParts).rules.guarded()),
    )
    work = partial(_train, hub, caller, order)
    job, is_new = await begun_alone(hub, caller, KIND, request.task, work)
    if not is_new:
        message = f"a model of {job.subject} is being trained: wait, or cancel its job"
        raise RefusedError(Refusal.STATE, message)
    return job


async def _train(
    hub: HubContext, caller: Caller, order: TrainingOrder, progress: Progress
) -> ModelDetail:
    arguments = (hub.store.place, hub.settings, order)
    trained_model: TrainedModel = await in_process(train, arguments, progress)
    _require_closed(hub, order)
    progress.fix("storing")
    return await run_uncancelled(_keep(hub, caller, trained_model))


async def _keep(hub: HubContext, caller: Caller, trained_model: TrainedModel) -> ModelDetail:
    model = convert(trained_model, StoredModel, made_at=hub.clock(), made_by=caller.name)
    async with hub.store.writing() as connection:
        number = await consensus_models.add(connection, model)
        phases = [gold.phase for gold in trained_model.golds]
        await audit_log(
            connection,
            caller,
            KIND,
            trained_model.task,
            model=number,
            method=trained_model.method,
            phases=phases,
        )
    return (await _details(hub, [await _model(hub, number)]))[0]


@operation("Consensus.models", "GET /consensus/models", Role.ORGANISER)
async def models(hub: HubContext, _caller: Caller, _request: Nothing) -> ModelList:
    """Return the consensus models, newest first, and the closed phases that none learned from."""
    async with hub.store.reading() as connection:
        stored_models = await consensus_models.list_all(connection)
    return ModelList(
        models=tuple(await _details(hub, stored_models)), offers=tuple(_offers(hub, stored_models))
    )


@operation("Consensus.use", "POST /consensus/models/{model}/use", Role.ORGANISER)
async def use(hub: HubContext, caller: Caller, request: ModelUse) -> ModelDetail:
    """Rank curators' requests by a model instead of its task's present one, or stop ranking."""
    model = await _model(hub, request.model)
    async with hub.store.writing() as connection:
        await consensus_models.use(connection, model, request.active)
        await audit_log(
            connection, caller, "consensus.use", model.task, model=model.id, active=request.active
        )
    await hub.part(CurationParts).models.load(hub.store)
    return (await _details(hub, [await _model(hub, model.id)]))[0]


@operation("Consensus.deleteModel", "DELETE /consensus/models/{model}", Role.ORGANISER)
async def delete_model(hub: HubContext, caller: Caller, request: OneModel) -> None:
    """Delete a model that is not in use."""
    model = await _model(hub, request.model)
    if model.active:
        raise RefusedError(Refusal.STATE, "it is in use: use another, or none", field="model")
    async with hub.store.writing() as connection:
        await consensus_models.delete(connection, model.id)
        await audit_log(connection, caller, "consensus.delete-model", model.task, model=model.id)


def _chosen(hub: HubContext, request: NewModel) -> Sequence[RunningPhase]:
    """Return the closed phases to learn from, newest first; `RefusedError` if there is none."""
    candidates = []
    for name in request.phases:
        running = hub.phase(name)
        if running.state is not PhaseState.CLOSED:
            message = f"phase {name} is {running.state}: models learn from closed phases alone"
            raise RefusedError(Refusal.STATE, message, field="phases")
        if TaskName(request.task) not in running.gold:
            message = f"phase {name} has no gold of {request.task}"
            raise RefusedError(Refusal.STATE, message, field="phases")
        candidates.append(running)
    if not request.phases:
        candidates = _closed(hub, request.task)
    if not candidates:
        message = f"no phase with gold of {request.task} is closed"
        raise RefusedError(Refusal.STATE, message, field="task")
    return sorted(
        {running.name: running for running in candidates}.values(),
        key=lambda running: -running.phase.id,
    )


def _closed(hub: HubContext, task: str) -> list[RunningPhase]:
    return [
        running
        for running in hub.phases.scheduler.phases.values()
        if running.state is PhaseState.CLOSED and TaskName(task) in running.gold
    ]


def _require_closed(hub: HubContext, order: TrainingOrder) -> None:
    """Raise `RefusedError` if a phase was opened, or one was planned, during the training."""
    closed = {running.name for running in _closed(hub, order.task)}
    guarded = {corpus.id for corpus in hub.part(CurationParts).rules.guarded()}
    if not (set(order.phases) <= closed and guarded <= set(order.guarded)):
        message = "phases have changed in the meantime: train again"
        raise RefusedError(Refusal.STATE, message, field="phases")


def _offers(hub: HubContext, stored_models: Sequence[StoredModel]) -> Sequence[ModelOffer]:
    learned = defaultdict[str, set[tuple[str, int]]](set)
    for model in stored_models:
        learned[model.task].update((gold.phase, gold.version) for gold in model.golds)
    offers = []
    for task in LEARNED:
        phases: list[PhaseName] = [
            running.name
            for running in _closed(hub, task)
            if running.servers
            and (running.name, running.gold[TaskName(task)].version) not in learned[task]
        ]
        if phases:
            offers.append(ModelOffer(task=task, phases=tuple(phases)))
    return offers


async def _model(hub: HubContext, number: int) -> StoredModel:
    async with hub.store.reading() as connection:
        model = await consensus_models.get(connection, number)
    if model is None:
        raise RefusedError(Refusal.UNKNOWN, f"there is no model {number}", field="model")
    return model


async def _details(hub: HubContext, stored_models: Sequence[StoredModel]) -> Sequence[ModelDetail]:
    async with hub.store.reading() as connection:
        registered = await servers.list_all(connection)
    versions: Mapping[ServerName, str] = {
        server.server.name: server.version for server in registered
    }
    return [
        convert(model, ModelDetail, model=model.id, changed=tuple(changed_members(model, versions)))
        for model in stored_models
    ]
