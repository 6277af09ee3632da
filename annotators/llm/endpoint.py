"""Requests to an endpoint of OpenAI's form: bounded, patient, and within a budget of tokens."""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp
import msgspec

from annotators.llm.config import LlmConfig
from annotators.llm.errors import (
    AnswerError,
    BudgetError,
    CredentialsError,
    EndpointError,
    FormatRefusedError,
    ParameterRefusedError,
    TooLongError,
)
from annotators.llm.output import SCHEMA

MAX_ANSWER_BYTES = 4 * 2**20
MAX_COUNT = 10_000_000  # tokens of one request that are believed
BUSY = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
FORMATS: Sequence[str] = ("json_schema", "guided_json", "json_object", "text")
"""Forms of output from the strictest on: where one is refused, the next is tried."""
LIMITS: Sequence[str] = ("max_tokens", "max_completion_tokens")
"""Names of the limit of an answer's tokens: models that reason take the second alone."""
OPTIONAL = frozenset({"temperature", "seed"})
"""Parameters that some models or endpoints do not take: they are left out then."""
REFUSES = re.compile(r"unsupported|not support|not permitted|not allowed|unrecognized|unknown")
NAMED = re.compile(rf"""["'`]({"|".join((*LIMITS, *OPTIONAL))})["'`]""")
SECONDS = re.compile(r"[0-9]+(?:\.[0-9]+)?", re.ASCII)
MOST_SECONDS = 1e6
LEAST_KEY = 4  # characters of a key that is looked for in what an endpoint says
CHARACTERS_PER_TOKEN = 3  # for estimates; names and tables have fewer than prose

Messages = Sequence[Mapping[str, str]]
Hide = Callable[[str], str]


class _Usage(msgspec.Struct, frozen=True):
    prompt_tokens: int = -1
    completion_tokens: int = -1


class _Message(msgspec.Struct, frozen=True):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct, frozen=True):
    message: _Message
    finish_reason: str | None = None


class _Reply(msgspec.Struct, frozen=True):
    choices: tuple[_Choice, ...]
    usage: _Usage | None = None
    model: str | None = None
    system_fingerprint: str | None = None


class ModelReply(msgspec.Struct, frozen=True, kw_only=True):
    """A model's text, whether it was cut, the tokens that it took, and what wrote it."""

    content: str
    cut: bool
    tokens_in: int
    tokens_out: int
    model: str
    fingerprint: str


class RequestForm(msgspec.Struct, frozen=True, kw_only=True):
    """The form of requests that an endpoint takes, as far as it is known."""

    output: str
    limit: str = LIMITS[0]
    left_out: tuple[str, ...] = ()

    def after(self, error: FormatRefusedError | ParameterRefusedError) -> RequestForm | None:
        """Return the form to try after a refusal, None where there is no other."""
        if isinstance(error, FormatRefusedError):
            rest = FORMATS[FORMATS.index(self.output) + 1 :]
            return msgspec.structs.replace(self, output=rest[0]) if rest else None
        if error.parameter == self.limit == LIMITS[0]:
            return msgspec.structs.replace(self, limit=LIMITS[1])
        if error.parameter in OPTIONAL.difference(self.left_out):
            left_out = (*self.left_out, error.parameter)
            return msgspec.structs.replace(self, left_out=left_out)
        return None


class Budget:
    """The tokens that may still be used: reserved before a request, settled after it."""

    def __init__(self, tokens: int) -> None:
        self.allowed = tokens
        self.used = 0
        self._reserved = 0

    def reserve(self, tokens: int) -> None:
        """Set tokens aside; raises `BudgetError` where so many are not left."""
        if self.allowed and self.used + self._reserved + tokens > self.allowed:
            raise BudgetError(f"budget: {self.used:,} of {self.allowed:,} tokens are used")
        self._reserved += tokens

    def settle(self, reserved: int, used: int) -> None:
        """Count what a request really took."""
        self._reserved -= reserved
        self.used += used


class Endpoint:
    """A model behind an address; at most `at_once` requests are in flight.

    `form` is what it is asked in: what it refused is not tried again.
    """

    def __init__(self, config: LlmConfig, session: aiohttp.ClientSession, budget: Budget) -> None:
        self._config = config
        self._session = session
        self._budget = budget
        self._places = asyncio.Semaphore(config.at_once)
        self.form = RequestForm(output=FORMATS[0] if config.format == "auto" else config.format)

    async def complete(self, messages: Messages, max_tokens: int, deadline: float) -> ModelReply:
        """Ask once, again where the endpoint is busy; `deadline` is on `time.monotonic`'s clock.

        Raises `EndpointError` or `BudgetError`.
        """
        estimate = _estimate(messages) + max_tokens
        async with self._places:
            self._budget.reserve(estimate)
            used = 0
            try:
                found = await self._in_some_form(messages, max_tokens, deadline)
                used = found.tokens_in + found.tokens_out
                return found
            finally:
                self._budget.settle(estimate, used)

    async def _in_some_form(
        self, messages: Messages, max_tokens: int, deadline: float
    ) -> ModelReply:
        while True:
            form = self.form
            try:
                return await self._until_answered(messages, max_tokens, form, deadline)
            except (FormatRefusedError, ParameterRefusedError) as error:
                fixed = isinstance(error, FormatRefusedError) and self._config.format != "auto"
                other = None if fixed else form.after(error)
                if other is None:
                    raise
                if self.form == form:  # else another request was faster: its form is tried
                    self.form = other

    async def _until_answered(
        self, messages: Messages, max_tokens: int, form: RequestForm, deadline: float
    ) -> ModelReply:
        body = self._body(messages, max_tokens, form)
        reason = ""
        for attempt in range(self._config.attempts):
            left = deadline - time.monotonic()
            if left <= 0:
                break
            try:
                status, headers, content = await self._post(body, left)
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                reason, wait = type(error).__name__, _pause(attempt)
            else:
                if status == 200:
                    return await asyncio.to_thread(_completion, content, messages, self._hidden)
                reason = f"HTTP status {status}: {_words(content, self._hidden)}"
                if status not in BUSY:
                    raise _refusal(status, reason)
                wait = retry_after(headers.get("Retry-After", "")) or _pause(attempt)
            if time.monotonic() + wait >= deadline:
                break
            await asyncio.sleep(wait)
        raise EndpointError(f"no answer in time or attempts; the last was {reason or 'none'}")

    async def _post(self, body: bytes, seconds: float) -> tuple[int, Mapping[str, str], bytes]:
        headers = {"Content-Type": "application/json"}
        if self._config.key:
            headers["Authorization"] = f"Bearer {self._config.key}"
        limit = aiohttp.ClientTimeout(total=seconds)
        async with self._session.post(
            self._config.url, data=body, headers=headers, timeout=limit, allow_redirects=False
        ) as response:
            content = bytearray()
            async for part in response.content.iter_any():
                content += part
                if len(content) > MAX_ANSWER_BYTES:
                    raise EndpointError(f"an answer above {MAX_ANSWER_BYTES:,} bytes")
            return response.status, response.headers, bytes(content)

    def _body(self, messages: Messages, max_tokens: int, form: RequestForm) -> bytes:
        config = self._config
        body: dict[str, Any] = {
            "model": config.model,
            "messages": messages,
            "temperature": config.temperature,
            form.limit: max_tokens,
            "n": 1,
            "stream": False,
        }
        if config.seed is not None:
            body["seed"] = config.seed
        for parameter in form.left_out:
            body.pop(parameter, None)
        match form.output:
            case "json_schema":
                schema = {"name": "annotations", "strict": True, "schema": SCHEMA}
                body["response_format"] = {"type": "json_schema", "json_schema": schema}
            case "guided_json":  # vLLM's own parameter
                body["guided_json"] = SCHEMA
            case "json_object":
                body["response_format"] = {"type": "json_object"}
        return msgspec.json.encode(body)

    def _hidden(self, words: str) -> str:
        """Return words of the endpoint's without the key, plain or as JSON writes it."""
        key = self._config.key
        for form in (key, msgspec.json.encode(key).decode()[1:-1], key.replace("/", "\\/")):
            words = words.replace(form, "***") if len(form) >= LEAST_KEY else words
        return words


def _refusal(status: int, reason: str) -> EndpointError:
    words = reason.lower()
    if status in {401, 403}:
        return CredentialsError(f"the endpoint refused the key: {reason}")
    if status == 413 or "context_length" in words or "context length" in words:
        return TooLongError(reason)
    parameter = NAMED.search(words)
    if status in {400, 422} and parameter and REFUSES.search(words):
        return ParameterRefusedError(parameter[1], reason)
    named = ("response_format", "json_schema", "guided_json", "json_object", "schema")
    if status in {400, 404, 415, 422} and any(name in words for name in named):
        return FormatRefusedError(reason)
    return EndpointError(reason)


def _completion(content: bytes, messages: Messages, hidden: Hide) -> ModelReply:
    """Read a completion; `hidden` takes the key out of every text, which some endpoints repeat."""
    try:
        reply = msgspec.json.decode(content, type=_Reply)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise AnswerError(f"not a completion: {hidden(str(error)):.200}") from None
    if not reply.choices:
        raise AnswerError("a completion without a choice")
    choice = reply.choices[0]
    if choice.message.refusal:
        raise AnswerError(f"refusal: {_printable(hidden(choice.message.refusal))}")
    if choice.finish_reason == "content_filter":
        raise AnswerError("refusal: stopped by the endpoint's filter")
    text = hidden(choice.message.content or "")
    usage = reply.usage or _Usage()
    return ModelReply(
        content=text,
        cut=choice.finish_reason == "length",
        tokens_in=_believed(usage.prompt_tokens, _estimate(messages)),
        tokens_out=_believed(usage.completion_tokens, len(text) // CHARACTERS_PER_TOKEN),
        model=_printable(hidden(reply.model or "")),
        fingerprint=_printable(hidden(reply.system_fingerprint or "")),
    )


def _believed(count: int, estimate: int) -> int:
    return count if 0 <= count <= MAX_COUNT else estimate


def _estimate(messages: Messages) -> int:
    return sum(len(one["content"]) for one in messages) // CHARACTERS_PER_TOKEN + 1


def _words(content: bytes, hidden: Hide) -> str:
    """Return the first words of an answer; the key is taken out before they are cut."""
    return _printable(hidden(content[:10_000].decode("utf-8", "replace")))


def _printable(words: str) -> str:
    return "".join(one if one.isprintable() else " " for one in words[:300])


def _pause(attempt: int) -> float:
    return float(min(30.0, 0.5 * 2**attempt) * random.uniform(0.5, 1.0))


def retry_after(value: str) -> float:
    """Return the seconds that a `Retry-After` asks for, 0 where it has none that can be read."""
    if SECONDS.fullmatch(value.strip()):
        return min(float(value), MOST_SECONDS)
    try:
        moment = parsedate_to_datetime(value)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max((moment - datetime.now(UTC)).total_seconds(), 0.0)
