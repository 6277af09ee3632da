"""Announced changes of a phase are those its clock makes, for any dates, changes and clocks."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaserver.base.plans import DATES, ORDER, Change, PhasePlan
from metaserver.base.states import OPEN_STATES, PhaseState

BEGIN = datetime(2026, 10, 25, tzinfo=UTC)
KINDS = st.sampled_from(sorted(OPEN_STATES))
REACHED = st.none() | st.sampled_from(PhaseState)


def moment(hour: int) -> datetime:
    return BEGIN + timedelta(hours=hour)


@st.composite
def plans(draw: st.DrawFn) -> PhasePlan:
    """Draw plans as organisers make them, or as a store could hold them: in any order."""
    dates = {name: draw(st.none() | st.integers(0, 6).map(moment)) for name in DATES}
    return PhasePlan(kind=draw(KINDS), **dates)


def clock(draw: st.DataObject) -> float:
    return moment(draw.draw(st.integers(-1, 7))).timestamp() + draw.draw(
        st.sampled_from([-1.0, 0.0, 0.5])
    )


class Phase:
    """A phase as the scheduler has it: its reached state never goes back by itself."""

    def __init__(self, plan: PhasePlan, reached: PhaseState | None) -> None:
        self.plan, self.reached = plan, reached

    def look(self, now: float) -> PhaseState:
        """Let the clock see the phase."""
        state = self.plan.state(now, self.reached)
        self.reached = state
        return state


@given(plan=plans(), reached=REACHED, data=st.data())
def test_what_is_announced_is_what_the_clock_does(plan, reached, data):
    now = clock(data)
    phase = Phase(plan, reached)
    for _ in range(4):  # a hand, a clock that is set forward or back, another plan
        state = phase.look(now)
        _check(phase, now, state)
        now = clock(data)
        phase.reached = data.draw(st.just(phase.reached) | REACHED)
        phase.plan = data.draw(st.just(phase.plan) | plans())


def _check(phase: Phase, now: float, state: PhaseState) -> None:
    coming = phase.plan.coming(now, phase.reached)
    states = [state, *(change.state for change in coming)]
    assert all(ORDER.index(one) < ORDER.index(two) for one, two in pairwise(states))
    seen: list[Change] = []
    follower = Phase(phase.plan, phase.reached)
    for step in range(8 * 60):  # each minute from now on
        at = datetime.fromtimestamp(now, UTC) + timedelta(minutes=step)
        for due in [one for one in coming if one.at <= at and one not in seen]:
            before = (due.at - timedelta(seconds=1)).timestamp()
            if before > now:
                assert follower.look(before) is states[len(seen)]
            assert follower.look(due.at.timestamp()) is due.state
            seen.append(due)
        assert follower.look(at.timestamp()) is states[len(seen)]
    assert len(seen) == len([one for one in coming if one.at.timestamp() <= now + 8 * 3600 - 60])


@given(plan=plans(), data=st.data())
def test_a_clock_that_is_set_back_changes_nothing_that_was_reached(plan, data):
    phase = Phase(plan, None)
    late, early = sorted([clock(data), clock(data)], reverse=True)
    reached = phase.look(late)
    assert phase.look(early) is reached
    done = ORDER.index(reached)
    assert all(ORDER.index(one.state) > done for one in plan.coming(early, phase.reached))


def test_a_phase_frozen_by_hand_is_not_announced_to_open() -> None:
    plan = PhasePlan(opens=moment(1), freezes=moment(2), closes=moment(3))
    [change] = plan.coming(BEGIN.timestamp(), PhaseState.FROZEN)
    assert change == Change(date="closes", at=moment(3), state=PhaseState.CLOSED)
    opened = plan.coming(BEGIN.timestamp(), PhaseState.TEST)
    assert [one.date for one in opened] == ["freezes", "closes"]
    assert plan.coming(BEGIN.timestamp(), PhaseState.CLOSED) == []


def test_an_open_phase_is_of_its_plans_kind() -> None:
    plan = PhasePlan(kind=PhaseState.TRAINING, opens=moment(1))
    assert plan.state(BEGIN.timestamp(), PhaseState.TEST) is PhaseState.TRAINING
    assert plan.coming(BEGIN.timestamp(), PhaseState.TEST) == []


@pytest.mark.parametrize("year", [1, 1968, 3000, 9999])
def test_a_plan_with_a_date_that_no_zone_can_show_is_refused(year: int) -> None:
    with pytest.raises(ValueError, match="opens is not from 1970 to 2999"):
        PhasePlan(opens=datetime(year, 12, 31, tzinfo=UTC))
    kept = f'{{"opens":"{year:04}-12-31T00:00:00Z"}}'
    with pytest.raises(msgspec.ValidationError, match="1970"):
        msgspec.json.decode(kept, type=PhasePlan)
