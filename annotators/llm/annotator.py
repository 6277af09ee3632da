"""An article to a model and back: in parts, each asked for, read, repaired once, and grounded."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

import aiohttp
from aiohttp import web

from annotators.contract import Answer, Context
from annotators.llm.chunks import chunks, enclosed
from annotators.llm.config import LlmConfig
from annotators.llm.endpoint import Budget, Endpoint, Messages, ModelReply
from annotators.llm.errors import AnswerError, TooLongError
from annotators.llm.grounding import Grounded
from annotators.llm.output import Output, read_output
from annotators.matching import Dictionary

MARGIN = 0.9  # of an attempt's time: the rest is the way to the hub
MAX_PARTS = 100
MIN_PART = 500  # characters; a model that takes no more is of no use
REPAIR = "That was {reason}. Answer again with the JSON object alone, of the agreed shape."


@dataclass(slots=True)
class Spent:
    """Requests and tokens that one article took, and what wrote the answers."""

    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    model: str = ""
    fingerprint: str = ""

    def add(self, one: ModelReply) -> None:
        """Count a request."""
        self.requests += 1
        self.tokens_in += one.tokens_in
        self.tokens_out += one.tokens_out
        self.model = one.model or self.model
        self.fingerprint = one.fingerprint or self.fingerprint


@dataclass(kw_only=True)
class LlmAnnotator:
    """An annotating function for the kit; `lifetime` holds its connections open."""

    config: LlmConfig
    known: Dictionary
    budget: Budget = field(init=False)
    _endpoint: Endpoint | None = None

    def __post_init__(self) -> None:
        self.budget = Budget(self.config.budget_tokens)

    async def lifetime(self, _: web.Application) -> AsyncIterator[None]:
        """Hold the connections to the endpoint open while the application runs."""
        connector = aiohttp.TCPConnector(limit=self.config.at_once)
        async with aiohttp.ClientSession(connector=connector) as session:
            self._endpoint = Endpoint(self.config, session, self.budget)
            yield

    async def annotate(self, text: str, context: Context) -> Answer:
        """Return what the model finds in an article, and in `meta` what that cost."""
        begun = time.monotonic()
        limit = min(self.config.timeout, context.get("timeout", self.config.timeout) * MARGIN)
        spent = Spent()
        outputs: Sequence[Output] = ()
        if text.strip():
            parts = await asyncio.to_thread(chunks, text, self.config.chunk_characters)
            if len(parts) > MAX_PARTS:
                raise AnswerError(f"{len(parts)} parts; expected at most {MAX_PARTS}")
            outputs = await self._ask_all(parts, spent, begun + limit)
        answer, dropped = await asyncio.to_thread(self._grounded, text, outputs)
        price, form = self.config.price, self._asked.form
        answer["meta"] = {
            "model": spent.model or self.config.model,
            "fingerprint": spent.fingerprint,
            "prompt": self.config.digest,
            "format": form.output,
            "left_out": ", ".join(form.left_out),
            "requests": spent.requests,
            "tokens_in": spent.tokens_in,
            "tokens_out": spent.tokens_out,
            "seconds": time.monotonic() - begun,
            "dropped": dropped,
        }
        if price.known:
            cost = (spent.tokens_in * price.input + spent.tokens_out * price.output) / 1e6
            answer["meta"] |= {"cost": cost, "currency": price.currency}
        return answer

    @property
    def _asked(self) -> Endpoint:
        assert self._endpoint is not None, "annotate is called while the application runs"
        return self._endpoint

    def _grounded(self, text: str, outputs: Sequence[Output]) -> tuple[Answer, int]:
        kept = Grounded(text, self.known)
        for output in outputs:
            kept.add(output)
        return kept.answer(), kept.dropped

    async def _ask_all(
        self, parts: Sequence[str], spent: Spent, deadline: float
    ) -> Sequence[Output]:
        """Ask for all parts at once; the first failure ends the others."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._ask(part, spent, deadline)) for part in parts]
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from failures
        return [output for task in tasks for output in task.result()]

    async def _ask(self, part: str, spent: Spent, deadline: float) -> Sequence[Output]:
        """Ask for one part, in two halves where it is too long for the model."""
        try:
            return [await self._read(part, spent, deadline)]
        except TooLongError:
            if len(part) < 2 * MIN_PART:
                raise
            halves = await asyncio.to_thread(chunks, part, len(part) // 2 + MIN_PART // 2)
            found = [await self._ask(half, spent, deadline) for half in halves]
            return [output for outputs in found for output in outputs]

    async def _read(self, part: str, spent: Spent, deadline: float) -> Output:
        """Ask once; again with twice the tokens if the answer was cut, or with what is wrong."""
        messages: Messages = (
            {"role": "system", "content": self.config.system},
            {"role": "user", "content": enclosed(part)},
        )
        max_tokens = self.config.max_tokens
        found = await self._complete(messages, max_tokens, spent, deadline)
        if found.cut:
            max_tokens *= 2
            found = await self._complete(messages, max_tokens, spent, deadline)
            if found.cut:
                raise AnswerError(f"the answer was cut at {max_tokens} tokens")
        try:
            return await asyncio.to_thread(read_output, found.content)
        except AnswerError as error:
            again: Messages = (
                *messages,
                {"role": "assistant", "content": found.content[:10_000]},
                {"role": "user", "content": REPAIR.format(reason=error)},
            )
        found = await self._complete(again, max_tokens, spent, deadline)
        return await asyncio.to_thread(read_output, found.content)

    async def _complete(
        self, messages: Messages, max_tokens: int, spent: Spent, deadline: float
    ) -> ModelReply:
        found = await self._asked.complete(messages, max_tokens, deadline)
        spent.add(found)
        return found
