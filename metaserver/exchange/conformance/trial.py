"""A trial: one article of a team's own choice, sent to its server as an article of a phase is."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Any, Final, TypeVar

import msgspec

from metaserver.base.records import ArticleId, Attempt, Problem, Server, TaskName
from metaserver.base.states import ANSWERED
from metaserver.exchange.conformance.contact import beginning
from metaserver.exchange.http.articles import ArticleTexts
from metaserver.exchange.http.caller import ArticleCaller, PhaseArticles
from metaserver.exchange.http.channel import HttpChannel
from metaserver.exchange.http.client import USER_AGENT, HttpClient
from metaserver.exchange.http.slots import SlotUse
from metaserver.exchange.http.target import ServerTarget
from metaserver.exchange.http.transfer import Exchange
from metaserver.exchange.http.urls import MASK
from metaserver.exchange.protocols.plugin import (
    ReaderFactory,
    RenderedBody,
    Request,
    Response,
)
from metaserver.exchange.wire.contract import Completion, Report, Severity, described
from metaserver.exchange.wire.validation import Part, Vocabulary
from metaserver.exchange.wire.xmlrpc import escape_text

SHOWN_LINES: Final = 200
"""The maximum lines shown of a task's answer."""
SHOWN_BODY: Final = 200_000
"""The maximum characters shown of a request's body."""
SHOWN_REASONS: Final = 5
"""The maximum problems shown of a line."""
_LONGEST, _LONGEST_VALUE, _MEMBERS = 300, 80, 20
"""The maximum characters shown of a line, and of a value in it; the maximum values."""
_INDEX: Final = re.compile(r"\[(\d{1,9})\]")

T = TypeVar("T")


class LineVerdict(StrEnum):
    """What becomes of a line of an answer."""

    KEPT = "kept"
    REFUSED = "refused"
    LOST = "lost"  # valid, but another line breaks the contract: the whole answer is refused


class TriedLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of an answer: a hit, a mention or a classification, as it was sent.

    `reasons` are its problems, worst first, also those that cost nothing.
    """

    path: str
    sent: str
    verdict: LineVerdict
    reasons: tuple[str, ...] = ()


class TriedTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task's part of an answer: how many lines were sent and kept, and the first of them."""

    task: TaskName
    sent: int = 0
    kept: int = 0
    lines: tuple[TriedLine, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Tried:
    """The end of a trial.

    `request` is the first of so many `requests` as a command; empty if there was none. `raw` is the
    answer's beginning. `problems` are those that belong to no line. `payloads` are the valid parts.
    """

    attempt: Attempt
    request: str
    requests: int
    raw: str
    tasks: tuple[TriedTask, ...]
    problems: tuple[Problem, ...]
    payloads: Mapping[TaskName, Any]


async def trial(
    client: HttpClient,
    server: Server,
    tasks: Sequence[Part],
    vocabulary: Vocabulary,
    text: str,
    *,
    article: ArticleId | None = None,
    time_limit: float,
    shown: int,
    completion: Completion | None = None,
) -> Tried:
    """Send a text once, the way the hub sends articles; a server's failures raise nothing.

    It is sent by an id of its own unless it is a phase's `article`. At most `shown` characters of
    its answer are returned.
    """

    async def load(_positions: range) -> Sequence[str]:
        return [text]

    requests: list[Request] = []

    def open_channel(server: Server, exchange: Exchange, deadline: float) -> HttpChannel:
        channel = _NotedChannel(client, server.name, client.target(server), exchange, deadline)
        channel.requests = requests
        return channel

    noted = [_NotedPart(task) for task in tasks if not server.tasks or task.name in server.tasks]
    caller = ArticleCaller(
        client,
        PhaseArticles(
            ids=[article or _id_of(text)],
            wire_bytes=[len(escape_text(text))],
            texts=ArticleTexts(load),
        ),
        noted,
        vocabulary,
        time_limit=time_limit,
        completion=completion,
        use=SlotUse.REQUEST,
        open_channel=open_channel,
    )
    attempt, checked = await caller.call(server, 0, 1)
    hide: Callable[[str], str] = str
    request = ""
    if requests:
        target = client.target(server)
        hide, request = target.hide, await _curl_command(requests[0], target, USER_AGENT)
    answered = attempt.outcome in ANSWERED
    reported = {problem for part in noted for problem in part.reported()}
    return Tried(
        attempt=attempt,
        request=request,
        requests=len(requests),
        raw=beginning(attempt.raw, shown),
        tasks=tuple(part.tried(hide, answered=answered) for part in noted),
        problems=tuple(
            each for each in attempt.problems if (each.path, each.message) not in reported
        ),
        payloads={} if checked is None else checked.payloads,
    )


async def _curl_command(request: Request, target: ServerTarget, user_agent: str) -> str:
    """Return a request as a command of a POSIX shell, with `***` in the place of each secret."""
    place, secret_headers = target.at(request.url)
    query = f"?{MASK}" if place.raw_query_string else ""
    headers = {"User-Agent": user_agent, "Accept-Encoding": "gzip"}
    if request.accept:
        headers["Accept"] = request.accept
    if request.content_type:
        headers["Content-Type"] = request.content_type
    headers |= {name: _masked(name, value) for name, value in secret_headers.items()}
    parts = [f"curl --compressed --request {request.method}"]
    parts += [f"--header {shlex.quote(f'{name}: {value}')}" for name, value in headers.items()]
    if request.body is not None:
        body = request.body
        content = await body.render() if isinstance(body, RenderedBody) else body
        text = target.hidden(content).decode("utf-8", "replace")
        more = len(text) - SHOWN_BODY
        text = f"{text[:SHOWN_BODY]}… {more:,} more characters" if more > 0 else text
        parts.append(f"--data-raw {shlex.quote(text)}")
    address = str(place.with_query(None).with_fragment(None)) + query
    parts.append(shlex.quote(address))
    return " \\\n  ".join(parts)


def _masked(name: str, value: str) -> str:
    """Return the value of a header that proves the hub to the server: its scheme alone."""
    scheme, space, _ = value.partition(" ")
    return f"{scheme} {MASK}" if name == "Authorization" and space else MASK


def _id_of(text: str) -> ArticleId:
    """Return an id that no other text has: servers may remember their answers by the id."""
    return ArticleId(f"try-{hashlib.sha256(text.encode()).hexdigest()[:12]}")


class _NotedChannel(HttpChannel):
    """A channel that adds what is sent over it to `requests`."""

    requests: list[Request]

    async def send(self, request: Request, reader: ReaderFactory[T]) -> Response[T]:
        """Note a request, then send it."""
        self.requests.append(request)
        return await super().send(request, reader)


class _LineReport(Report):
    """A report that also has the problems of each of the first lines of an array of structs."""

    def __init__(self, value: object) -> None:
        super().__init__()
        structs = isinstance(value, list) and any(isinstance(item, dict) for item in value)
        self.items: Sequence[Any] = value if structs and isinstance(value, list) else [value]
        self.structs = structs
        self.by_line: dict[int, list[tuple[Severity, Problem]]] = {}

    def add(self, severity: Severity, path: str, message: str) -> None:
        """Add a problem, to its line too."""
        super().add(severity, path, message)
        index = _INDEX.search(path) if self.structs else None
        line = int(index[1]) if index else 0
        if (self.structs and index is None) or line >= SHOWN_LINES:
            return
        problems = self.by_line.setdefault(line, [])
        problems.append((severity, Problem(path=path, message=message)))
        problems.sort(key=lambda problem: problem[0])
        del problems[SHOWN_REASONS:]


class _NotedPart:
    """A task that notes what it has checked, line by line; a part for the hub's own check."""

    def __init__(self, part: Part) -> None:
        self.name = part.name
        self.key = part.key
        self._part = part
        self._report: _LineReport | None = None
        self._kept = 0

    def check(self, value: object, report: Report, vocabulary: Vocabulary) -> Any | None:
        """Return the valid part of the member, None if it is unusable."""
        if value != []:
            self._report = _LineReport(value)
            self._part.check(value, self._report, vocabulary)
        payload = self._part.check(value, report, vocabulary)
        self._kept = 0 if payload is None else self._part.count(payload)
        return payload

    def count(self, payload: Any) -> int:
        """Return the number of hits in the valid part."""
        return self._part.count(payload)

    def reported(self) -> Iterator[tuple[str, str]]:
        """Yield the problems that are shown at a line: path and message."""
        for problems in self._report.by_line.values() if self._report else ():
            yield from ((problem.path, problem.message) for _, problem in problems)

    def tried(self, hide: Callable[[str], str], *, answered: bool) -> TriedTask:
        """Return the task's lines; secrets are hidden."""
        if self._report is None:
            return TriedTask(task=self.name)
        items = self._report.items
        return TriedTask(
            task=self.name,
            sent=len(items),
            kept=self._kept if answered else 0,
            lines=tuple(
                self._line(
                    f"{self.key}[{place}]" if self._report.structs else self.key,
                    item,
                    self._report.by_line.get(place, ()),
                    hide,
                    answered=answered,
                )
                for place, item in enumerate(items[:SHOWN_LINES])
            ),
        )

    @staticmethod
    def _line(
        path: str,
        item: object,
        problems: Sequence[tuple[Severity, Problem]],
        hide: Callable[[str], str],
        *,
        answered: bool,
    ) -> TriedLine:
        verdict = LineVerdict.KEPT if answered else LineVerdict.LOST
        if any(severity is not Severity.NOTE for severity, _ in problems):
            verdict = LineVerdict.REFUSED
        steps = [problem.path.removeprefix(path).lstrip(".") for _, problem in problems]
        reasons = [
            f"{step}: {problem.message}" if step else problem.message
            for step, (_, problem) in zip(steps, problems, strict=True)
        ]
        return TriedLine(
            path=path, sent=_shown(item, hide), verdict=verdict, reasons=tuple(map(hide, reasons))
        )


def _shown(value: Any, hide: Callable[[str], str]) -> str:
    """Return what was sent on a line, cut to what can be read."""
    if isinstance(value, dict):
        parts = [
            f"{_text(name, hide)} {_text(item, hide)}"
            for name, item in islice(value.items(), _MEMBERS)
        ]
        line = " · ".join(parts)
    elif isinstance(value, list):
        line = ", ".join(_text(item, hide) for item in value[:_MEMBERS])
    else:
        line = _text(value, hide)
    return f"{line[:_LONGEST]}…" if len(line) > _LONGEST else line


def _text(value: Any, hide: Callable[[str], str]) -> str:
    if not isinstance(value, str | int | float):
        return described(value)
    text = hide(str(value)[:_LONGEST])
    return f"{text[:_LONGEST_VALUE]}…" if len(text) > _LONGEST_VALUE else text
