"""Properties of a lane's queue and of its circuit under any events in any order."""

import math
import random

from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from metaserver.base.lanes import Tries
from metaserver.base.states import RULES, Backoff, Outcome
from metaserver.lanes.circuit import Circuit, CircuitState
from metaserver.lanes.queue import NEW, ArticleQueue, Later, Work

POSITIONS = st.integers(0, 20)


class QueueMachine(RuleBasedStateMachine):
    """A queue beside a simple model of its content."""

    @initialize(
        total=st.integers(0, 20),
        cursor=POSITIONS,
        finished=st.sets(POSITIONS),
        tried=st.dictionaries(POSITIONS, st.builds(Tries, st.integers(1, 9), st.integers(0, 9))),
    )
    def open(self, total: int, cursor: int, finished: set[int], tried: dict[int, Tries]) -> None:
        cursor = min(cursor, total)
        finished = {position for position in finished if position < total}
        self.queue = ArticleQueue(total, cursor=cursor, finished=finished, tries=tried)
        self.now = 0.0
        self.tries = tried
        self.done = finished | set(range(cursor))
        self.new = [position for position in range(total) if position not in self.done]
        self.total = total
        self.in_flight: dict[int, Work] = {}
        self.waiting: dict[int, float] = {}

    @rule(eager=st.booleans())
    def take(self, eager: bool) -> None:
        step = self.queue.take(self.now, eager=eager)
        until = math.inf if eager else self.now
        due = sorted((at, position) for position, at in self.waiting.items() if at <= until)
        if isinstance(step, Work):
            if due:
                assert step.position == due[0][1]  # a retry whose time has come goes first
                del self.waiting[step.position]
            else:
                assert step.position == self.new.pop(0)  # first sends go in order
            assert step.tries == self.tries.get(step.position, NEW)
            self.in_flight[step.position] = step
            return
        assert not due
        assert not self.new
        if step is None:
            assert not self.waiting
            assert not self.in_flight
        else:
            assert step == Later(min(self.waiting.values(), default=math.inf))
            assert self.waiting or self.in_flight

    @precondition(lambda self: self.in_flight)
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        position = data.draw(st.sampled_from(sorted(self.in_flight)))
        del self.in_flight[position]
        self.done.add(position)
        self.queue.finish(position)

    @precondition(lambda self: self.in_flight)
    @rule(data=st.data(), pause=st.floats(0.0, 10.0), charged=st.booleans())
    def send_again(self, data: st.DataObject, pause: float, charged: bool) -> None:
        work = self.in_flight.pop(data.draw(st.sampled_from(sorted(self.in_flight))))
        tries = Tries(work.tries.made + 1, work.tries.charged + charged)
        self.tries = self.tries | {work.position: tries}
        self.waiting[work.position] = self.now + pause
        self.queue.requeue(Work(work.position, tries), self.now + pause)

    @rule(seconds=st.floats(0.0, 10.0))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @invariant()
    def the_cursor_is_the_lowest_unfinished(self) -> None:
        unfinished = [at for at in range(self.total) if at not in self.done]
        assert self.queue.cursor == min(unfinished, default=self.total)
        assert self.queue.finished is (not unfinished)

    def teardown(self) -> None:
        """Check that every article comes to an end, once, whatever happened before."""
        if not hasattr(self, "queue"):
            return
        for position in list(self.in_flight):
            self.queue.finish(position)
            self.done.add(position)
        while isinstance(step := self.queue.take(math.inf), Work):
            assert step.position not in self.done
            self.queue.finish(step.position)
            self.done.add(step.position)
        assert step is None
        assert self.done == set(range(self.total))


TestQueue = QueueMachine.TestCase


BACKOFF = Backoff(base=5.0, cap=60.0)
EVENTS = st.lists(
    st.one_of(st.sampled_from(Outcome), st.just("probe finds it"), st.just("probe fails")),
    max_size=60,
)


@example(events=[Outcome.CONNECT, Outcome.OK, Outcome.CONNECT], threshold=2, seed=0)
@given(events=EVENTS, threshold=st.integers(1, 6), seed=st.integers(0, 2**32))
def test_a_circuit_opens_after_failures_in_a_row_and_closes_on_any_answer(events, threshold, seed):
    circuit = Circuit(threshold, BACKOFF, random.Random(seed))
    state, row, first = CircuitState.CLOSED, 0, 0.0
    for number, event in enumerate(events):
        now = float(number)
        if isinstance(event, Outcome):
            circuit.ended(event, "why", now)
            if event is Outcome.CANCELLED:
                pass  # the hub's own actions say nothing of the server
            elif RULES[event].circuit:
                row += 1
                first = now if row == 1 else first
                at_once = event is Outcome.CREDENTIALS or state is CircuitState.TRIAL
                if row >= threshold or at_once:
                    state = CircuitState.OPEN
            else:
                state, row = CircuitState.CLOSED, 0
        elif state is CircuitState.OPEN:  # only then is a server probed
            found = event == "probe finds it"
            circuit.probed(None if found else "connect: refused", now)
            state = CircuitState.TRIAL if found else CircuitState.OPEN
            assert found or circuit.probe_at > now
        assert circuit.state is state
        assert circuit.down_since == (None if state is CircuitState.CLOSED else first)
        if state is not CircuitState.CLOSED:
            assert circuit.reason in {"connect: refused", *(f"{o}: why" for o in Outcome)}


@given(failures=st.integers(1, 30), seed=st.integers(0, 2**32))
def test_probes_come_less_and_less_often_but_never_stop(failures: int, seed: int) -> None:
    circuit = Circuit(1, BACKOFF, random.Random(seed))
    circuit.ended(Outcome.CONNECT, "refused", 0.0)
    now = 0.0
    for probe in range(1, failures + 1):
        pause = circuit.probe_at - now
        longest = BACKOFF.limit(probe)
        assert longest / 2 - 1e-6 <= pause <= longest + 1e-6
        now = circuit.probe_at
        circuit.probed("connect: refused", now)


def test_refused_credentials_open_a_circuit_at_once_for_the_longest_time() -> None:
    circuit = Circuit(5, BACKOFF, random.Random(1))
    circuit.ended(Outcome.CREDENTIALS, "HTTP status 401", 100.0)
    assert circuit.state is CircuitState.OPEN
    assert circuit.reason == "credentials: HTTP status 401"
    assert circuit.probe_at >= 100.0 + BACKOFF.cap / 2


def test_stragglers_do_not_put_off_the_first_probe() -> None:
    circuit = Circuit(3, BACKOFF, random.Random(0))
    for _ in range(20):  # as many as were in flight when the circuit opened
        circuit.ended(Outcome.CONNECT, "refused", 0.0)
    assert circuit.probe_at <= BACKOFF.limit(1)


def test_a_probe_that_fails_after_an_answer_came_back_changes_nothing() -> None:
    circuit = Circuit(2, BACKOFF, random.Random(0))
    for _ in range(2):
        circuit.ended(Outcome.CONNECT, "refused", 0.0)
    circuit.ended(Outcome.OK, "", 1.0)
    circuit.probed("refused", 2.0)
    assert circuit.state is CircuitState.CLOSED
    assert circuit.down_since is None
