"""Values of curations: a curator's work on an article, requests to servers, consensus models."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from metaserver.base.publications import UNKNOWN, Publication
from metaserver.base.records import ServerName
from metaserver.base.states import Outcome


class CurationStanding(StrEnum):
    """A curation's state."""

    OPEN = "open"  # its curator decides
    SUBMITTED = "submitted"  # finished; opened again by `reopen`


class SetPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The plan for several curators' article set.

    `blind`: no curator sees another's decisions. `assist`: curators see what servers proposed.
    `adjudicators` are tokens of curators who, beside organisers, rule on disagreements; `own`: even
    on their own articles.
    """

    tasks: tuple[str, ...]
    curators: tuple[int, ...]
    each: int = 2
    blind: bool = True
    assist: bool = False
    adjudicators: tuple[int, ...] = ()
    own: bool = False


# -- curators' requests: what is asked, which servers answer, and how far it is --------------------


class RequestState(StrEnum):
    """A request's state."""

    RECEIVED = "received"  # in the queue
    ASKING = "asking"  # servers are asked
    ANSWERED = "answered"  # all that could be asked have ended
    EXPIRED = "expired"  # its deadline has passed; answers that still arrive are late
    CANCELLED = "cancelled"  # by its curator
    FAILED = "failed"  # no server could be asked


UNFINISHED = frozenset({RequestState.RECEIVED, RequestState.ASKING})
"""The request states that a restarted hub resumes."""


class AskedState(StrEnum):
    """A server's state in a request."""

    WAITING = "waiting"  # for its turn
    BUSY = "busy"  # with a challenge, whose articles come first
    ASKED = "asked"  # the article was sent
    AGAIN = "again"  # sent a second time after a failure
    ANSWERED = "answered"
    FAILED = "failed"
    NOT_ASKED = "not asked"  # the message says why


ENDED = frozenset({AskedState.ANSWERED, AskedState.FAILED, AskedState.NOT_ASKED})
"""The states that do not change any more."""


class RequestOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a request: tasks and servers (empty: all), and how answers are combined.

    `process` is the hub process that works on it. `from_pdf`: its text was read out of a PDF.
    `publication` is what is known of its publication, `same_as` the id of an earlier request of the
    token for the same article.
    """

    tasks: tuple[str, ...] = ()
    servers: tuple[ServerName, ...] = ()
    deadline: float = 120.0
    method: str = "auto"
    weights: Mapping[str, float] = {}
    threshold: float | None = None
    cutoff: int = 30
    process: str = ""
    from_pdf: bool = False
    publication: Publication = UNKNOWN
    same_as: str = ""


class AskedServer(msgspec.Struct, frozen=True, kw_only=True):
    """A server in a request; `since` is when its state began (Unix seconds).

    `seconds` is what its last attempt took, `hits` its answer's number of hits; `late`: it came
    after the deadline.
    """

    server: ServerName
    team: str
    state: AskedState
    since: float
    outcome: Outcome | None = None
    message: str = ""
    seconds: float | None = None
    hits: int = 0
    late: bool = False


UPLOADED = "uploaded file "
"""How the name of an uploaded file's voice begins; no server's name has a blank."""


class UploadedVoice(msgspec.Struct, frozen=True, kw_only=True):
    """The annotations that came with an article in an uploaded file, as one more voice.

    `name` is `uploaded file NAME`, `hits` the number of proteins and pairs that became candidates,
    `lost` that of annotations, identifiers and relations that were left out or read as others;
    `left_out` says which and why, the first 20.
    """

    name: str
    hits: int = 0
    lost: int = 0
    left_out: tuple[str, ...] = ()


def is_uploaded(name: str) -> bool:
    """Return whether a voice is an uploaded file's, and no server's."""
    return name.startswith(UPLOADED)


# -- consensus models: their training data and their quality ---------------------------------------


class ModelGold(msgspec.Struct, frozen=True, kw_only=True):
    """A closed phase's gold that a model was trained on."""

    phase: str
    version: int


class ModelMember(msgspec.Struct, frozen=True, kw_only=True):
    """A server that a model knows; `version` is what it reported then, if anything.

    `auc_ipr` is its run's on the training articles.
    """

    server: str
    team: str
    auc_ipr: float
    version: str = ""


class MethodQuality(msgspec.Struct, frozen=True, kw_only=True):
    """A method's quality in cross-validation, on articles that it was not trained on.

    `f_score` is F_10 at 30 candidates, `short_f_score` that for lists cut at the minimum
    probability, `candidates` their mean length, `calibration_error` is the expected calibration
    error, `likely_error` that of candidates above 0.1. They are null for methods without
    probabilities.
    """

    method: str
    auc_ipr: float
    f_score: float
    short_f_score: float | None = None
    candidates: float | None = None
    calibration_error: float | None = None
    likely_error: float | None = None


class CalibrationBin(msgspec.Struct, frozen=True, kw_only=True):
    """The candidates whose probability is in a tenth: the mean of it, and the share correct."""

    candidates: int
    probability: float
    correct: float


class TeamContribution(msgspec.Struct, frozen=True, kw_only=True):
    """A team's part in the consensus, in AUC iP/R.

    `value` is its Shapley value with the 95 % interval `low` to `high`, null if random team orders
    left it unsure; `missing` is what the consensus would lose without the team, `alone` what the
    team reaches alone.
    """

    team: str
    value: float | None
    low: float | None
    high: float | None
    missing: float
    alone: float


class TrainingReport(msgspec.Struct, frozen=True, kw_only=True):
    """A model's report: what was compared on how many articles, and who contributed what.

    `best_member` is the highest AUC iP/R among members. `left_out` counts gold articles that are
    also in a phase that is not closed.
    """

    articles: int
    left_out: int
    best_member: float
    methods: tuple[MethodQuality, ...]
    calibration: tuple[CalibrationBin, ...] = ()
    contributions: tuple[TeamContribution, ...] = ()
