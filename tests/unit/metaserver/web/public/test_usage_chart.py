"""The chart of quality against cost."""

from metaserver.base.boards import BoardRow, Column
from metaserver.base.usage import RunUsage
from metaserver.web.public.usage_chart import UsageChart
from metaserver.web.ui.charts import LogAxis, scatter

SCORE = Column(key="f", heading="F")
ERRORS = Column(key="f", heading="Errors", rising=True)


def row(run: str, score: float | None, usage: RunUsage | None) -> BoardRow:
    return BoardRow(
        run=run, place=1, articles_scored=1, articles_in_gold=1, values={"f": score}, usage=usage
    )


def priced(cost: float, tokens: float = 10.0) -> RunUsage:
    return RunUsage(
        articles=3, tokens_in=tokens, tokens_out=0.0, cost=cost, currency="USD", priced=3
    )


def chart(*rows: BoardRow, column: Column = SCORE) -> UsageChart:
    names = {one.run: f"team · {one.run}" for one in rows}
    series = {name: number for number, name in enumerate(names.values())}
    return UsageChart(rows=rows, column=column, series=series, names=names)


CHEAP, GOOD, DEAR = (
    row("cheap", 0.4, priced(0.001)), row("good", 0.8, priced(0.1)), row("dear", 0.7, priced(2.0)),
)  # fmt: skip


def test_runs_that_none_beats_for_as_little_are_on_the_line() -> None:
    found = chart(DEAR, GOOD, CHEAP)
    assert found.frontier() == [(0.001, 0.4), (0.1, 0.8)]
    assert {one.name: one.efficient for one in found.table()} == {
        "team · dear": False, "team · good": True, "team · cheap": True,
    }  # fmt: skip


def test_of_an_error_rate_the_lowest_is_the_best() -> None:
    assert chart(DEAR, GOOD, CHEAP, column=ERRORS).frontier() == [(0.001, 0.4)]


def test_of_equal_cost_the_better_is_on_the_line() -> None:
    assert chart(row("a", 0.4, priced(0.1)), GOOD).frontier() == [(0.1, 0.8)]


def test_without_costs_tokens_count() -> None:
    free = chart(
        row("a", 0.4, RunUsage(articles=1, tokens_in=90.0, tokens_out=10.0)),
        row("half", 0.9, RunUsage(articles=1, tokens_in=90.0)),
        row("unscored", None, RunUsage(articles=1, tokens_in=90.0, tokens_out=10.0)),
    )
    assert not free.priced
    assert [(point.x, point.y) for point in free.points()] == [(100.0, 0.4)]
    assert [one.tokens_out for one in free.table()] == ["10", "n/a", "10"]
    assert free.axes()[0].label == "Tokens of an article (declared by the team)"
    assert list(free.legend()) == ["team · a"]


def test_a_run_that_costs_nothing_is_in_the_table_alone() -> None:
    found = chart(GOOD, row("free", 0.9, priced(0.0)))
    assert [point.name for point in found.points()] == ["team · good"]
    assert [one.cost for one in found.table()] == ["0.1 USD", "0 USD"]


def test_a_logarithmic_axis_has_round_ticks() -> None:
    axis = LogAxis.over("x", [0.003, 0.4])
    assert (axis.low, axis.high) == (-3, 0)
    assert [axis.text(tick) for tick in axis.ticks()] == ["0.001", "0.01", "0.1", "1"]
    assert axis.share(0.001) == 0
    assert axis.share(1) == 1
    one = LogAxis.over("x", [1_000.0])
    assert [one.text(tick) for tick in one.ticks()] == ["1,000", "2,000", "5,000", "10,000"]
    wide = LogAxis.over("x", [1e-12, 1e6])
    assert len(wide.ticks()) <= 10


def test_the_line_is_drawn_in_steps() -> None:
    found = chart(GOOD, CHEAP)
    x, y = found.axes()
    drawn = scatter(found.points(), x, y, "label", found.frontier())
    assert '<path class="frontier" d="M' in drawn
    assert "team · good: 0.800, 0.1 USD" in drawn
    assert 'class="frontier"' not in scatter(found.points(), x, y, "label")
