from dataclasses import replace

import pytest

from metaserver.base.states import ANSWERED, Outcome, ServerState
from metaserver.web.public import monitor
from metaserver.web.public.monitor import SORTED, MonitorChoice, Totals, server_id
from tests.unit.metaserver.web.challenge import Challenge


def test_totals_add_up_the_rows():
    shown = Challenge().monitor()
    totals = Totals.of(shown)
    assert totals.servers == 11
    assert totals.up == 9  # one is down, one is paused
    assert totals.done == sum(server.done for server in shown.servers)
    assert totals.errors == sum(
        count
        for server in shown.servers
        for outcome, count in server.outcomes.items()
        if outcome not in ANSWERED
    )
    assert (
        totals.partial == sum(one.outcomes.get(Outcome.PARTIAL, 0) for one in shown.servers) == 18
    )
    assert Outcome.PARTIAL not in totals.outcomes
    assert list(totals.outcomes.values()) == sorted(totals.outcomes.values(), reverse=True)
    assert totals.per_minute == pytest.approx(sum(shown.throughput[-12:]) / 12)


def test_totals_of_nothing():
    totals = Totals.of(Challenge(names=[]).monitor())
    assert (totals.up, totals.total, totals.errors, totals.per_minute) == (0, 0, 0, None)


@pytest.mark.parametrize(
    ("done", "total", "shown"),
    [(0, 0, "0.0"), (2_999, 3_000, "99.9"), (3_000, 3_000, "100.0"), (29, 100, "29.0")],
)
def test_a_queue_is_at_100_percent_only_when_every_article_is_answered(done, total, shown):
    assert monitor.percentage(done, total) == shown


def test_filter_finds_by_state_and_part_of_the_name():
    servers = Challenge().monitor().servers
    assert [s.name for s in servers if MonitorChoice(find="tEaM 1").shows(s)] == [
        "Team 10 · S03", "Team 13 · S04", "Team 14 · S05", "Team 16 · S06", "Team 18 · S07",
    ]  # fmt: skip
    assert [s.name for s in servers if MonitorChoice(state="down").shows(s)] == ["Team 14 · S05"]


def test_servers_are_ordered_by_any_figure_with_those_without_one_last():
    servers = Challenge().monitor().servers
    servers = [replace(servers[0], p95=None), *servers[1:]]
    falling = MonitorChoice.parse({"sort": "-p95"}).ordered(servers)
    assert falling[-1] is servers[0]
    times = [server.p95 for server in falling[:-1]]
    assert times == sorted(times, reverse=True)
    assert MonitorChoice.parse({"sort": "p95"}).ordered(servers)[-1] is servers[0]
    assert MonitorChoice.parse({"sort": "state"}).ordered(servers)[0].state is ServerState.DOWN
    for column in SORTED:
        chosen = MonitorChoice.parse({"sort": column.key})
        assert {one.name for one in chosen.ordered(servers)} == {one.name for one in servers}
    assert MonitorChoice().ordered(servers) is servers


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("state", ["dead"], "is none of"),
        ("outcome", ["bad"], "is none of"),
        ("sort", ["times"], "Cannot sort by times"),
        ("rows", ["0", "x", "1" * 10], "rows is the number"),
    ],
)
def test_a_state_outcome_order_or_row_that_there_is_not_is_refused(name, values, said):
    for value in values:
        with pytest.raises(ValueError, match=said):
            MonitorChoice.parse({name: value})


def test_another_choice_begins_with_the_first_row():
    chosen = MonitorChoice.parse({"state": "up", "sort": "-p95", "rows": "101"})
    assert chosen.query(rows=201) == "state=up&sort=-p95&rows=201"
    assert chosen.query(state="down") == "state=down&sort=-p95"
    assert chosen.query(state="", sort=None) == ""


def test_ids_of_rows_are_short_and_differ():
    ids = {server_id(f"Team {number}") for number in range(10_000)}
    assert len(ids) == 10_000
    assert {len(one) for one in ids} == {10}


def test_strip_and_sparkline_tell_answers_from_failures():
    server = Challenge().monitor().servers[4]
    marks, times = monitor.marks(server), monitor.response_times(server)
    assert server.state is ServerState.DOWN
    assert {mark for mark, time in zip(marks, times, strict=True) if time is None} == {"bad"}
    assert {mark for mark, time in zip(marks, times, strict=True) if time} <= {"ok", "partial"}
    assert monitor.marks_label(server).startswith("last 48 attempts: ")


def test_every_line_of_the_error_log_has_an_id_of_its_own():
    errors = Challenge().monitor().errors
    assert len({monitor.error_id(error) for error in errors}) == len(errors) > 50


def test_histogram_ticks_lie_within_the_edges():
    shown = Challenge().monitor()
    assert monitor.histogram_ticks(shown) == [("10 s", 10), ("1 min", 60), ("10 min", 600)]


def test_a_rows_slots_tell_what_the_row_shows():
    server = Challenge().monitor().servers[4]
    slots = monitor.brief_slots(server)
    assert slots["state"] == slots["@data-value"] == slots["pill@data-state"] == "down"
    assert (slots["@data-announce"], slots["note"]) == (f"{server.name} is down", server.note)
    assert not slots.keys() & (slots := monitor.slots(server)).keys()
    assert (slots["network"], slots["compute"]) == ("2 %", "98 %")
    assert slots["done"] == f"{server.done}/595"
    assert slots["bad@d"].startswith("M")
    assert slots["errors"] == str(sum(monitor.errors(server).values()))


def test_a_row_without_errors_tells_its_partial_answers():
    server = replace(Challenge().monitor().servers[0], outcomes={Outcome.OK: 9, Outcome.PARTIAL: 2})
    slots = monitor.slots(server)
    assert (slots["errors"], slots["worst"]) == ("0", "2 partial")
