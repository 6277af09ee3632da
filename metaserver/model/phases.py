"""Values of challenges and phases, and versions of their corpora and gold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metaserver.model.plans import Change, PhasePlan
from metaserver.model.records import PhaseName, TaskName
from metaserver.model.states import PhaseState


@dataclass(frozen=True, kw_only=True, slots=True)
class Challenge:
    """A challenge: phases whose dates are shown in one time zone (an IANA name)."""

    id: int
    name: str
    title: str
    timezone: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Phase:
    """A stored phase. `reached` is the state that an organiser or the clock has set."""

    id: int
    name: PhaseName
    challenge: str
    timezone: str
    plan: PhasePlan
    reached: PhaseState | None
    corpus_id: int
    release: str
    created_at: float

    def state(self, now: float) -> PhaseState:
        """Return the phase's state at `now` (Unix seconds)."""
        return self.plan.state(now, self.reached)

    def coming(self, now: float) -> Sequence[Change]:
        """Return the changes by the clock after `now` (Unix seconds), the next one first."""
        return self.plan.coming(now, self.reached)


@dataclass(frozen=True, kw_only=True, slots=True)
class CorpusVersion:
    """A corpus with the name and version that organisers use for it."""

    name: str
    version: int
    corpus_id: int
    articles: int
    source: str
    created_at: float


@dataclass(frozen=True, kw_only=True, slots=True)
class GoldEntry:
    """One version of a task's gold in a phase, without the file; `checksum` is keyed."""

    task: TaskName
    version: int
    source: str
    checksum: str
    created_at: float


@dataclass(frozen=True, kw_only=True, slots=True)
class GoldVersion(GoldEntry):
    """One version of a task's gold in a phase; `content` is the file."""

    content: bytes
