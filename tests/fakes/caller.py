"""The fake of `metaserver.lanes.events.ServerCaller`."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Self

from metaserver.base.lanes import CheckedAnswer
from metaserver.base.records import ArticleId, Attempt, Server, ServerReport
from metaserver.base.states import ANSWERED, Outcome

NO_HITS = CheckedAnswer(
    outcome=Outcome.OK,
    message="",
    payloads={},
    problems=(),
    problem_count=0,
    hits_kept=0,
    hits_dropped=0,
)
Answer = Callable[[Server, int, int], Awaitable[Outcome]]
Wait = Callable[[], Awaitable[None]]


async def _at_once() -> None:
    return


class FakeCaller:
    """A caller that goes by a script, and keeps what it was asked.

    `outcomes` are by position and number of the attempt, OK where nothing is said. An answer takes
    `seconds`, and comes when `open` is set; `silent` servers never answer.
    """

    def __init__(
        self,
        outcomes: Mapping[tuple[int, int], Outcome] | None = None,
        *,
        silent: Collection[str] = (),
        answer: Answer | None = None,
        while_probed: Wait = _at_once,
        while_asked: Wait = _at_once,
    ) -> None:
        self.outcomes = outcomes or {}
        self.silent = silent
        self.seconds = 0.0
        self.open = asyncio.Event()
        self.open.set()
        self.calls: list[tuple[int, int]] = []
        self.called: list[str] = []  # the servers of the calls
        self.cancelled: list[str] = []  # those whose call was cancelled
        self.in_flight = self.most_in_flight = 0
        self.probes: list[str | None] = []  # what the next probes find; then always None
        self.probed = 0
        self.states: list[ServerReport | None] = []  # what it says of itself; then always the last
        self.asked_at: list[float] = []  # for its state
        self._answer = answer or self._by_script
        self._while_probed = while_probed
        self._while_asked = while_asked

    @classmethod
    def slow(cls, seconds: float = 10.0, **outcomes: Outcome) -> Self:
        """Return one that takes time; `a3=FAULT` is the outcome of the first attempt for 3."""
        made = cls({(int(name[1:]), 1): outcome for name, outcome in outcomes.items()})
        made.seconds = seconds
        return made

    @classmethod
    def saying(cls, *states: ServerReport | None, while_asked: Wait = _at_once) -> Self:
        """Return a slow one that reports these states, the last for good."""
        made = cls(while_asked=while_asked)
        made.seconds, made.states = 10.0, list(states)
        return made

    async def call(
        self, server: Server, position: int, number: int
    ) -> tuple[Attempt, CheckedAnswer | None]:
        self.calls.append((position, number))
        self.called.append(server.name)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            outcome = await self._answer(server, position, number)
        except asyncio.CancelledError:
            self.cancelled.append(server.name)
            raise
        finally:
            self.in_flight -= 1
        return ended(server, position, number, outcome)

    async def _by_script(self, server: Server, position: int, number: int) -> Outcome:
        await asyncio.sleep(self.seconds)
        await (asyncio.Event().wait() if server.name in self.silent else self.open.wait())
        return self.outcomes.get((position, number), Outcome.OK)

    async def probe(self, _server: Server) -> str | None:
        await self._while_probed()
        self.probed += 1
        return self.probes.pop(0) if self.probes else None

    async def state(self, _server: Server) -> ServerReport | None:
        self.asked_at.append(asyncio.get_running_loop().time())
        await self._while_asked()
        if len(self.states) > 1:
            return self.states.pop(0)
        return self.states[0] if self.states else None


def ended(
    server: Server, position: int, number: int, outcome: Outcome
) -> tuple[Attempt, CheckedAnswer | None]:
    """Return an attempt that ended so, and its answer if it is one."""
    attempt = Attempt(
        server=server.name,
        article=ArticleId(str(position)),
        number=number,
        started_at=0.0,
        outcome=outcome,
    )
    return attempt, NO_HITS if outcome in ANSWERED else None
