"""The annotator that asks a language model, at an endpoint of OpenAI's form that others wrote."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urljoin
from xmlrpc.client import Fault, ServerProxy

import pytest

from metaserver.base.states import Outcome
from tests.conformance.foreign import aimock, annotator, running
from tests.fakes.llm_endpoint import FOUND
from tests.integration.callers import article_caller, server
from tests.integration.verdicts import agreed

pytestmark = pytest.mark.nightly
TEXT = "MDM2 binds p53.\nThe E3 ligase MDM2 interacts with the tumour suppressor p53."
FOUND_PROTEINS = ["Q00987", "P04637"]
KEY = "sk-of-the-peer"
USAGE = {"prompt_tokens": 100, "completion_tokens": 20}
GOOD = {"content": FOUND, "usage": USAGE, "systemFingerprint": "fp_1"}
NOTHING = {"content": {"relevant": False, "relevance": 0.9, "proteins": [], "pairs": []}}


def refused(status: int, message: str, **more: Any) -> Mapping[str, Any]:
    return {"error": {"message": message, "type": "an_error"}, "status": status, **more}


ANSWERS = [
    ({"model": "old", "responseFormat": "json_schema"}, refused(400, "no response_format")),
    ({"model": "busy", "sequenceIndex": 0}, refused(429, "Rate limited", retryAfter=1)),
    ({"model": "wordy", "userMessage": "of the agreed shape"}, GOOD),
    ({"model": "wordy"}, {"content": "I cannot say."}),
    ({"model": "cut", "sequenceIndex": 0}, {"content": "{", "finishReason": "length"}),
    ({"userMessage": "MDM2"}, GOOD),
    ({}, NOTHING),
]
"""What the endpoint answers: the first whose conditions a request meets."""


@contextmanager
def asking(folder: Path, model: str, key: str = KEY) -> Iterator[str]:
    """Run an endpoint, and an annotator that asks it; gives the annotator's URL."""
    fixtures = [{"match": match, "response": response} for match, response in ANSWERS]
    (folder / "answers.json").write_text(json.dumps({"fixtures": fixtures}))
    (folder / "annotator").mkdir()
    with running(aimock(KEY), folder) as endpoint:
        asked = annotator("llm", "--base-url", urljoin(endpoint, "/v1"), "--model", model, key=key)
        with running(asked, folder / "annotator") as url:
            yield url


async def test_it_passes_both_tests_and_finds_what_the_model_found(tmp_path: Path) -> None:
    with asking(tmp_path, "mock") as url:
        run = await agreed(url)
        async with article_caller(TEXT) as caller:
            ended, answer = await caller.call(server(url), 0, 1)
    assert run.passed, run.reasons()
    assert (ended.outcome, ended.problems) == (Outcome.OK, ())
    assert answer is not None
    assert answer.payloads["ACT"] == [True, 0.9]
    assert [accession for accession, *_ in answer.payloads["INT"]] == FOUND_PROTEINS
    assert [sorted(pair) for *pair, _, _ in answer.payloads["IPT"]] == [sorted(FOUND_PROTEINS)]
    usage = answer.usage
    assert usage is not None
    assert (usage.model, usage.requests, usage.tokens_in, usage.tokens_out) == ("mock", 1, 100, 20)


HABITS = {
    "old": {"format": "guided_json", "requests": 1, "tokens_out": 20},
    "busy": {"format": "json_schema", "requests": 1, "tokens_out": 20},
    "wordy": {"format": "json_schema", "requests": 2},
    "cut": {"format": "json_schema", "requests": 2},
}


@pytest.mark.parametrize("model", HABITS)
def test_a_habit_of_an_endpoint_costs_no_answer(tmp_path: Path, model: str) -> None:
    with asking(tmp_path, model) as url, ServerProxy(url) as proxy:
        answer: Any = proxy.Annotator.getAnnotation(TEXT)
    assert [hit["dbid"] for hit in answer["normalizations"]] == FOUND_PROTEINS
    assert {**answer["meta"], **HABITS[model]} == answer["meta"]


def test_a_wrong_key_is_a_fault(tmp_path: Path) -> None:
    with (
        asking(tmp_path, "mock", key="wrong") as url,
        ServerProxy(url) as proxy,
        pytest.raises(Fault, match="CredentialsError"),
    ):
        proxy.Annotator.getAnnotation(TEXT)
