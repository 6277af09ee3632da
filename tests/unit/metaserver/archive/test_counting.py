"""The progress of an archive: reported at each step, and once in a hundred rows."""

from copy import copy

from metaserver.archive.counting import REPORT_ROWS, RowCounter
from metaserver.phases.jobs import Progress


def test_progress_is_reported_at_a_step_and_each_hundred_rows() -> None:
    seen: list[Progress] = []
    counter = RowCounter(Progress(), lambda one: seen.append(copy(one)))
    counter.begin("tables", total=250)
    for _ in range(250):
        counter.count()
    counter.begin("storing")
    assert [(one.step, one.done, one.total) for one in seen] == [
        ("tables", 0, 250), ("tables", REPORT_ROWS, 250), ("tables", 2 * REPORT_ROWS, 250),
        ("storing", 0, 0),
    ]  # fmt: skip


def test_many_rows_at_once_are_one_report() -> None:
    seen: list[int] = []
    counter = RowCounter(Progress(), lambda one: seen.append(one.done))
    counter.count(REPORT_ROWS - 1)
    assert seen == []
    counter.count(2 * REPORT_ROWS)
    assert seen == [3 * REPORT_ROWS - 1]
