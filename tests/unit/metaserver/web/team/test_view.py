"""The team's card of a server: its phases, the actions there are, and the rest of its queue."""

from typing import Any

import pytest

from metaserver.base.states import PhaseState, ServerState
from metaserver.operations import conformance
from metaserver.web.team.view import Card, TeamLaneAction, left
from tests.unit.metaserver.web import details

START, NEXT, PAUSE, CANCEL = TeamLaneAction


@pytest.mark.parametrize(
    ("state", "in_flight", "actions"),
    [
        (ServerState.UP, 0, [PAUSE]),
        (ServerState.UP, 2, [PAUSE, CANCEL]),
        (ServerState.DOWN, 0, [PAUSE]),
        (ServerState.PAUSED, 0, [START, NEXT]),
        (ServerState.PAUSED, 1, [START, NEXT, CANCEL]),
        (ServerState.SUSPENDED, 0, []),
        (ServerState.FINISHED, 0, []),
    ],
)
def test_actions_follow_from_the_state(state, in_flight, actions):
    there = details.server(phases=(details.progress(state=state, in_flight=in_flight),))
    [row] = Card.of(there, [details.phase()]).rows
    assert list(row.acts) == actions
    [over] = Card.of(there, [details.phase(state=PhaseState.FROZEN)]).rows
    assert list(over.acts) == []


def test_a_server_can_be_started_where_it_is_not_yet() -> None:
    [row] = Card.of(details.server(), [details.phase()]).rows
    assert row.progress is None
    assert list(row.acts) == [START, NEXT]


def test_a_card_has_the_phases_taken_part_in_and_the_open_ones() -> None:
    phases = [
        details.phase("taken", state=PhaseState.CLOSED),
        details.phase("missed", state=PhaseState.CLOSED),
        details.phase("planned", state=PhaseState.SETUP),
        details.phase("open"),
    ]

    def names(**given: Any) -> list[str]:
        one = details.server(phases=(details.progress("taken"),), **given)
        return [row.phase.phase for row in Card.of(one, phases).rows]

    assert names() == ["taken", "open"]
    assert names(retired=True) == ["taken"]


@pytest.mark.parametrize(
    ("state", "word"),
    [
        (conformance.TestState.PASSED, ""),
        (conformance.TestState.NEVER, "not tested"),
        (conformance.TestState.FAILED, "test failed"),
        (conformance.TestState.OUTDATED, "test outdated"),
    ],
)
def test_the_reason_against_a_start_is_the_test_for_that_phase(state, word):
    other = conformance.Tested(phase="other", state=conformance.TestState.NEVER)
    one = details.server(tests=(other, conformance.Tested(phase="test", state=state)))
    [row] = Card.of(one, [details.phase()]).rows
    assert row.untested == word


def test_what_is_announced_is_the_state_in_each_phase() -> None:
    down = details.progress("second", state="down", note="connect: refused")
    card = Card.of(details.server(phases=(details.progress(), down)), [details.phase()])
    found = card.news
    assert found == "blue-1 is up in phase test; blue-1 is down in phase second (connect: refused)"
    assert card.state_words("third") == "blue-1 takes no part in phase third yet"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"state": "finished", "eta": 5.0}, "done"),
        ({"eta": None}, "–"),
        ({"eta": 0.4}, "less than a second left"),
        ({"eta": 90.0}, "1.5 min left"),
    ],
)
def test_the_rest_of_a_queue(given: dict[str, Any], text: str) -> None:
    assert left(details.progress(**given)) == text
