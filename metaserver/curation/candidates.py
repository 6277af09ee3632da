"""Candidates of a request: the consensus of the answers that have arrived so far."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from metaserver.base.compression import unpack, unpack_json
from metaserver.base.curations import is_uploaded
from metaserver.base.errors import InputError, Refusal, RefusedError
from metaserver.base.lanes import Asides
from metaserver.base.records import ServerName, TaskName
from metaserver.base.structs import convert
from metaserver.curation.asking import accepted
from metaserver.curation.store.requests import RequestAnswer, StoredRequest
from metaserver.curation.uploaded import as_answer
from metaserver.tasks.ranked import hits_of
from scoring import Hit, Task
from scoring.consensus import (
    METHODS,
    Consensus,
    ConsensusModel,
    ConsensusRanker,
    RankedCandidate,
    read_model,
)
from scoring.errors import FormatError, OptionError

AUTO = "auto"
DEFAULT = "rrf1"
"""The fusion that is used without a model; no other did better (docs/consensus.md)."""
RANKED = (Task.INT, Task.IPT)
"""The tasks whose answers are combined to candidates."""
MOST_MENTIONS = 200
"""The most mentions of a candidate that are shown."""

Models = Mapping[str, ConsensusModel]
"""The active models by task."""


class CandidateVote(msgspec.Struct, frozen=True, kw_only=True):
    """A server's hit for a candidate, or an uploaded file's (`uploaded file NAME`).

    `part` is what it adds to the log-odds, null for methods without probabilities, and for a file.
    """

    server: str
    rank: int
    confidence: float
    part: float | None
    evidence: str
    taxid: int | None


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """A place in the text where a candidate stands, in characters from 0.

    `origin`: a server said the place, or its evidence stands there, or the hub found a name of the
    candidate, and then there are no servers.
    """

    start: int
    end: int
    servers: tuple[str, ...]
    origin: Literal["server", "evidence", "names"] = "server"


class ScoredCandidate(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate: an accession (INT) or two (IPT), with the votes for it.

    `score` orders candidates; `probability` is null for methods without probabilities, and then a
    score must not be read as a probability. A candidate that an uploaded file alone names comes
    after the others, with neither (the score is 0). `agreement` is the share of the servers that
    answered which name it; votes' parts and `bias` sum to the log-odds. `new_since` is the version
    of the request with which it came.
    """

    task: str
    item: tuple[str, ...]
    rank: int
    score: float
    probability: float | None
    agreement: float
    bias: float | None
    votes: tuple[CandidateVote, ...]
    new_since: int

    @property
    def by_file_alone(self) -> str:
        """The uploaded file that names it if no server does, else empty."""
        names = [vote.server for vote in self.votes]
        return names[0] if names and all(map(is_uploaded, names)) else ""


class ConsensusCandidate(ScoredCandidate, frozen=True, kw_only=True):
    """A request's candidate, with its places in the text."""

    mentions: tuple[Span, ...]


class ClassVote(msgspec.Struct, frozen=True, kw_only=True):
    """An opinion of a server, or of an uploaded file, whether the article is relevant (ACT)."""

    server: str
    relevant: bool
    confidence: float


class PanelDifference(msgspec.Struct, frozen=True, kw_only=True):
    """How the servers that answered differ from those that a task's model learned from.

    `absent` are members without an answer, `unknown` servers that are no members, `changed` members
    that report another version now, `weighted` those to which the request gives a weight.
    """

    absent: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    weighted: tuple[str, ...] = ()

    def renamed(self, shown_name: Callable[[str], str]) -> PanelDifference:
        """Return it with the names by which servers are shown."""
        names = msgspec.structs.asdict(self)
        return PanelDifference(
            **{kind: tuple(sorted(map(shown_name, each))) for kind, each in names.items()}
        )


class FoundCandidates(msgspec.Struct, frozen=True, kw_only=True):
    """All that the answers so far say; `methods` and `differences` by task.

    A task without a difference has probabilities that mean what they say, or none.
    """

    candidates: tuple[ConsensusCandidate, ...] = ()
    relevant: tuple[ClassVote, ...] = ()
    methods: Mapping[str, str] = {}
    differences: Mapping[str, PanelDifference] = {}


def read_models(files: Mapping[str, str]) -> Models:
    """Return the models of the settings (`curation.models`); `InputError` names what is wrong."""
    models = {}
    for task, file in files.items():
        place = f"curation.models.{task}"
        if task not in RANKED:
            raise InputError(place, f"no task that is combined: {', '.join(RANKED)}")
        try:
            model = read_model(Path(file))
        except OSError as error:
            raise InputError(place, f"{file}: {error.strerror or error}") from error
        except FormatError as error:
            raise InputError(place, str(error)) from error
        if model.task != task:
            raise InputError(place, f"{file} is a model of {model.task}")
        models[task] = model
    return models


def check_method(method: str, threshold: float | None, models: Models) -> None:
    """Raise `RefusedError` for a method that cannot be used."""
    methods = (AUTO, *METHODS)
    if method not in methods:
        expected = f"expected one of {', '.join(methods)}"
        raise RefusedError(Refusal.INVALID, f"{method!r}; {expected}", field="method")
    learned = {model.method for model in models.values()}
    if method not in (AUTO, *FUSED) and method not in learned:
        raise RefusedError(
            Refusal.STATE, f"no model of method {method} is active on this hub", field="method"
        )
    if threshold is not None and method in FUSED:
        message = f"{method} has no probabilities, so no threshold applies"
        raise RefusedError(Refusal.INVALID, message, field="threshold")


FUSED = tuple(
    method
    for method in METHODS
    if not ConsensusModel(task=Task.INT, method=method, members=()).calibrated
)


def model_for(task: Task, method: str, models: Models) -> ConsensusModel:
    """Return the model of a task by a request's method: the active model, or a fusion."""
    active = models.get(task)
    if active is not None and method in (AUTO, active.method):
        return active
    fused = method if method in FUSED else DEFAULT
    return ConsensusModel(task=task, method=fused, members=())


def find(
    request: StoredRequest,
    answers: Sequence[RequestAnswer],
    models: Models,
    *,
    changed: Mapping[str, Sequence[ServerName]] = {},
    every: bool = False,
) -> FoundCandidates:
    """Return the candidates of a request from its answers; slow for many: call it in a thread.

    `changed` has the members of each task's model that report another version than it learned from.
    `every`: also those beyond the request's cutoff or below its least probability.
    """
    text = unpack(request.text).decode("utf-8", "surrogatepass")
    readings = [_Read(answer, text) for answer in accepted(answers).values()]
    uploaded = as_answer(request)
    file = None if uploaded is None else _Read(uploaded, text)
    candidates: list[ConsensusCandidate] = []
    methods, differences = {}, {}
    for task in RANKED:
        voted = {
            str(reading.server): reading.hits(task)
            for reading in readings
            if task in reading.payloads
        }
        if not voted:
            candidates += _of_file_alone(task, file, ())
            continue
        model = model_for(task, request.options.method, models)
        ranking = _ranked(request, model, voted, every=every)
        methods[str(task)] = model.method
        if model.calibrated:
            differences[str(task)] = PanelDifference(
                absent=ranking.absent,
                unknown=ranking.unknown,
                changed=tuple(sorted(voted.keys() & set(changed.get(task, ())))),
                weighted=tuple(
                    name for name in ranking.answered if request.options.weights.get(name, 1) != 1
                ),
            )
        listed = list(ranking.candidates)
        if file is not None and not every:
            shown = {_item(one) for one in listed}
            whole = _ranked(request, model, voted, every=True).candidates
            also = (one for one in whole if file.names(task, _item(one)))
            listed += [one for one in also if _item(one) not in shown]
        found = [_candidate(task, one, readings, file) for one in listed]
        candidates += [*found, *_of_file_alone(task, file, found)]
    return FoundCandidates(
        candidates=tuple(candidates),
        relevant=tuple(
            vote for reading in (*readings, *filter(None, [file])) for vote in reading.classes()
        ),
        methods=methods,
        differences={task: one for task, one in differences.items() if one != PanelDifference()},
    )


def _ranked(
    request: StoredRequest,
    model: ConsensusModel,
    voted: Mapping[str, Sequence[Hit]],
    *,
    every: bool,
) -> Consensus:
    options = request.options
    threshold = options.threshold if model.calibrated else None
    try:
        return ConsensusRanker(model).rank(
            voted,
            weights=options.weights,
            cutoff=None if every else options.cutoff,
            threshold=0.0 if every else threshold,
        )
    except OptionError as error:
        raise RefusedError(Refusal.INVALID, str(error)) from error


class _Read:
    """An answer, unpacked."""

    def __init__(self, answer: RequestAnswer, text: str) -> None:
        self.server: ServerName = answer.server
        self.version = answer.version
        self.payloads: Mapping[str, Any] = unpack_json(answer.payloads) if answer.payloads else {}
        self._asides = Asides.unpacked(answer.asides)
        self._hits: dict[tuple[str, tuple[str, ...]], int] = {}
        for task in RANKED:
            for place, hit in enumerate(self.payloads.get(task, ())):
                self._hits[task, tuple(hit[:-2])] = place
        self._places = self._found(text)

    def hits(self, task: Task) -> Sequence[Hit]:
        """Return its hits of a task, by rank."""
        return hits_of(self.payloads[task])

    def beside(self, task: Task, item: tuple[str, ...]) -> tuple[str, int | None]:
        """Return its hit's evidence and taxon for an item."""
        place = self._hits.get((task, item))
        hits = self._asides.hits.get(TaskName(task), ())
        return hits[place] if place is not None and place < len(hits) else ("", None)

    def names(self, task: Task, item: tuple[str, ...]) -> bool:
        """Return whether it has a hit for an item."""
        return (task, item) in self._hits

    def items(self, task: Task) -> Sequence[tuple[str, ...]]:
        """Return the items of its hits of a task, in their order."""
        return [item for of, item in self._hits if of == task]

    def ranked(self, task: Task, item: tuple[str, ...]) -> tuple[int, float]:
        """Return the rank and the confidence of its hit for an item."""
        rank, confidence = self.payloads[task][self._hits[task, item]][-2:]
        return rank, confidence

    def classes(self) -> Sequence[ClassVote]:
        """Return its opinion on the article's class, if it has one."""
        payload = self.payloads.get(Task.ACT)
        if not payload:
            return ()
        return [ClassVote(server=self.server, relevant=payload[0], confidence=payload[1])]

    def places(self, accession: str) -> Sequence[tuple[int, int]]:
        """Return the first places where it saw an accession, as many as are shown."""
        return self._places.get(accession, ())

    def _found(self, text: str) -> Mapping[str, Sequence[tuple[int, int]]]:
        """Return each accession's places, as far as a mention's words stand there.

        Once for all candidates, and no more than are shown: an answer may have thousands of each.
        """
        places: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
        for start, words, _, accession in self._asides.mentions:
            if accession and words and start >= 0 and text.startswith(words, start):
                places[accession].add((start, start + len(words)))
        return {accession: sorted(each)[:MOST_MENTIONS] for accession, each in places.items()}


def _item(ranked: RankedCandidate) -> tuple[str, ...]:
    return (ranked.item,) if isinstance(ranked.item, str) else ranked.item


def _of_file_alone(
    task: Task, file: _Read | None, others: Sequence[ConsensusCandidate]
) -> list[ConsensusCandidate]:
    """Return the candidates of a task that an uploaded file names, and no server."""
    named = {candidate.item for candidate in others}
    items = [] if file is None else [item for item in file.items(task) if item not in named]
    last = max((candidate.rank for candidate in others), default=0)
    return [
        ConsensusCandidate(
            task=str(task),
            item=item,
            rank=rank,
            score=0.0,
            probability=None,
            agreement=0.0,
            bias=None,
            votes=(_file_vote(task, item, file),),
            new_since=file.version,
            mentions=_mentions(item, [file]),
        )
        for rank, item in enumerate(items, start=last + 1)
        if file is not None
    ]


def _file_vote(task: Task, item: tuple[str, ...], file: _Read) -> CandidateVote:
    """Return the support of an uploaded file, which weighs nothing."""
    rank, confidence = file.ranked(task, item)
    return CandidateVote(
        server=file.server, rank=rank, confidence=confidence, part=None, evidence="", taxid=None
    )


def _candidate(
    task: Task, ranked: RankedCandidate, readings: Sequence[_Read], file: _Read | None
) -> ConsensusCandidate:
    item = _item(ranked)
    by_server = {answer.server: answer for answer in readings}
    votes = []
    for vote in ranked.votes:
        evidence, taxid = by_server[ServerName(vote.server)].beside(task, item)
        votes.append(
            CandidateVote(
                server=vote.server,
                rank=vote.rank,
                confidence=vote.confidence,
                part=vote.part,
                evidence=evidence,
                taxid=taxid,
            )
        )
    if file is not None and file.names(task, item):
        votes.append(_file_vote(task, item, file))
    return convert(
        ranked,
        ConsensusCandidate,
        task=str(task),
        item=item,
        votes=tuple(votes),
        mentions=_mentions(item, readings if file is None else [*readings, file]),
        new_since=min(answer.version for answer in readings if answer.names(task, item)),
    )


def _mentions(item: tuple[str, ...], readings: Sequence[_Read]) -> tuple[Span, ...]:
    places: defaultdict[tuple[int, int], set[str]] = defaultdict(set)
    for answer in readings:
        for accession in item:
            for place in answer.places(accession):
                places[place].add(answer.server)
    return tuple(
        Span(start=start, end=end, servers=tuple(sorted(servers)))
        for (start, end), servers in sorted(places.items())[:MOST_MENTIONS]
    )
