"""Frozen values that every part of the hub uses: articles, servers, attempts.

Those created per answer are msgspec structs: a tenth of a dataclass' time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Literal, NewType

import msgspec
from msgspec import Meta

from metaserver.base.states import Control, Outcome, ReportedState
from metaserver.base.usage import DeclaredUsage

# -- how the hub gets access to an annotation server: its credentials and its certificate ----------


class AuthKind(StrEnum):
    """The way in which the hub proves itself to a server."""

    NONE = "none"
    BASIC = "basic"  # a user and a password (RFC 7617)
    BEARER = "bearer"  # a token (RFC 6750)
    HEADER = "header"  # a header of any name
    QUERY = "query"  # a parameter of the address
    BODY = "body"  # a member of the body; in XML-RPC the first parameter


@dataclass(frozen=True, kw_only=True, slots=True)
class Access:
    """Access to a server.

    `name` is the user (basic), or the header's name, parameter or member. `sealed` is the secret,
    encrypted with the hub's key; empty if nothing is stored. `certificate` is the SHA-256 digest of
    the server's certificate, 64 hexadecimal digits; empty: any certificate that the hub trusts.
    """

    auth: AuthKind = AuthKind.NONE
    name: str = ""
    sealed: str = field(default="", repr=False)
    certificate: str = ""


LEAST_SECRET = 4
"""The minimum length of a secret: a shorter secret could not be recognised in what a server sends.
"""
NO_ACCESS = Access()
"""The access to a server that anybody may ask."""


# -- frozen values used all over the hub -----------------------------------------------------------

ArticleId = NewType("ArticleId", str)  # PubMed id, PMCID, DOI, or a file's stem
ServerName = NewType("ServerName", str)  # unique within a phase; also the run's name on the boards
TeamName = NewType("TeamName", str)  # unique in the hub
PhaseName = NewType("PhaseName", str)  # unique in the hub
TaskName = NewType("TaskName", str)  # the name of a task plug-in
TASK_GROUP = "metaserver.tasks"  # the group of entry points of tasks that servers answer
OFFLINE_GROUP = "metaserver.offline_tasks"  # and of those whose runs are uploaded


def count_stated(answers: Mapping[ArticleId, Any]) -> int:
    """Return how many articles of a run have something in their answer: not an empty list."""
    return sum(answer != [] for answer in answers.values())


@dataclass(frozen=True, kw_only=True, slots=True)
class Article:
    """An article as sent: plain text, paragraphs and headings on lines of their own.

    `text` begins with the title if the source has it; it holds no carriage returns. `original` is
    the XML that it was read from, if it is kept.
    """

    id: ArticleId
    text: str
    title: str = ""
    source: str = ""  # the file it was read from
    original: bytes = b""


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """All that a team says of its server, but for the access to it; each field is declared here.

    Registering, changing and showing a server, in every interface, have these fields, and the store
    a column of each one's name. `options` are settings of `protocol`; method, parameters and
    encoding are of XML-RPC alone.
    """

    url: Annotated[
        str,
        Meta(
            max_length=2_000,
            title="URL",
            description="Where it listens: http://HOST:PORT/PATH, or https. The hub must be able to"
            " reach it. A user, password or query in it is never shown again: *** stands for the"
            " stored value.",
        ),
    ]
    protocol: Annotated[
        str, Meta(max_length=32, description="The protocol that it speaks (docs/protocols.md)")
    ] = "xmlrpc"
    method: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z0-9_.:/]{1,200}$(?!\n)",
            description="The XML-RPC method that annotates. Change it only if your server's"
            " method has another name.",
        ),
    ] = "Annotator.getAnnotation"
    parameters: Annotated[
        Literal["text", "text+context"],
        Meta(
            description="The XML-RPC method's parameters: the article's text, or also a struct with"
            " its id, the tasks and the time limit."
        ),
    ] = "text"
    tasks: Annotated[
        tuple[TaskName, ...],
        Meta(max_length=20, description="The tasks that it answers; none: all of a phase"),
    ] = ()
    concurrency: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000,
            title="Requests at a time",
            description="How many articles it may be sent at a time, 1 to 1,000",
        ),
    ] = 1
    encoding: Annotated[
        Literal["utf-8", "ascii"],
        Meta(
            description="Of XML-RPC requests; ASCII if its library takes bytes for characters, as"
            " Tcl's does"
        ),
    ] = "utf-8"
    options: Annotated[
        str,
        Meta(
            max_length=2_000,
            description="Settings of the protocol, one NAME=VALUE per line. Most servers need"
            " none.",
            extra={"input": "long"},
        ),
    ] = ""


def settings_of(value: object) -> dict[str, Any]:
    """Return the fields of `ServerSettings` that a value has, by name: a server's, or a row's."""
    return {name: getattr(value, name) for name in ServerSettings.__struct_fields__}


class Server(ServerSettings, frozen=True, kw_only=True):
    """An annotation server as registered for a phase."""

    name: ServerName
    access: Access = NO_ACCESS


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerReport:
    """The state that a server reports; `max_concurrent` (>= 1) is None if not reported.

    `version` is empty if not reported. `documents` is how many it accepts, in its own words (per
    day in BeCalm, so the hub ignores it).
    """

    state: ReportedState = ReportedState.RUNNING
    version: str = ""
    documents: str = ""
    max_concurrent: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """Something wrong with an answer, at a path in it: `normalizations[3].rank`."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class Timings(msgspec.Struct, frozen=True, kw_only=True):
    """How long an attempt's phases took, in seconds; None for a phase not reached.

    The phases follow one another: `queue` (in the hub, until the request begins), `dns`, `connect`
    (TCP and TLS), `send` (request written), `wait` (until the answer's headers), `transfer` (until
    its last byte; what arrives in pieces is decoded meanwhile), `parse` (the rest of decoding, and
    validation). `total` is from the start of the request to the last byte.
    """

    queue: float | None = None
    dns: float | None = None
    connect: float | None = None
    send: float | None = None
    wait: float | None = None
    transfer: float | None = None
    parse: float | None = None
    total: float = 0.0


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """A request for one article to one server, and its result."""

    server: ServerName
    article: ArticleId
    number: int  # 1, 2, ... for this (server, article)
    started_at: float  # seconds since the Unix epoch, UTC
    outcome: Outcome
    message: str = ""
    timings: Timings = Timings()
    bytes_out: int = 0
    bytes_in: int = 0
    problems: tuple[Problem, ...] = ()  # the first 100
    problem_count: int = 0  # all of them
    raw: bytes = b""  # the answer's body as it came, cut at the size limit; zstd-compressed
    usage: DeclaredUsage | None = None  # what the answer took, as its team declares
    asked_wait: float = 0.0  # seconds before the next, as a busy server asked; not stored

    @property
    def ended_at(self) -> float:
        """The time it ended, in seconds since the Unix epoch."""
        return self.started_at + self.timings.total


# -- registered servers, and the desired states of their lanes -------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class RegisteredServer:
    """A stored server; `verdicts` is JSON with its conformance runs, by the phase's name.

    `serves_curators`: its team agrees that curators' requests are sent to it.

    `has_callback_key`: it may call the hub back. `version` is what it reported last.

    Two values that differ only in verdicts, key or version are equal.
    """

    id: int
    server: Server
    team: TeamName | None
    created_at: float
    retired_at: float | None = None
    serves_curators: bool = False
    has_callback_key: bool = field(default=False, compare=False)
    version: str = field(default="", compare=False)
    verdicts: Mapping[str, bytes] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneControl:
    """The desired state of a lane, and a note that says why."""

    control: Control
    note: str
