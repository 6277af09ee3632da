"""Plans of phases (set by organisers) and notices (set by teams): stored and sent as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from metaserver.base.states import OPEN_STATES, PhaseState, Visibility
from metaserver.base.zones import YEARS, is_dated

# -- ranking: the rule that gives a phase's runs their places --------------------------------------


class ArticlePolicy(StrEnum):
    """The gold's articles that count in a score."""

    ALL = "all"  # one without an answer counts as zero
    ANSWERED = "answered"  # those the run has hits for, as BioCreative II.5 published


def in_percent(share: float) -> str:
    """Write a share that a plan sets, 0 to 1: 0.9 as 90%, 0.975 as 97.5%."""
    return f"{100 * share:g}%"


class Ties(StrEnum):
    """The order of runs whose measure is equal; what is still equal shares a place."""

    CONFIDENCE = "confidence"  # by their average confidence
    SHARE = "share"


class Ranking(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A phase's ranking rule.

    A run whose score covers less than the share `min_coverage` of the counted articles gets no
    place (`Score.coverage`). `measure` is a column on a task's board; if empty, or if a task has no
    such column, the task's first column counts.
    """

    articles: ArticlePolicy = ArticlePolicy.ALL
    min_coverage: Annotated[float, Meta(ge=0, le=1)] = 0.9
    measure: Annotated[str, Meta(max_length=64)] = ""
    ties: Ties = Ties.CONFIDENCE


# -- plans of phases (set by organisers) and notices (set by teams): stored and sent as JSON -------

YEAR = 366 * 86_400.0
Moment = Annotated[datetime, Meta(tz=True)]
Seconds = Annotated[float, Meta(gt=0, le=YEAR)]  # no setting may wait without end
Count = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Share = Annotated[float, Meta(gt=0, le=1)]
Currency = Annotated[str, Meta(pattern=r"^[A-Z]{3}$(?!\n)")]
MentionType = Annotated[str, Meta(max_length=100)]


class UploadLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many uploaded result files count per team and task: in 24 hours, and in total."""

    a_day: Count = 10
    total: Count = 50


class PhaseLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits for a phase; None takes the hub's own setting (`limits` in `config.yaml`)."""

    timeout: Seconds | None = None  # for one article, in seconds
    attempts: Count | None = None  # an article
    concurrency: Count | None = None  # the most that a server may register; None: no bound
    answer_bytes: Count | None = None
    servers: Count = 5  # of a team
    runs: Count = 5  # offline runs of a team in a task
    uploads: UploadLimits = UploadLimits()


class TeamNames(StrEnum):
    """Visibility of team names until a phase is frozen."""

    SHOWN = "shown"
    HIDDEN = "hidden"  # until the freeze: others see a team by an anonymous name


class ShownUsage(StrEnum):
    """Visibility on boards of the declared tokens and costs."""

    HIDDEN = "hidden"  # each team sees those of its own runs, organisers see all
    SHOWN = "shown"  # whoever sees a run's score


class UsageRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Declared tokens and costs: who sees them, and the currency."""

    boards: ShownUsage = ShownUsage.HIDDEN
    currency: Currency = "USD"  # costs in others are in no mean


class Normalisation(StrEnum):
    """Strings that contain an accession: an isoform, a prefix, small letters."""

    STRICT = "strict"  # refused, with advice on what to send
    MEND = "mend"  # the accession in it counts, with a note


class InferredConfidence(StrEnum):
    """Confidence assumed for hits that a server sent without any."""

    REQUIRED = "required"  # none: such a hit is dropped
    RANK = "rank"  # falls with the rank


class AnswerRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rules by which a phase reads answers; None, or no text, takes the hub's own setting.

    `normalise` is for accessions (`uniprot.normalise`); the others complete answers of historic
    servers (`answers`): `mention_type` is read into mentions without a type.
    """

    normalise: Normalisation | None = None
    confidence: InferredConfidence | None = None
    mention_type: MentionType = ""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A change of a phase's state by the clock: the date's name, its moment, the new state."""

    date: str
    at: datetime
    state: PhaseState


Tasks = Annotated[tuple[str, ...], Meta(description="Its tasks; none: all that servers answer")]
PlannedLimits = Annotated[PhaseLimits, Meta(description="Its own limits")]
PlannedVisibility = Annotated[
    Visibility, Meta(description="Who sees the scores besides organisers")
]
PlannedRanking = Annotated[Ranking, Meta(description="The rule by which runs get their places")]
PlannedNames = Annotated[
    TeamNames, Meta(description="Names of teams: shown, or hidden until the freeze")
]
PublicShare = Annotated[
    Share, Meta(description="The share of the gold's articles that scores of an open phase use")
]
PlannedUsage = Annotated[UsageRules, Meta(description="Tokens and costs that teams declare")]
PlannedAnswers = Annotated[
    AnswerRules, Meta(description="How it reads answers; null: by the hub's own settings")
]
Kind = Annotated[Literal["training", "test"], Meta(description="Its kind while it is open")]
Date = Annotated[
    str,
    Meta(max_length=64, description="2026-12-01T09:00 in the challenge's zone, or with an offset"),
]


class PhaseRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rules of a phase: its plan without the title, the kind and the dates."""

    tasks: Tasks = ()
    limits: PlannedLimits = PhaseLimits()
    visibility: PlannedVisibility = Visibility.HIDDEN
    ranking: PlannedRanking = Ranking()
    team_names: PlannedNames = TeamNames.SHOWN
    public_share: PublicShare = 1.0
    usage: PlannedUsage = UsageRules()
    answers: PlannedAnswers = AnswerRules()


class WrittenPlan(PhaseRules, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A plan as organisers write it; dates without an offset are in the challenge's time zone."""

    kind: Kind = "test"
    opens: Date | None = None
    freezes: Date | None = None
    closes: Date | None = None


class PhasePlan(PhaseRules, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A phase as its organiser planned it.

    `kind` is its state while open: training or test. Moments carry their time zone; None: changed
    manually only.
    """

    title: str = ""
    kind: PhaseState = PhaseState.TEST
    opens: Moment | None = None
    freezes: Moment | None = None
    closes: Moment | None = None

    def __post_init__(self) -> None:
        for name in DATES:
            at = getattr(self, name)
            if at is not None and not is_dated(at):
                raise ValueError(f"{name} is not from {YEARS[0]} to {YEARS[-1]}")

    def state(self, now: float, reached: PhaseState | None) -> PhaseState:
        """Return the phase's state at `now` (Unix seconds).

        The state it has reached holds until a date leads to a later state; a clock that is set back
        undoes nothing. An open phase's state is the plan's kind.
        """
        passed = [change.state for change in self._changes() if change.at.timestamp() <= now]
        furthest = max([*passed, reached or PhaseState.SETUP], key=ORDER.index)
        return self.kind if furthest in OPEN_STATES else furthest

    def coming(self, now: float, reached: PhaseState | None) -> Sequence[Change]:
        """Return the changes that the clock makes after `now`, the next change first.

        Dates without further effect are left out: a phase that was frozen manually is not opened by
        its date.
        """
        state, changes = self.state(now, reached), dict[float, Change]()
        ahead = [change for change in self._changes() if change.at.timestamp() > now]
        for change in sorted(
            ahead, key=lambda change: (change.at.timestamp(), ORDER.index(change.state))
        ):
            if ORDER.index(change.state) > ORDER.index(state):
                state = change.state
                changes[change.at.timestamp()] = change
        return list(changes.values())

    def _changes(self) -> Sequence[Change]:
        """Return all dates' changes, in the order of the states."""
        states = (self.kind, PhaseState.FROZEN, PhaseState.CLOSED)
        return [
            Change(date=name, at=at, state=state)
            for name, state in zip(DATES, states, strict=True)
            if (at := getattr(self, name)) is not None
        ]


class Moments(msgspec.Struct, frozen=True, kw_only=True):
    """Moments at which an organiser advanced a phase manually or published its results (Unix s).

    None: the clock did it by the plan's date, or it was not done.
    """

    opens: float | None = None
    freezes: float | None = None
    closes: float | None = None
    published: float | None = None

    def advanced(self, before: PhaseState, state: PhaseState, now: float) -> Moments:
        """Return the moments after a phase was put from one state into another at `now`.

        Those of later states are void, as the phase reaches them again.
        """
        if state is PhaseState.CLOSED:
            return msgspec.structs.replace(self, closes=now)
        if state is PhaseState.FROZEN:
            return msgspec.structs.replace(self, freezes=now, closes=None)
        return Moments(opens=now if before is PhaseState.SETUP else self.opens)


DATES = ("opens", "freezes", "closes")
"""A plan's dates, in chronological order."""
ORDER = tuple(PhaseState)


class NoticePlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A team's addresses for notices that a server is down, up again or finished."""

    webhook: str = ""  # a URL; empty: none
    secret: str = ""  # signs what is sent there (HMAC-SHA256)
    email: bool = False  # to the team's address, where the hub can send mail


# -- settings that more than one package uses ------------------------------------------------------


class LogFormat(StrEnum):
    """The log's line format."""

    AUTO = "auto"  # `console` on a terminal, else `json`
    JSON = "json"  # one object a line, for machines
    CONSOLE = "console"  # for a person at a terminal


class LogLevel(StrEnum):
    """The lowest level that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LimitSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits per article's request, and for requests in flight."""

    timeout: Seconds = 600.0
    connect: Seconds = 10.0
    attempts: Count = 5
    concurrency: Annotated[int, Meta(ge=1, le=10_000)] = 1
    answer_bytes: Count = 64 * 2**20
    answer_values: Count = 2_000_000
