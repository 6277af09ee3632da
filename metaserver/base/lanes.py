"""Lanes: keys, states, corpora, stored attempts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import msgspec

from metaserver.base.compression import unpack
from metaserver.base.records import ArticleId, Attempt, Problem, TaskName
from metaserver.base.states import Outcome, ServerState
from metaserver.base.usage import DeclaredUsage


class LaneKey(NamedTuple):
    """A lane's key in the store."""

    phase_id: int
    server_id: int


class Ticket(NamedTuple):
    """The right to take a lane that is free at an epoch; taking it raises the epoch."""

    key: LaneKey
    epoch: int


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneOrder:
    """The order to a lane, as it is stored, for the process that holds it at an epoch.

    `due`: it is to be at work, for its next `allowance` requests or (None) to the end of its
    queue. `cancel_by` names who cancels its calls in flight; empty: nobody. `number` grows with
    each order. `taken_over`: it was taken from a process whose lease had run out.
    """

    key: LaneKey
    epoch: int
    number: int
    due: bool
    allowance: int | None = None
    cancel_by: str = ""
    taken_over: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class StateChange:
    """A change of a lane's server to a state at `at` (Unix seconds); `note` says why.

    `id` rises with each change that is stored; 0: it is not yet.
    """

    key: LaneKey
    at: float
    state: ServerState
    note: str = ""
    id: int = 0


class AttemptRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An ended attempt as its lane passes it to the store.

    `answer` is set if the attempt was accepted. `final`: the article is finished for the lane, and
    so is every article before `cursor`.
    """

    lane: LaneKey
    epoch: int
    position: int
    attempt: Attempt
    answer: CheckedAnswer | None
    final: bool
    cursor: int


class Tries(NamedTuple):
    """Counts of an unfinished article's attempts: those made, and those charged to the server."""

    made: int
    charged: int


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneState:
    """A lane's progress when a hub takes it: every article before `cursor` is finished.

    `serial` is its log's last serial, 0 if no attempt is stored. `finished` are the positions from
    `cursor` on that are answered or given up; `tries` the others that had attempts.
    """

    key: LaneKey
    epoch: int
    cursor: int
    serial: int = 0
    finished: frozenset[int]
    tries: Mapping[int, Tries]


@dataclass(frozen=True, kw_only=True, slots=True)
class TakenLane:
    """A lane that was taken: its progress, its order, and why its server was down at the end."""

    state: LaneState
    order: LaneOrder
    down: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneRest:
    """The end of a process's work on a lane that it held at an epoch.

    `order` is the number of the executed order; `goes_on`: another turn is to follow.
    """

    key: LaneKey
    epoch: int
    order: int
    end: str
    goes_on: bool


class LaneReport(NamedTuple):
    """The present of a lane at work: its calls in flight, and why its server is down, if it is."""

    key: LaneKey
    in_flight: int
    down: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Corpus:
    """A phase's articles, in order: position i has `ids[i]`, `wire_bytes[i]` in a request."""

    id: int
    ids: tuple[ArticleId, ...]
    wire_bytes: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.ids)


class StoredAttempt(NamedTuple):
    """An attempt read from the store, without its raw answer; `final`: the article's last."""

    position: int
    attempt: Attempt
    final: bool


HitAside: TypeAlias = tuple[str, int | None]
"""A hit's evidence (empty: none) and taxon (None: none)."""


class Asides(msgspec.Struct, frozen=True, kw_only=True):
    """The unscored part of an answer, for people who read it.

    `hits` is about the first hits in a task's payload, in order; a task without any is left out.
    `mentions` have offset, words, type, and accession (each empty if not sent).
    """

    hits: Mapping[TaskName, Sequence[HitAside]] = {}
    mentions: Sequence[tuple[int, str, str, str]] = ()

    def __bool__(self) -> bool:
        return bool(self.hits or self.mentions)

    def changed(self, change: Callable[[str], str]) -> Asides:
        """Return the same with each text changed."""
        return Asides(
            hits={
                task: [(change(evidence), taxon) for evidence, taxon in hits]
                for task, hits in self.hits.items()
            },
            mentions=[
                (offset, change(words), change(kind), change(accession))
                for offset, words, kind, accession in self.mentions
            ],
        )

    @classmethod
    def unpacked(cls, packed: bytes | None) -> Asides:
        """Return what `pack_json` compressed; empty for None."""
        return cls() if packed is None else msgspec.json.decode(unpack(packed), type=cls)


class CheckedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The valid part of an answer, and the problems found in it.

    `outcome` is `ok`, `partial`, `shape` or `no_valid_hit`. `payloads` has the valid part for each
    answered task, empty if the attempt failed. `problems` are the first 100, worst first, notes
    that cost nothing (a value read as another type) last; `problem_count` is their total. `message`
    is the worst problem on one line, or empty. `asides` are None if there is nothing beside what is
    scored. `usage` is what the answer took, as its team declares.
    """

    outcome: Outcome
    message: str
    payloads: Mapping[TaskName, Any]
    problems: tuple[Problem, ...]
    problem_count: int
    hits_kept: int
    hits_dropped: int
    asides: Asides | None = None
    usage: DeclaredUsage | None = None
