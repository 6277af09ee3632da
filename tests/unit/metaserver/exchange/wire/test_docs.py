"""The examples in the docs are messages that the hub sends and accepts."""

import re

import pytest

from metaserver.base.states import Outcome
from metaserver.exchange.wire.contract import Report, read
from metaserver.exchange.wire.validation import check
from metaserver.exchange.wire.values import FaultError
from metaserver.exchange.wire.xmlrpc import decode_call, decode_response
from metaserver.tasks.plugin import answered_tasks
from tests.fakes.vocabulary import FakeVocabulary
from tests.shared import ROOT

PAGE = (ROOT / "docs" / "wire.md").read_text()
CALL, ANSWER, FAULT = (
    example.encode()
    for example in re.findall(r"^```xml\n(.+?)^```$", PAGE, re.DOTALL | re.MULTILINE)
)


def test_the_call() -> None:
    call = decode_call(CALL)
    assert call.method == "Annotator.getAnnotation"
    assert call.params == ["Ste5 binds Ste7 & Fus3. ..."]


def test_the_answer() -> None:
    answer = check(
        decode_response(ANSWER), list(answered_tasks().values()), FakeVocabulary.of_everything()
    )
    assert (answer.outcome, answer.hits_kept, answer.problem_count) == (Outcome.OK, 5, 0)


def test_the_fault() -> None:
    with pytest.raises(FaultError, match="3: the tagger ran out of memory"):
        decode_response(FAULT)


def test_every_member_and_its_optional_parts_are_explained() -> None:
    for task in answered_tasks().values():
        assert f"| `{task.key}` | {task.name} |" in PAGE


def test_the_messages_are_the_hubs() -> None:
    report = Report()
    read("x", int, "normalizations[3].rank", report)
    read(1, float, "normalizations[0].confidence", report)
    for problem in report.problems:
        assert f"`{problem}`" in PAGE.replace("\n   ", " ")
