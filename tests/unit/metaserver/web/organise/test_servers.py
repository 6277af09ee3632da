"""The organiser's list of servers: the actions on a lane, and the lanes that a filter shows."""

from typing import Any

import pytest

from metaserver.operations import conformance
from metaserver.web.organise.servers import LaneFilter, OrganiserLaneAction, OrganiserLaneRow
from tests.unit.metaserver.web import details

SUSPEND, RESUME, REQUEUE, CANCEL = OrganiserLaneAction


def row(closed: bool = False, retired: bool = False, **given: Any) -> OrganiserLaneRow:
    """Return the row of a server in a phase."""
    return OrganiserLaneRow(details.server(retired=retired), details.progress(**given), closed)


@pytest.mark.parametrize(
    ("lane", "actions"),
    [
        (row(), [SUSPEND]),
        (row(in_flight=1), [SUSPEND, CANCEL]),
        (row(given_up=2), [SUSPEND, REQUEUE]),
        (row(state="suspended"), [RESUME]),
        (row(state="finished"), []),
        (row(state="finished", given_up=1), [REQUEUE]),
        (row(closed=True, given_up=1, in_flight=1), []),
        (row(retired=True, given_up=1, in_flight=1), []),
        (OrganiserLaneRow(details.server(), None, closed=False), []),
    ],
)
def test_actions_follow_from_the_lane(lane, actions):
    assert list(lane.acts) == actions


def test_a_filter_takes_what_fits_each_of_its_fields() -> None:
    lane = row(given_up=1)
    for one in (
        LaneFilter(), LaneFilter(phase="test"), LaneFilter(find="LUE"),
        LaneFilter(find="blue blue-1"),
        LaneFilter(state="up"), LaneFilter(state="given up"),
        LaneFilter(phase="test", state="up", find="blue"),
    ):  # fmt: skip
        assert one.shows(lane), one
    for one in (
        LaneFilter(phase="other"), LaneFilter(find="red"), LaneFilter(state="down"),
        LaneFilter(state="not tested"), LaneFilter(phase="test", state="up", find="red"),
    ):  # fmt: skip
        assert not one.shows(lane), one


def test_a_server_in_no_phase_is_found_by_its_newest_test() -> None:
    lane = OrganiserLaneRow(details.server(tested=conformance.TestState.FAILED), None, closed=False)
    assert LaneFilter(state="test failed").shows(lane)
    assert not LaneFilter(state="up").shows(lane)
    assert lane.words == "blue-1 takes part in no phase yet"
    retired = details.server(tested=conformance.TestState.FAILED, retired=True)
    assert not LaneFilter(state="test failed").shows(OrganiserLaneRow(retired, None, closed=False))


def test_the_test_for_its_phase_counts_before_the_newest() -> None:
    outdated = conformance.Tested(phase="test", state=conformance.TestState.OUTDATED)
    lane = OrganiserLaneRow(details.server(tests=(outdated,)), details.progress(), closed=False)
    assert (lane.tested, lane.untested) == (conformance.TestState.OUTDATED, "test outdated")
    assert LaneFilter(state="test outdated").shows(lane)


def test_an_address_has_what_is_chosen_alone() -> None:
    chosen = LaneFilter(phase="test", find="a b")
    assert chosen.query() == "phase=test&find=a+b"
    assert chosen.query(phase="", state="down") == "state=down&find=a+b"
    assert LaneFilter().query() == ""


def test_a_page_has_a_hundred_of_the_lanes_that_are_shown() -> None:
    lanes = [*[row()] * 150, *[row(state="down")] * 120]
    first, shown = LaneFilter(state="down").page(lanes)
    assert (first.total, len(shown)) == (120, 100)
    assert {lane.progress.state for lane in shown if lane.progress} == {"down"}
    last, shown = LaneFilter(state="down", rows=101).page(lanes)
    assert (last.number, len(shown)) == (101, 20)
    assert LaneFilter(state="down", rows=101).query() == "state=down&rows=101"
    assert LaneFilter(state="down", rows=101).query(rows=1) == "state=down"
