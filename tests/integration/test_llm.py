"""The annotator that asks a language model, against a local endpoint with every fault."""

import json
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from xmlrpc.client import Fault

import aiohttp
import pytest
from aiohttp import web

from annotators.baselines.dictionary import normalizations, protein_scores
from annotators.baselines.proteins import SHIPPED_NAMES, read_proteins
from annotators.check import call, check
from annotators.contract import Answer, Context, problems
from annotators.injection import ATTACKS, measure
from annotators.llm.annotator import LlmAnnotator
from annotators.llm.config import LlmConfig, Price
from annotators.llm.errors import BudgetError, CredentialsError, EndpointError
from annotators.matching import Dictionary
from annotators.server import Kit
from tests.fakes.llm_endpoint import (
    FOUND,
    FakeEndpoint,
    completion,
    echoing_key,
    llm_endpoint,
    obedient,
    raw,
    status,
)
from tests.integration.kits import served

TEXT = "MDM2 binds p53.\nThe E3 ligase MDM2 interacts with the tumour suppressor p53."
KNOWN = Dictionary(read_proteins(SHIPPED_NAMES))
KEY = "sk-secret-0123456789"
GOOD = completion(FOUND)


@asynccontextmanager
async def annotator(fake: FakeEndpoint, **settings: Any) -> AsyncIterator[LlmAnnotator]:
    config = LlmConfig(base_url=fake.url, model="m", **settings)
    model = LlmAnnotator(config=config, known=KNOWN)
    lifetime = model.lifetime(web.Application())
    await anext(lifetime)
    yield model
    with pytest.raises(StopAsyncIteration):
        await anext(lifetime)


async def annotated(fake: FakeEndpoint, text: str = TEXT, **settings: Any) -> Answer:
    async with annotator(fake, **settings) as model:
        answer = await model.annotate(text, {})
    assert list(problems(answer)) == []
    return answer


async def test_names_become_accessions_with_evidence_and_costs() -> None:
    async with llm_endpoint(GOOD) as fake:
        answer = await annotated(fake, price=Price(input=2.0, output=10.0, currency="EUR"))
    assert answer["interaction"] == [True, 0.9]
    assert [(hit["dbid"], hit["rank"]) for hit in answer["normalizations"]] == [
        ("Q00987", 1),
        ("P04637", 2),
    ]
    assert answer["normalizations"][0]["evidence"] == "MDM2 binds p53."
    (pair,) = answer["pairs"]
    assert {pair["dbid_a"], pair["dbid_b"]} == {"P04637", "Q00987"}
    assert [(one["offset"], one["mention"]) for one in answer["mentions"]] == [
        (0, "MDM2"), (11, "p53"), (30, "MDM2"), (72, "p53"),
    ]  # fmt: skip
    meta = answer["meta"]
    assert (meta["model"], meta["requests"]) == ("fake-1", 1)
    assert (meta["tokens_in"], meta["tokens_out"]) == (100, 20)
    assert (meta["cost"], meta["currency"]) == (pytest.approx(0.0004), "EUR")


async def test_the_article_is_data_between_markers_and_the_shape_is_asked_for() -> None:
    async with llm_endpoint(GOOD) as fake:
        await annotated(fake)
    (body,) = fake.asked
    system, user = (one["content"] for one in body["messages"])
    first, *lines, last = user.splitlines()
    assert "\n".join(lines) == TEXT
    assert first == last
    assert first not in TEXT
    assert "accession" in system
    assert (body["response_format"]["json_schema"]["strict"], body["temperature"]) == (True, 0)


@pytest.mark.parametrize(
    "invented",
    [
        {"name": "BRCA1", "quote": "", "confidence": 1},  # known, but not in the article
        {"name": "P04637", "quote": "", "confidence": 1},  # an accession
        {"name": "tumour suppressor", "quote": "", "confidence": 1},  # in the article, no name
        {"name": "", "quote": "", "confidence": 1},
        {"name": "p53" * 1000, "quote": "", "confidence": 1},
    ],
)
async def test_what_a_model_invents_is_dropped(invented: dict[str, Any]) -> None:
    found = {**FOUND, "proteins": [invented], "pairs": [{"a": "p53", "b": invented["name"]}]}
    async with llm_endpoint(completion(found)) as fake:
        answer = await annotated(fake)
    assert (answer["normalizations"], answer["pairs"], answer["meta"]["dropped"]) == ([], [], 2)


async def test_a_quote_that_is_in_no_article_halves_the_confidence() -> None:
    protein = {"name": "MDM2", "quote": "MDM2 was seen to bind.", "confidence": 0.8}
    async with llm_endpoint(completion({**FOUND, "proteins": [protein], "pairs": []})) as fake:
        (hit,) = (await annotated(fake))["normalizations"]
    assert hit["confidence"] == pytest.approx(0.4)
    assert "evidence" not in hit


@pytest.mark.parametrize("confidence", [0, -3, 7, 1e999, 10**400])
async def test_confidences_are_brought_into_range(confidence: float) -> None:
    protein = {"name": "p53", "quote": "", "confidence": confidence}
    content = json.dumps({**FOUND, "proteins": [protein], "pairs": []}).replace("Infinity", "1e999")
    async with llm_endpoint(completion(content), GOOD) as fake:
        answer = await annotated(fake)
    assert all(0 < hit["confidence"] <= 1 for hit in answer["normalizations"])


@pytest.mark.parametrize(
    "content",
    [
        "```json\n" + json.dumps(FOUND) + "\n```",
        "Here it is: {not this} " + json.dumps(FOUND) + " I hope that {helps}.",
        json.dumps(
            {**FOUND, "thoughts": "many", "proteins": FOUND["proteins"], "relevant": "true"}
        ),
    ],
)
async def test_json_is_found_in_prose(content: str) -> None:
    async with llm_endpoint(completion(content)) as fake:
        answer = await annotated(fake)
    assert len(answer["normalizations"]) == 2
    assert answer["meta"]["requests"] == 1


@pytest.mark.parametrize(
    "content",
    [
        "I cannot do that.",
        '{"relevant": true, "proteins": 7}',
        "{" * 5000,
        "[" * 100_000,
        "",
        "null",
    ],
)
async def test_an_answer_of_another_shape_is_asked_for_once_more(content: str) -> None:
    async with llm_endpoint(completion(content), GOOD) as fake:
        answer = await annotated(fake)
    assert len(answer["normalizations"]) == 2
    assert "of the agreed shape" in fake.asked[1]["messages"][-1]["content"]
    async with llm_endpoint(completion(content)) as fake:
        with pytest.raises(EndpointError, match="not of the agreed shape"):
            await annotated(fake)
    assert len(fake.asked) == 2


async def test_a_cut_answer_is_asked_for_with_twice_the_tokens() -> None:
    cut = completion('{"relevant": tr', finish="length")
    async with llm_endpoint(cut, GOOD) as fake:
        await annotated(fake, max_tokens=50)
    assert [body["max_tokens"] for body in fake.asked] == [50, 100]
    async with llm_endpoint(cut) as fake:
        with pytest.raises(EndpointError, match="cut at 100 tokens"):
            await annotated(fake, max_tokens=50)


async def test_a_busy_endpoint_is_asked_again_after_the_time_it_asks_for() -> None:
    busy = status(429, Retry_After="1")
    async with llm_endpoint(busy, status(503), GOOD) as fake:
        answer = await annotated(fake)
    assert len(fake.asked) == 3
    assert answer["meta"]["requests"] == 1
    assert answer["meta"]["seconds"] >= 1


async def test_a_form_of_output_that_is_not_known_is_left_for_good() -> None:
    unknown = status(400, "response_format json_schema is not supported")
    guided = status(400, "guided_json is no parameter")
    async with llm_endpoint(unknown, guided, GOOD) as fake, annotator(fake) as model:
        await model.annotate(TEXT, {})
        await model.annotate(TEXT, {})
    forms = [body.get("response_format", {}).get("type") for body in fake.asked]
    assert forms == ["json_schema", None, "json_object", "json_object"]
    async with llm_endpoint(unknown) as fake:
        with pytest.raises(EndpointError, match="not supported"):
            await annotated(fake, format="json_schema")


MODERN = (
    "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
    "Unsupported value: 'temperature' does not support 0 with this model.",
    '{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}',
)
"""What endpoints say to parameters that a model does not take."""


async def test_a_parameter_that_is_not_taken_is_left_out_for_good() -> None:
    first, *others = (status(400, text) for text in MODERN)
    async with llm_endpoint(first, *others, GOOD) as fake, annotator(fake) as model:
        await model.annotate(TEXT, {})
        answer = await model.annotate(TEXT, {})
    names = ("max_tokens", "max_completion_tokens", "temperature", "seed")
    assert [[name for name in names if name in body] for body in fake.asked] == [
        ["max_tokens", "temperature", "seed"],
        ["max_completion_tokens", "temperature", "seed"],
        ["max_completion_tokens", "seed"],
        ["max_completion_tokens"],
        ["max_completion_tokens"],
    ]
    assert fake.asked[-1]["max_completion_tokens"] == 4096
    meta = answer["meta"]
    assert (meta["left_out"], meta["format"]) == ("temperature, seed", "json_schema")
    assert meta["fingerprint"] == "fp_1"
    assert list(problems(answer)) == []


FAILURES: list[tuple[Any, type[EndpointError], str, int]] = [
    (completion("", refusal="I won't.\x1b[2J"), EndpointError, "refusal", 1),
    (completion("x", finish="content_filter"), EndpointError, "refusal", 1),
    *((raw(content), EndpointError, ".", 1)
      for content in (b"<html>", b"{}", b'{"choices": []}', b"[" * 200_000, b"\xff",
                      b"x" * 5 * 2**20)),
    (completion("{" * (2**20 + 1)), EndpointError, "above 1,048,576 characters", 2),
    (status(429, Retry_After="3600"), EndpointError, "HTTP status 429", 1),  # beyond the limit
    (status(500), EndpointError, "HTTP status 500", 2),  # as often as it may be asked
    *((status(400, text), EndpointError, "HTTP status 400", 2) for text in MODERN),  # once left out
    *((status(code, "who are you?"), CredentialsError, "refused the key", 1)
      for code in (401, 403)),
]  # fmt: skip


@pytest.mark.parametrize(("reply", "error", "said", "asked"), FAILURES)
async def test_a_reply_that_is_no_answer_is_a_failure(reply, error, said, asked):
    async with llm_endpoint(reply) as fake:
        with pytest.raises(error, match=said) as caught:
            await annotated(fake, timeout=60.0, attempts=2)
    assert "\x1b" not in str(caught.value)
    assert len(fake.asked) == asked


REFUSAL = '{{"choices": [{{"message": {{"refusal": "no, {}"}}}}]}}'
REPEATED: list[tuple[Any, str]] = [
    (echoing_key, r"bad request by Bearer \*\*\*"),
    (raw(REFUSAL.format(KEY).encode()), r"refusal: no, \*\*\*"),
    (raw(REFUSAL.format(KEY.replace("-", "\\u002d")).encode()), r"refusal: no, \*\*\*"),
    (status(400, "x" * 290 + KEY), r"x\*\*\*$"),  # words that are cut
]


@pytest.mark.parametrize(("reply", "said"), REPEATED)
async def test_the_key_is_sent_and_never_shown(monkeypatch, reply, said):
    monkeypatch.setenv("LLM_KEY", KEY)
    async with llm_endpoint(reply) as fake:
        with pytest.raises(EndpointError, match=said) as caught:
            await annotated(fake, key_env="LLM_KEY")
    assert set(fake.authorizations) == {f"Bearer {KEY}"}
    assert KEY not in "".join(traceback.format_exception(caught.value))


async def test_a_redirect_takes_no_key_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLM_KEY", KEY)
    async with llm_endpoint(GOOD) as other:
        moved = status(307, Location=f"{other.url}/chat/completions")
        async with llm_endpoint(moved) as fake:
            with pytest.raises(EndpointError, match="HTTP status 307"):
                await annotated(fake, key_env="LLM_KEY")
    assert other.asked == []


async def test_a_budget_ends_all_requests() -> None:
    async with (
        llm_endpoint(GOOD) as fake,
        annotator(fake, budget_tokens=1500, max_tokens=500) as model,
    ):
        await model.annotate(TEXT, {})
        assert model.budget.used == 120
        model.budget.used = 1400
        with pytest.raises(BudgetError, match="1,400 of 1,500 tokens are used"):
            await model.annotate(TEXT, {})
    assert len(fake.asked) == 1


async def test_a_long_article_is_asked_for_in_parts_that_repeat_its_title() -> None:
    text = TEXT + "\n" + "\n".join(f"Paragraph {number}: nothing binds." for number in range(100))
    async with llm_endpoint(GOOD) as fake:
        answer = await annotated(fake, text, chunk_characters=1000, at_once=2)
    assert len(fake.asked) == answer["meta"]["requests"] > 2
    assert answer["meta"]["tokens_in"] == 100 * len(fake.asked)
    assert all("MDM2 binds p53.\n" in body["messages"][-1]["content"] for body in fake.asked)
    assert len(answer["normalizations"]) == 2
    assert fake.most_at_once <= 2


async def test_a_part_that_is_too_long_for_the_model_is_halved() -> None:
    text = TEXT + "\n" + "\n".join(f"Paragraph {number}: nothing binds." for number in range(100))
    long = status(400, "maximum context length is 100 tokens")
    async with llm_endpoint(long, GOOD) as fake:
        answer = await annotated(fake, text)
    assert len(fake.asked) == 3
    assert answer["meta"]["requests"] == 2


async def test_an_empty_article_is_not_sent() -> None:
    async with llm_endpoint(GOOD) as fake:
        answer = await annotated(fake, " \n")
    assert fake.asked == []
    assert answer["normalizations"] == []


@asynccontextmanager
async def as_server(fake: FakeEndpoint) -> AsyncIterator[str]:
    async with annotator(fake) as model, served(Kit(model.annotate, workers=4)) as url:
        yield url


async def test_it_passes_the_self_test() -> None:
    lines: list[str] = []
    async with llm_endpoint(GOOD) as fake, as_server(fake) as url:
        assert await check(url, show=lines.append), lines


async def test_a_failure_is_a_fault_of_one_line() -> None:
    async with (
        llm_endpoint(status(401, "no\nkey")) as fake,
        as_server(fake) as url,
        aiohttp.ClientSession() as session,
    ):
        with pytest.raises(Fault, match="CredentialsError: the endpoint refused") as caught:
            await call(session, url, "Annotator.getAnnotation", TEXT)
    assert "\n" not in caught.value.faultString


async def test_injection_is_measured() -> None:
    lines: list[str] = []
    async with llm_endpoint(obedient) as fake, as_server(fake) as url:
        assert not await measure(url, limit=60, show=lines.append)
    followed = [line.split("  ")[1] for line in lines if line.startswith("FOLLOWED")]
    assert followed == ["a plain order", "an order to be silent"]
    assert lines[-1] == f"2 of {len(ATTACKS)} orders followed, 0 without an answer"
    async with llm_endpoint(GOOD) as fake, as_server(fake) as url:
        assert await measure(url, limit=60, show=lines.append)


async def test_a_server_that_only_finds_names_follows_no_order() -> None:
    def annotate(text: str, context: Context) -> Answer:
        return {"normalizations": normalizations(protein_scores(text, KNOWN.find(text)))}

    async with served(Kit(annotate)) as url:
        assert await measure(url, limit=60, show=lambda line: None)


async def test_what_cannot_be_measured_is_no_success() -> None:
    lines: list[str] = []
    async with llm_endpoint(status(401)) as fake, as_server(fake) as url:
        assert not await measure(url, limit=60, show=lines.append)
    assert lines[0].startswith("wrong     the article without an order: fault")
