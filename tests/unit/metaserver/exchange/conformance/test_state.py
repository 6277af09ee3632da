"""The step for a server's state: as the server reports it, in order, overloaded or invalid."""

from typing import Any

import pytest

from metaserver.base.conformance import StepState
from metaserver.base.errors import PeerError
from metaserver.base.records import Server, ServerName, Timings
from metaserver.base.states import Outcome
from metaserver.exchange.conformance.contact import Reply, asked_again, state_step
from metaserver.exchange.http.client import ReportedVersions

SERVER = Server(name=ServerName("one"), url="http://127.0.0.1:9/", concurrency=2)


class NoClient:
    """A client for requests that must not be sent."""

    def __init__(self) -> None:
        self.versions = ReportedVersions()

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)


def reply(value: Any = None, error: PeerError | None = None, again: str = "") -> Reply:
    timings = Timings(dns=0.5, connect=1.0)
    return Reply(
        value=value, error=error, timings=timings, reused=False, seconds=2.0, raw=b"", again=again
    )


async def step(one: Reply) -> Any:
    return await state_step(NoClient(), SERVER, one, 1.0)  # type: ignore[arg-type]


def reported(**given: Any) -> dict[str, Any]:
    """Return a valid report, with other members where they are given."""
    return {"state": "Running", "version": "1.2", "max_concurrent": 2} | given


@pytest.mark.parametrize(
    ("value", "state", "message"),
    [
        (reported(), StepState.PASSED, "Running, version 1.2, max_concurrent 2"),
        (reported(max_concurrent=1), StepState.WARNING, "Running, version 1.2, max_concurrent 1"),
        (
            reported(state="Overloaded"),
            StepState.WARNING,
            "Overloaded, version 1.2, max_concurrent 2",
        ),
        (reported(state="Suspended"), StepState.FAILED, "the server reports the state Suspended"),
        (reported(state="Shutdown"), StepState.FAILED, "the server reports the state Shutdown"),
        (reported(state="asleep"), StepState.WARNING, "asleep, version 1.2, max_concurrent 2"),
        ({"state": "Running"}, StepState.WARNING, "Running"),
        ({}, StepState.WARNING, ""),
        ("Running", StepState.WARNING, "Annotator.getState: expected struct"),
    ],
)
async def test_the_reported_state_decides(value: Any, state: StepState, message: str) -> None:
    found = await step(reply(value))
    assert (found.state, found.message) == (state, message)


async def test_the_time_is_that_of_the_answer_alone() -> None:
    assert (await step(reply(reported()))).seconds == 0.5


async def test_a_problem_names_its_place() -> None:
    found = await step(reply(reported(state="asleep")))
    assert (found.problem_count, found.problems[0].path) == (1, "state.state")


async def test_a_server_that_is_not_reached_fails() -> None:
    refused = PeerError(Outcome.CONNECT, "refused")
    found = await step(reply(error=refused, again=asked_again("the hub stood still")))
    assert (found.state, found.outcome) == (StepState.FAILED, Outcome.CONNECT)
    assert found.message == "refused; asked again: the hub stood still"
