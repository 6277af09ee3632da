"""The consensus of stored answers of closed phases, from the servers that the caller may read.

The names of the operations are those of BC-VisCon (Leitner et al. 2008).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.lanes import Asides
from metaserver.base.records import ArticleId
from metaserver.base.states import PhaseState, Role
from metaserver.curation.candidates import AUTO, FUSED, RANKED, check_method
from metaserver.curation.combining import METHOD_TITLES, Combination, combinations
from metaserver.curation.parts import CurationParts
from metaserver.operations.annotations import Article, readable
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.fields import Cutoff, ServerField, Threshold
from metaserver.operations.table import Nothing, operation
from metaserver.phases.runtime import RunningPhase
from metaserver.store.reader import StoredAnswer

MOST_EVIDENCE = 1_000_000
"""The maximum number of characters of evidence in a result."""

MethodName = Annotated[str, Meta(max_length=32, description="A method (docs/consensus.md)")]


class ConsensusMethod(msgspec.Struct, frozen=True, kw_only=True):
    """A method of consensus; `learned` ones give probabilities.

    `tasks` are those that it can be used for: of learned ones, those with a model in use.
    """

    method: str
    title: str
    learned: bool
    tasks: tuple[str, ...]


class ConsensusQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An article of a closed phase, and how the servers' answers to it are combined."""

    article: Article
    servers: Annotated[tuple[ServerField, ...], Meta(max_length=200, description="None: all")] = ()
    methods: Annotated[tuple[MethodName, ...], Meta(max_length=9, description="None: auto")] = ()
    weights: Annotated[
        dict[ServerField, Annotated[float, Meta(ge=0, le=100)]],
        Meta(max_length=200, description="Weights of servers; 1 for a server without one"),
    ] = {}
    threshold: Threshold = None
    cutoff: Cutoff = 30


class ItemEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """The words that a server gave as evidence of a candidate: an accession or two."""

    task: str
    item: tuple[str, ...]
    server: str
    evidence: str


class StoredConsensus(msgspec.Struct, frozen=True, kw_only=True):
    """The consensus of the answers to an article in a closed phase, by task and method.

    `evidence` is that of the candidates, at most a million characters, the first candidates' first.
    """

    article: str
    phase: str
    consensus: tuple[Combination, ...]
    evidence: tuple[ItemEvidence, ...]


@operation("Consensus.getConsensusMethods", "GET /consensus/methods", None)
async def get_methods(
    hub: HubContext, _caller: Caller, _request: Nothing
) -> Sequence[ConsensusMethod]:
    """Return the methods that combine answers."""
    return [_method(hub, name) for name in METHOD_TITLES]


@operation("Consensus.getConsensus", "GET /consensus/articles/{article}", None)
async def get_consensus(
    hub: HubContext, caller: Caller, request: ConsensusQuery
) -> StoredConsensus:
    """Return the consensus of the stored answers to an article of a closed phase.

    It combines the answers that the caller may read, from the newest phase. Learned methods, which
    reveal how good servers are, are for curators only; for others, auto is rrf1.
    """
    methods = [_allowed(hub, caller, request, method) for method in request.methods or (AUTO,)]
    running = _phase(hub, caller, request.article)
    answers = await _answers(hub, caller, running, request)
    models = hub.part(CurationParts).models

    def combine() -> StoredConsensus:
        combined = tuple(
            combinations(
                {
                    server: {str(task): payload for task, payload in answer.payloads.items()}
                    for server, answer in answers.items()
                },
                methods,
                models,
                weights=request.weights,
                threshold=request.threshold,
                cutoff=request.cutoff,
            )
        )
        return StoredConsensus(
            article=request.article,
            phase=running.name,
            consensus=combined,
            evidence=tuple(_evidence(combined, answers)),
        )

    return await caller.aside(combine)


def _evidence(
    combined: Sequence[Combination], answers: Mapping[str, StoredAnswer]
) -> Iterator[ItemEvidence]:
    """Yield the evidence of the candidates by rank, each once."""
    found: dict[tuple[str, tuple[str, ...]], dict[str, str]] = {}
    for server, answer in answers.items():
        for task, hits in Asides.unpacked(answer.asides).hits.items():
            for hit, (evidence, _) in zip(answer.payloads[task], hits, strict=False):
                if evidence:
                    found.setdefault((str(task), tuple(hit[:-2])), {})[server] = evidence
    room = MOST_EVIDENCE
    ranked = [(one.task, candidate) for one in combined for candidate in one.candidates]
    for name, candidate in sorted(ranked, key=lambda each: each[1].rank):
        for server, evidence in found.pop((name, candidate.item), {}).items():
            room -= len(evidence)
            if room < 0:
                return
            yield ItemEvidence(task=name, item=candidate.item, server=server, evidence=evidence)


def _method(hub: HubContext, name: str) -> ConsensusMethod:
    learned = name not in FUSED
    usable = [task for task in RANKED if not learned or _is_active(hub, task, name)]
    return ConsensusMethod(
        method=name, title=METHOD_TITLES[name], learned=learned, tasks=tuple(map(str, usable))
    )


def _is_active(hub: HubContext, task: str, method: str) -> bool:
    model = hub.part(CurationParts).models.get(task)
    return model is not None and model.method == method


def _allowed(hub: HubContext, caller: Caller, request: ConsensusQuery, method: str) -> str:
    """Return the method to use in place of one that was asked for; `RefusedError` for none."""
    check_method(method, request.threshold, hub.part(CurationParts).models)
    if caller.may_act_as(Role.CURATOR):
        return method
    if method not in (AUTO, *FUSED):
        message = f"{method} says what servers are worth: it is for curators"
        raise RefusedError(Refusal.NOT_YOURS, message, field="methods")
    if request.threshold is not None:
        message = "without a learned method there are no probabilities, so no threshold applies"
        raise RefusedError(Refusal.INVALID, message, field="threshold")
    return "rrf1" if method == AUTO else method


def _phase(hub: HubContext, caller: Caller, article: str) -> RunningPhase:
    """Return the newest closed phase with an article that is in no other; else `RefusedError`."""
    newest = None
    for running in hub.phases.scheduler.phases.values():
        if ArticleId(article) not in running.positions:
            continue
        if running.state is not PhaseState.CLOSED:
            newest = None
            break
        is_visible = caller.organiser or not hub.is_embargoed(running)
        if is_visible and (newest is None or running.phase.id > newest.phase.id):
            newest = running
    if newest is None:
        message = f"there is no article {article!r} in a closed phase"
        raise RefusedError(Refusal.UNKNOWN, message, field="article")
    return newest


async def _answers(
    hub: HubContext, caller: Caller, running: RunningPhase, request: ConsensusQuery
) -> Mapping[str, StoredAnswer]:
    """Return the answers of the servers that the caller may read, by server."""
    may_read = {
        str(registered.server.name): registered
        for phase, registered in readable(hub, caller)
        if phase is running
    }
    for field, names in (("servers", request.servers), ("weights", tuple(request.weights))):
        for name in names:
            if name not in may_read:
                message = f"there is no server {name!r} in {running.label} to read"
                raise RefusedError(Refusal.UNKNOWN, message, field=field)
    by_server: dict[str, StoredAnswer] = {}
    position = running.positions[ArticleId(request.article)]
    for name in request.servers or may_read:
        answer = await hub.store.answer(running.key(may_read[name]), position)
        if answer is not None:
            by_server[name] = answer
    return by_server
