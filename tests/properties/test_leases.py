"""Leases of lanes hold, whatever processes, network and database do, and in whatever order."""

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from metaserver.base.lanes import LaneKey, LaneOrder
from metaserver.lanes.leases import Lease, places, plan
from tests.effort import examples

SECONDS = 5.0
LANES = [LaneKey(1, number) for number in range(1, 5)]
PROCESSES = st.integers(0, 2)


@dataclass
class Row:
    """A lane as the database has it."""

    epoch: int = 0
    worker: int | None = None
    due: bool = True
    number: int = 1
    log: list[int] = field(default_factory=list)  # the epochs of its attempts

    def order(self, key: LaneKey) -> LaneOrder:
        return LaneOrder(key=key, epoch=self.epoch, number=self.number, due=self.due)


@dataclass
class Process:
    """A process: what it believes to hold, and its lease, by its own clock."""

    name: int
    skew: float
    lease: Lease
    held: dict[LaneKey, LaneOrder] = field(default_factory=dict)
    sent_away: set[LaneKey] = field(default_factory=set)  # by a requeue, which waits for nobody
    frozen: bool = False
    cut_off: bool = False


class LeaseMachine(RuleBasedStateMachine):
    """Three processes, a database and its clock; each step of a process is done or not at all."""

    @initialize(skews=st.lists(st.floats(-3600, 3600), min_size=3, max_size=3))
    def open(self, skews: list[float]) -> None:
        self.now = 10_000.0
        self.rows = {key: Row() for key in LANES}
        self.seen: dict[int, float] = {}
        self.down = False
        self.names = 0
        self.processes = [self.started(skew) for skew in skews]

    def started(self, skew: float) -> Process:
        self.names += 1
        self.seen[self.names] = self.now
        clock = self.now + skew
        return Process(
            self.names, skew, Lease(seconds=SECONDS, renewed_at=clock, connected_at=clock)
        )

    def free(self, row: Row, *, settled: bool) -> bool:
        if row.worker is None or row.worker not in self.seen:
            return True
        return settled and self.seen[row.worker] <= self.now - SECONDS

    def tick(self, process: Process) -> None:
        """Do what a holder does each second."""
        if process.frozen:
            return
        clock = self.now + process.skew
        if self.down or process.cut_off:
            process.lease.lost()
            return
        if process.name not in self.seen:  # it was given up
            again = self.started(process.skew)
            self.processes[self.processes.index(process)] = again
            return
        self.seen[process.name] = self.now
        process.lease.renewed(clock)
        alive = [name for name, seen in self.seen.items() if seen > self.now - SECONDS]
        due = sum(row.due for row in self.rows.values())
        most = places(due, len(alive), 100)
        stored = {
            key: row.order(key) for key, row in self.rows.items() if row.worker == process.name
        }
        todo = plan(process.held, stored, limit=most)
        for key in todo.drop:
            del process.held[key]
            process.sent_away.discard(key)
        for key in {*todo.give_back, *todo.pause, *todo.free}:
            process.held.pop(key, None)
            self.rows[key].worker = None
        for key in process.held:
            process.held[key] = stored[key]
        settled = process.lease.is_settled(clock)
        for key, row in self.rows.items():
            if len(process.held) >= most:
                break
            if row.due and self.free(row, settled=settled):
                row.epoch, row.worker = row.epoch + 1, process.name
                process.held[key] = row.order(key)

    @rule(at=PROCESSES)
    def look(self, at: int) -> None:
        self.tick(self.processes[at])

    @rule(seconds=st.floats(0.1, 12.0))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        for name in [name for name, seen in self.seen.items() if seen <= self.now - 60]:
            del self.seen[name]

    @rule(at=PROCESSES)
    def kill(self, at: int) -> None:
        self.processes[at] = self.started(self.processes[at].skew)

    @rule(at=PROCESSES, frozen=st.booleans())
    def freeze(self, at: int, frozen: bool) -> None:
        self.processes[at].frozen = frozen

    @rule(at=PROCESSES, cut_off=st.booleans())
    def cut(self, at: int, cut_off: bool) -> None:
        self.processes[at].cut_off = cut_off

    @rule(down=st.booleans())
    def stop_database(self, down: bool) -> None:
        self.down = down

    @rule(key=st.sampled_from(LANES), due=st.booleans())
    def order(self, key: LaneKey, due: bool) -> None:
        if not self.down:
            row = self.rows[key]
            row.due, row.number = due, row.number + 1

    @rule(key=st.sampled_from(LANES))
    def requeue(self, key: LaneKey) -> None:
        if not self.down:
            row = self.rows[key]
            row.epoch, row.worker, row.number = row.epoch + 1, None, row.number + 1
            for process in self.processes:
                if key in process.held:
                    process.sent_away.add(key)

    @rule(at=PROCESSES, key=st.sampled_from(LANES))
    def answer(self, at: int, key: LaneKey) -> None:
        """Commit an attempt of a lane that a process believes to hold, fenced by its epoch."""
        process, row = self.processes[at], self.rows[key]
        if self.down or process.cut_off or process.frozen or key not in process.held:
            return
        if process.held[key].epoch == row.epoch:
            row.log.append(row.epoch)

    @invariant()
    def nobody_begins_what_another_may_begin(self) -> None:
        for key in LANES:
            beginning = [
                one.name
                for one in self.processes
                if key in one.held.keys() - one.sent_away
                and not one.lease.is_fenced(self.now + one.skew)
            ]
            assert len(beginning) <= 1

    @invariant()
    def a_log_is_of_one_holder_after_another(self) -> None:
        for row in self.rows.values():
            assert row.log == sorted(row.log)

    def teardown(self) -> None:
        """Check that within two leases of quiet each due lane is held, once, and fairly."""
        if not hasattr(self, "processes"):
            return
        self.down = False
        for process in self.processes:
            process.frozen = process.cut_off = False
        for _ in range(int(2 * SECONDS) + 2):
            for process in list(self.processes):
                self.tick(process)
            self.now += 1.0
        held = sorted(key for process in self.processes for key in process.held)
        assert held == [key for key in LANES if self.rows[key].due]
        for process in self.processes:
            for key in process.held:
                assert self.rows[key].worker == process.name
                assert self.rows[key].epoch == process.held[key].epoch
        most = places(len(held), len(self.processes), 100)
        assert all(len(process.held) <= most for process in self.processes)


TestLeases = LeaseMachine.TestCase
TestLeases.settings = settings(max_examples=examples(150), stateful_step_count=60)
