"""Charts drawn without a library: every kind of series, any name, the same bytes again."""

from xml.etree import ElementTree as ET

import pytest

from scoring import drawings
from scoring.charts import Chart, Panel, Scale, Series, unit_scale

SVG = "{http://www.w3.org/2000/svg}"
NAMES = ['a<b>&"c"', "$x$", "]]>", "<script>alert(1)</script>"]


def chart(*series: Series, x: Scale | None = None, y: Scale | None = None) -> Chart:
    panel = Panel(
        x=x or unit_scale("recall"), y=y or unit_scale("precision"), series=series, title="a\nb"
    )
    return Chart(title="A & B", signature="INT|gold:1<2", panels=[panel])


def texts(drawn: ET.Element) -> list[str]:
    return [one.text or "" for one in drawn.iter(f"{SVG}text")]


def test_any_name_is_shown_as_it_is() -> None:
    lines = [Series(name=name, x=[0, 1], y=[1, 0], style=place) for place, name in enumerate(NAMES)]
    points = [
        Series(name=f"{name}!", x=[0.5], y=[0.5], kind="points", style=place, named=True)
        for place, name in enumerate(NAMES)
    ]
    drawn = ET.fromstring(drawings.svg(chart(*lines, *points)))
    assert {*NAMES, *(f"{name}!" for name in NAMES)} <= set(texts(drawn))
    assert not list(drawn.iter(f"{SVG}script"))


def test_a_file_says_what_it_shows_and_a_part_of_a_page_is_no_file() -> None:
    one = chart(Series(name="r", x=[0, 1], y=[1, 0], style=0))
    drawn = ET.fromstring(drawings.svg(one))
    assert drawn.findtext(f"{SVG}title") == drawn.get("aria-label") == "A & B"
    assert drawn.findtext(f"{SVG}desc") == "INT|gold:1<2"
    assert drawings.svg(one) == drawings.svg(one)
    assert "xmlns" not in drawings.svg(one, standalone=False)


@pytest.mark.parametrize("count", [1, 9])
def test_equal_points_at_the_corner_are_drawn_within_the_frame(count: int) -> None:
    points = [
        Series(
            name=f"run{place}", x=[1.0], y=[1.0], kind="points", style=place if place < 8 else None,
            named=place < 8,
        )
        for place in range(count)
    ]  # fmt: skip
    drawn = ET.fromstring(drawings.svg(chart(*points)))
    width, height = map(float, drawn.attrib["viewBox"].split()[2:])
    for text in drawn.iter(f"{SVG}text"):
        assert 0 <= float(text.attrib["x"]) <= width
        assert 0 <= float(text.attrib["y"]) <= height


def test_every_kind_of_series_and_axis() -> None:
    grey = [Series(name=f"g{place}", x=[1, 2], y=[0.1, 0.2]) for place in range(3)]
    rule = Series(name="rule", x=[1, 1], y=[0, 1], kind="rule", style=7)
    bars = Series(name="bars", x=[1, 2], y=[0.3, 0.4], kind="bars", style=0)
    whiskers = Series(
        name="s", x=[0.5], y=[0], kind="points", style=0, ends=[(0.4, 0.6)], ends_of="x"
    )
    cells = Series(name="c", x=[0, 1], y=[0, 1], kind="cells", style=0, weights=[0.2, 1])
    logarithmic = Scale(label="minutes", low=0.1, high=20, logarithmic=True)
    named = Scale(label="", low=-0.5, high=1.5, names=["one", "two"])
    first = texts(ET.fromstring(drawings.svg(chart(*grey, rule, bars, x=logarithmic))))
    assert {"3 more runs", "rule", "0.2", "10"} <= set(first)
    assert "bars" not in first
    second = texts(ET.fromstring(drawings.svg(chart(cells, whiskers, x=named, y=named))))
    assert second.count("one") == 2
