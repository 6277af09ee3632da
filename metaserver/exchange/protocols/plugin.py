"""A protocol's interface.

A protocol is an object that contains everything that differs between XML-RPC and any other: it
encodes an article, exchanges messages over a channel, and decodes the answer to the contract's
values (docs/wire.md). What follows is the same for all: the check, the outcome, the score.
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
from metaserver.exchange.wire.contract import Report
from metaserver.exchange.wire.validation import Part, Vocabulary
from metaserver.exchange.wire.values import Limits, Value

AT_ONCE: Final = 4_096
"""The maximum bytes read on the event loop: in JSON, two bytes may be an annotation."""

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class RenderedBody(msgspec.Struct, frozen=True):
    """A request's body that is rendered only while it is written; its size is known beforehand."""

    size: int
    render: Callable[[], Awaitable[bytes]]


class Request(msgspec.Struct, frozen=True):
    """An HTTP request; `url` is None for the server's registered address.

    A status outside `statuses` is an error, `http`, unless the body is a fault; None accepts any.
    With a `pause`, in seconds, the request polls a job: requests to the same scheme, host and port
    keep this distance, whoever sends them.
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
    """Reads an answer's body; both methods raise `PeerError`."""

    def feed(self, data: bytes) -> None:
        """Take the next bytes, after decompression."""

    def close(self) -> T_co:
        """Return the whole body's value."""


ReaderFactory: TypeAlias = Callable[[str, Report], BodyReader[T]]
"""Makes a reader of a body from its `Content-Type` and the report that its notes go to."""


class BodyLogin(msgspec.Struct, frozen=True):
    """A secret that goes into each request's body, under a name."""

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
        """True if a stopped hub had sent the request, and it was acknowledged."""

    @property
    def answered(self) -> bool:
        """True if the callback is there."""

    async def acknowledged(self) -> float:
        """Note that the server has the request: it is not sent it again.

        Returns the seconds since the request was begun.
        """

    async def answer(self, state: str) -> Callback:
        """Wait for the callback; raises `PeerError` if it does not come in time.

        `state` is what is known about the server's work; it is shown if the deadline passes.
        """


class ServerChannel(Protocol):
    """The exchange with a server for an article or query: a single deadline and byte limit."""

    @property
    def limits(self) -> Limits:
        """An answer's limits."""

    @property
    def login(self) -> BodyLogin | None:
        """The server's secret that belongs into the body, if it is of that kind."""

    @property
    def report(self) -> Report:
        """The notes on the answer."""

    async def send(self, request: Request, reader: ReaderFactory[T]) -> Response[T]:
        """Send a request and read its answer; raises `PeerError` with a failure's outcome.

        A busy server is waited for. The server's secrets are added only to requests to its
        registered place.
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
        """Call a function whose time grows with `size` bytes; in a thread if these are many."""


class ArticleText(Protocol):
    """An article's text."""

    @property
    def wire_bytes(self) -> int:
        """The size of `escaped` in bytes."""

    async def escaped(self) -> bytes:
        """Return the text escaped for XML, in UTF-8."""

    async def plain(self) -> str:
        """Return the text: the same characters that an XML-RPC server is sent."""


class ArticleCall(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt for an article; `tasks` are those requested from the server.

    `time_limit` is the limit sent to the server. `scope` is as in `communications.Exchanged`.
    """

    server: Server
    article: ArticleId
    number: int
    time_limit: float  # seconds
    tasks: Sequence[Part]
    vocabulary: Vocabulary
    text: ArticleText
    scope: str = ""


OpenChannel: TypeAlias = Callable[[], ServerChannel]
"""Opens a channel for one more exchange with the same server."""


class ServerProtocol(Protocol):
    """A protocol for annotation servers."""

    @property
    def name(self) -> str:
        """The name in requests and files: "xmlrpc"."""

    @property
    def title(self) -> str:
        """The name for readers: "XML-RPC"."""

    @property
    def reports_state(self) -> bool:
        """True if `state` asks the server for its state."""

    @property
    def calls_back(self) -> bool:
        """True if servers send their answers by calls to the hub."""

    def check(self, server: Server) -> None:
        """Raise `ValueError` if the server's settings do not fit the protocol."""

    async def annotate(self, channel: ServerChannel, call: ArticleCall) -> Value | CheckedAnswer:
        """Return an article's answer as the contract's values, or already checked.

        Raises `PeerError` with a failure's outcome.
        """

    async def state(self, channel: ServerChannel, server: Server) -> ServerReport | None:
        """Return the state that the server reports, None if its answer is not a state."""

    async def touch(self, channel: ServerChannel, server: Server) -> str:
        """Send a request that any working server answers; return a line on the answer."""

    def examine(self, open_channel: OpenChannel, server: Server) -> AsyncIterator[ConformanceStep]:
        """Yield the conformance steps that only this protocol's servers pass through."""
