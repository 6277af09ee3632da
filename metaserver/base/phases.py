"""Challenges and phases, and versions of their corpora and gold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from metaserver.base.challenges import ChallengePage
from metaserver.base.plans import Change, Moments, PhasePlan
from metaserver.base.records import PhaseName, TaskName
from metaserver.base.states import PhaseState


@dataclass(frozen=True, kw_only=True, slots=True)
class Challenge:
    """A challenge: phases whose dates are shown in one time zone (an IANA name).

    Before `announced_at` (Unix seconds) only organisers see anything about it. `code` is its
    invitation code's digest; empty: no code.
    """

    id: int
    name: str
    title: str
    timezone: str
    announced_at: float | None = None
    page: ChallengePage = field(default_factory=ChallengePage)
    code: str = ""

    def is_embargoed(self, now: float) -> bool:
        """Return whether it is still for organisers alone at `now` (Unix seconds)."""
        return self.announced_at is not None and now < self.announced_at


@dataclass(frozen=True, kw_only=True, slots=True)
class Phase:
    """A stored phase. `reached` is the state that an organiser or the clock has set.

    `moments` is when organisers did so. `announced_at` is that of its challenge.
    """

    id: int
    name: PhaseName
    challenge: str
    timezone: str
    plan: PhasePlan
    reached: PhaseState | None
    corpus_id: int
    release: str
    created_at: float
    announced_at: float | None = None
    moments: Moments = field(default_factory=Moments)

    def is_embargoed(self, now: float) -> bool:
        """Return whether it is still for organisers alone at `now` (Unix seconds)."""
        return self.announced_at is not None and now < self.announced_at

    def state(self, now: float) -> PhaseState:
        """Return the phase's state at `now` (Unix seconds)."""
        return self.plan.state(now, self.reached)

    def coming(self, now: float) -> Sequence[Change]:
        """Return the changes by the clock after `now` (Unix seconds), the next change first."""
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
    """A version of a task's gold in a phase, without the file; `checksum` is keyed."""

    task: TaskName
    version: int
    source: str
    checksum: str
    created_at: float


@dataclass(frozen=True, kw_only=True, slots=True)
class GoldVersion(GoldEntry):
    """A version of a task's gold in a phase; `content` is the file."""

    content: bytes
