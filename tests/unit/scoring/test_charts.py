"""Charts: what is named, where labels lie, what the files hold, what the clusters are."""

import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text

from scoring import figures, pages, plots
from scoring.analysis import ArticleDifficulty, ArticleRank
from scoring.biocreative import RunScorer
from scoring.charts import MOST_NAMED, Chart, Panel, Scale, Series, best_first, best_named
from scoring.cli import main
from scoring.difficulty import Borders, Cluster, cluster_articles
from scoring.errors import OptionError
from scoring.gold import ActGold, ItemGold
from scoring.labels import Box, place_labels
from scoring.scorecard import Scorecard
from scoring.significance import compare
from scoring.tasks import Classification, Hit, Task
from scoring.teams import best_of_teams


def chart(runs: int) -> Chart:
    """Return points of many runs that lie close together."""
    rng = random.Random(runs)
    scores = [rng.random() / 10 for _ in range(runs)]
    series = [
        Series(
            name=f"run{place} (1/2)", x=[score], y=[score + rng.random() / 50], kind="points",
            style=style, named=style is not None,
        )
        for place, (score, style) in enumerate(zip(scores, best_named(scores), strict=True))
    ]  # fmt: skip
    x = Scale(label="x", low=0.0, high=0.13)  # as much space for names as `figures` leaves
    panel = Panel(x=x, y=Scale(label="y"), series=series)
    return Chart(title="A & B", signature="INT|gold:1<2", panels=[panel])


def test_the_best_are_named_and_the_others_grey() -> None:
    assert best_named([0.1, 0.3, 0.2, 0.3], 3) == [None, 0, 2, 1]
    assert best_named([0.1], 8) == [0]
    styles = best_named(list(range(30)))
    assert sorted(style for style in styles if style is not None) == list(range(MOST_NAMED))
    grey = Series(name="grey", x=[], y=[])
    named = [Series(name=str(style), x=[], y=[], style=style) for style in (1, 0)]
    assert [one.name for one in best_first([*named, grey])] == ["grey", "0", "1"]


@pytest.mark.slow
@pytest.mark.parametrize("runs", [2, 8, 30])
def test_names_cover_neither_each_other_nor_points(runs: int) -> None:
    figure = plots.draw(chart(runs))
    figure.draw_without_rendering()
    (axes,) = figure.axes
    assert len(axes.texts) == min(runs, MOST_NAMED)
    boxes = [Text.get_window_extent(text) for text in axes.texts]  # without their lines
    frame = axes.get_window_extent()
    for place, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:place])
        assert frame.x0 - 1 <= box.x0 <= box.x1 <= frame.x1 + 1
    points = [
        axes.transData.transform((x, y))
        for line in axes.lines
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    ]
    assert not any(box.contains(*point) for box in boxes for point in points)


@given(
    points=st.lists(st.tuples(st.floats(0, 400), st.floats(0, 300)), max_size=12),
    size=st.tuples(st.floats(5, 60), st.floats(5, 15)),
)
def test_placed_labels_lie_within_where_there_is_space(points, size):
    inside = Box(-300, -300, 700, 600)
    places = place_labels(points, [size] * len(points), inside)
    boxes = [
        Box(x + one.dx, y + one.dy, x + one.dx + size[0], y + one.dy + size[1])
        for (x, y), one in zip(points, places, strict=True)
    ]
    for place, box in enumerate(boxes):
        assert shared(box, inside) == pytest.approx(size[0] * size[1])
        assert all(shared(box, other) < 1e-6 for other in boxes[:place])


def shared(one: Box, other: Box) -> float:
    """Return the area that two boxes share."""
    width = min(one.right, other.right) - max(one.left, other.left)
    height = min(one.top, other.top) - max(one.bottom, other.bottom)
    return max(0.0, width) * max(0.0, height)


def test_a_chart_without_space_still_gets_its_labels() -> None:
    places = place_labels([(0.0, 0.0)] * 3, [(50.0, 10.0)] * 3, Box(0, 0, 1, 1))
    assert len(places) == 3


def test_the_legend_has_one_entry_for_the_grey() -> None:
    lines = [
        Series(name=f"run{place}", x=[0.0, 1.0], y=[0.0, place / 30], style=style)
        for place, style in enumerate(best_named(list(range(30))))
    ]
    panel = Panel(x=Scale(label="x"), y=Scale(label="y"), series=lines)
    figure = plots.draw(Chart(title="", signature="", panels=[panel, panel]))
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names == [*(f"run{place}" for place in range(29, 21, -1)), "22 more runs"]


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf", ".html"])
def test_title_and_signature_are_in_the_file(tmp_path: Path, suffix: str) -> None:
    for name in ("one", "two"):
        save = pages.save if suffix == ".html" else plots.save
        save(chart(3), tmp_path / f"{name}{suffix}")
    content = (tmp_path / f"one{suffix}").read_bytes()
    assert content == (tmp_path / f"two{suffix}").read_bytes()
    escaped = suffix in (".svg", ".html")
    assert (b"A &amp; B" if escaped else b"A & B") in content
    assert (b"gold:1&lt;2" if escaped else b"gold:1<2") in content


def test_a_page_needs_no_network_and_has_all_runs(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    pages.save(chart(30), page)
    text = page.read_text()
    assert all(f'"run{place} (1' in text for place in range(30))
    assert not re.search(r"<script[^>]+src=", text)
    assert not re.search(r"<link[^>]+href=", text)
    assert len(text) < 6_000_000
    with pytest.raises(OptionError, match=r"ends in \.html"):
        pages.save(chart(1), tmp_path / "page.txt")


def test_error_bars_end_within_the_unit_interval() -> None:
    rows = [
        ArticleDifficulty(article="a", items=1, runs=2, mean=0.9, deviation=0.3, best=1),
        ArticleDifficulty(article="b", items=1, runs=2, mean=0.1, deviation=0.3, best=1),
    ]
    drawn = figures.difficulty(rows, positives=0, signature="")
    (series,) = drawn.panels[0].series
    assert series.ends == [(pytest.approx(0.6), 1.0), (0.0, pytest.approx(0.4))]


def rank(article: str, mean: float, deviation: float, *, relevant: bool) -> ArticleRank:
    return ArticleRank(
        article=article, relevant=relevant, runs=5, mean=mean, deviation=deviation, high=0.0,
        doubtful=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("mean", "deviation", "relevant", "expected"),
    [
        (5, 1, True, Cluster.EASY),
        (20, 1, True, Cluster.MIDDLING),
        (60, 1, True, Cluster.HARD),
        (5, 1, False, Cluster.HARD),
        (20, 1, False, Cluster.MIDDLING),
        (60, 1, False, Cluster.EASY),
        (5, 21.7, True, Cluster.DISPUTED),
        (5, 21.6, True, Cluster.EASY),
    ],
)
def test_clusters(mean: float, deviation: float, relevant: bool, expected: Cluster) -> None:
    borders = Borders(articles=100, positives=10)
    assert borders.middle == 50.5
    article = rank("a", mean, deviation, relevant=relevant)
    assert borders.cluster(article) is expected


def test_relevant_and_irrelevant_articles_have_a_panel_each() -> None:
    rng = random.Random(4)
    rows = [
        rank(str(place), rng.uniform(1, 100), rng.uniform(0, 30), relevant=place < 10)
        for place in range(100)
    ]
    drawn = figures.difficulty(rows, positives=10, signature="")
    result = [panel.title.split("\n")[0] for panel in drawn.panels]
    assert result == ["10 relevant articles", "90 irrelevant articles"]
    clusters = cluster_articles(rows, Borders(articles=100, positives=10))
    for cluster, found in clusters.items():
        shown = [one for panel in drawn.panels for one in panel.series if one.name == cluster]
        assert sum(len(one.x) for one in shown) == len(found)
    assert sum(map(len, clusters.values())) == 100


def act_card(name: str, *listed: str) -> Scorecard:
    """Return a run that ranks articles in this order; only `a` is relevant."""
    scorer = RunScorer("ACT", ActGold(relevant={"a": True, "b": False}), run=name)
    for rank_, article in enumerate(listed, start=1):
        scorer.put(article, Classification(True, 0.5, rank_))
    return scorer.scorecard()


def test_a_team_has_its_best_run() -> None:
    cards = [act_card("T1_a", "a", "b"), act_card("T1_b", "b", "a"), act_card("T2_a", "b", "a")]
    assert [card.run for card in best_of_teams(cards, r"^(T\d)")] == ["T1_a", "T2_a"]
    assert best_of_teams(cards, "nothing") == cards


def test_a_plot_needs_a_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["plot", "--task", "INT", "--gold", "none", "none"]
    assert main(words) == 2
    assert "expected --out or --html" in capsys.readouterr().err
    assert main([*words, "--html", str(tmp_path / "a.svg")]) == 2
    assert "ends in .html" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["_hidden", "$x$", r"a$\bad$", "<b>bold<b>"])
@pytest.mark.parametrize("kind", ["curves", "scatter", "intervals"])
def test_any_name_of_a_run_is_shown_as_it_is(kind: str, name: str) -> None:
    gold = ItemGold(task=Task.INT, items={"a": frozenset({"P1"})})
    cards = []
    for run, item in ((name, "P1"), ("other", "P2")):
        scorer = RunScorer("INT", gold, run=run)
        scorer.put("a", [Hit(item, 1, 0.5)])
        cards.append(scorer.scorecard())
    if kind == "intervals":
        drawn = figures.intervals(compare(gold, cards, resamples=10))
    else:
        drawn = getattr(figures, kind)(cards)
    picture = plots.draw(drawn)
    picture.draw_without_rendering()  # raises for what is no formula
    shown = [text.get_text().replace(r"\$", "$") for text in picture.findobj(Text)]
    assert f"{name} (1/1)" in shown
    written = str(pages.draw(drawn).to_plotly_json())
    assert "<b>" not in written
    assert ("&lt;b&gt;bold" in written) is ("<b>" in name)


def test_clusters_without_articles_are_not_in_the_legend() -> None:
    rows = [rank("a", 1, 0, relevant=True), rank("b", 2, 0, relevant=False)]
    drawn = figures.difficulty(rows, positives=1, signature="")
    named = {one.name for panel in drawn.panels for one in panel.series if one.kind == "points"}
    assert named == {Cluster.EASY}
