"""The interface of a protocol.

A protocol is one object that contains everything that differs between XML-RPC and any other: it
encodes an article, exchanges messages over a channel, and decodes the answer to the values of
the contract (docs/wire.md). What follows is the same for all: the check, the outcome, the score.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

import msgspec
from yarl import URL

from metaserver.base.communications import Callback, Exchanged
from metaserver.base.conformance import ConformanceStep
from metaserver.base.lanes import CheckedAnswer
from metaserver.base.records import ArticleId, Server, ServerReport
from metaserver.exchange.wire.report import Report
from metaserver.exchange.wire.validation import Part, Vocabulary
from metaserver.exchange.wire.values import Limits, Value

AT_ONCE: Final = 4_096
"""The most bytes that are read on the event loop: of JSON, two of them may be an annotation."""

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class RenderedBody(msgspec.Struct, frozen=True):
    """A request's body that is rendered only while it is written; its size is known before."""

    size: int
    render: Callable[[], Awaitable[bytes]]


class Request(msgspec.Struct, frozen=True):
    """One HTTP request; `url` is None for the address that the server is registered at.

    An answer of another status than those of `statuses` is an error, `http`, unless its body is a
    fault; None accepts any. Where there is a `pause`, in seconds, the request is a look at a job:
    requests to the same scheme, host and port follow each other in no less, whoever sends them.
    """

    body: RenderedBody | bytes | None
    content_type: str
    method: str = "POST"
    url: str | None = None
    statuses: Collection[int] | None = frozenset({200})
    accept: str = ""
    pause: float = 0.0


class Response(msgspec.Struct, Generic[T], frozen=True):
    """An answer: its status, its headers (names in any case), and what its reader returned."""

    status: int
    headers: Mapping[str, str]
    value: T
    url: URL


class BodyReader(Protocol[T_co]):
    """A reader of an answer's body; both methods raise `PeerError`."""

    def feed(self, data: bytes) -> None:
        """Take the next bytes, after decompression."""

    def close(self) -> T_co:
        """Return the value of the whole body."""


ReaderFactory: TypeAlias = Callable[[str, Report], BodyReader[T]]
"""Makes a reader of a body from its `Content-Type` and the report that its notes go to."""


class BodyLogin(msgspec.Struct, frozen=True):
    """A secret that goes into the body of each request, under a name."""

    name: str
    secret: str


class OpenCommunication(Protocol):
    """A communication that the hub waits for: its answer is a callback of the server."""

    @property
    def id(self) -> int:
        """The id that the server names in its callback: random, from 1 to 2^31 - 1."""

    @property
    def expires_at(self) -> float:
        """The time, in Unix seconds, after which a callback is refused."""

    @property
    def resumed(self) -> bool:
        """True where a hub that was stopped had sent the request, and it was acknowledged."""

    @property
    def answered(self) -> bool:
        """True where the callback is there."""

    async def acknowledged(self) -> float:
        """Note that the server has the request: it is not sent it again.

        Returns the seconds since the request was begun.
        """

    async def answer(self, state: str) -> Callback:
        """Wait for the callback; raises `PeerError` where none comes in time.

        `state` is what is known of the server's work; it is shown if the deadline passes.
        """


class ServerChannel(Protocol):
    """The exchange with one server for one article or query: one deadline, one limit of bytes."""

    @property
    def limits(self) -> Limits:
        """The limits of an answer."""

    @property
    def login(self) -> BodyLogin | None:
        """The secret of the server that belongs into the body, if it is of that kind."""

    @property
    def report(self) -> Report:
        """The report of notes on the answer."""

    async def send(self, request: Request, reader: ReaderFactory[T]) -> Response[T]:
        """Send a request and read its answer; raises `PeerError` with the outcome of a failure.

        A busy server is waited for. The secrets of the server are added to requests to the place
        where it is registered, and to no other.
        """

    async def wait(self, seconds: float, state: str) -> None:
        """Wait, but no longer than the deadline allows; `state` is shown if it passes."""

    def communication(
        self, about: Exchanged, document: bytes | None = None
    ) -> AbstractAsyncContextManager[OpenCommunication]:
        """Hold a communication open, for a request that the server answers by a callback.

        The server may fetch the `document` from the hub as long as it is open.

        It is stored before the context is entered. Whatever ends the context closes it, but a hub
        that stops: started again, the hub goes on with it.
        """

    async def work(self, function: Callable[..., T], *arguments: Any, size: int) -> T:
        """Call a function whose time grows with `size` bytes; in a thread where they are many."""


class ArticleText(Protocol):
    """The text of one article."""

    @property
    def wire_bytes(self) -> int:
        """The size of `escaped`."""

    async def escaped(self) -> bytes:
        """Return the text escaped for XML, in UTF-8."""

    async def plain(self) -> str:
        """Return the text: the same characters that an XML-RPC server is sent."""


class ArticleCall(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt for one article; `tasks` are those that the server is asked for.

    `time_limit` is what the server is sent of it. Where it is not `usual`, the part that is not
    scored is needed too, so that the answer must be decoded as a whole. `scope` is that of
    `communications.Exchanged`.
    """

    server: Server
    article: ArticleId
    number: int
    time_limit: float  # seconds
    tasks: Sequence[Part]
    vocabulary: Vocabulary
    text: ArticleText
    usual: bool = True
    scope: str = ""


OpenChannel: TypeAlias = Callable[[], ServerChannel]
"""Opens a channel for one more exchange with the same server."""


class ServerProtocol(Protocol):
    """A protocol of annotation servers."""

    @property
    def name(self) -> str:
        """The name in requests and files: "xmlrpc"."""

    @property
    def title(self) -> str:
        """The name for readers: "XML-RPC"."""

    @property
    def reports_state(self) -> bool:
        """True where `state` asks the server for its state."""

    @property
    def calls_back(self) -> bool:
        """True where servers bring their answers by calls to the hub."""

    def check(self, server: Server) -> None:
        """Raise `ValueError` where the server's settings do not fit the protocol."""

    async def annotate(self, channel: ServerChannel, call: ArticleCall) -> Value | CheckedAnswer:
        """Return an article's answer as the values of the contract, or checked already.

        Raises `PeerError` with the outcome of a failure.
        """

    async def state(self, channel: ServerChannel, server: Server) -> ServerReport | None:
        """Return the state that the server reports, None where its answer is none."""

    async def touch(self, channel: ServerChannel, server: Server) -> str:
        """Send a request that any working server answers; return one line on the answer."""

    def examine(self, open_channel: OpenChannel, server: Server) -> AsyncIterator[ConformanceStep]:
        """Yield the steps of a conformance run that only servers of this protocol pass through."""
