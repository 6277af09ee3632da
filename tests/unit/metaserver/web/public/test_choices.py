from dataclasses import fields, replace

import pytest

from metaserver.base.boards import OWN_COLUMNS
from metaserver.web.public.choices import Charted, Choice, Show, Sort

VIEWS = ["raw", "mapped"]
BY_RUN = Sort(key="run", descending=True)


@pytest.mark.parametrize(
    ("query", "choice"),
    [
        ({}, Choice()),
        ({"view": "mapped"}, Choice(view="mapped")),
        ({"show": "best", "sort": "-run"}, Choice(show=Show.BEST, sort=BY_RUN)),
        ({"chart": "all"}, Choice(chart=Charted.ALL)),
        ({"rows": "101"}, Choice(rows=101)),
        ({"view": "", "show": "", "sort": ""}, Choice()),
    ],
)
def test_a_choice_is_read_from_the_query(query, choice):
    assert Choice.parse(query, VIEWS, OWN_COLUMNS) == choice


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"view": "both"}, "There is no view both: use one of raw, mapped."),
        ({"show": "mine"}, "no choice of runs mine: use one of all, online, best."),
        ({"chart": "few"}, "no choice of charts few: use one of placed, all."),
        ({"rows": "-1"}, "rows is the number of the first row"),
        ({"sort": "-x"}, "Cannot sort by x: use one of place, run, mode, articles."),
    ],
)
def test_what_cannot_be_chosen_is_told_with_what_can(query, message):
    with pytest.raises(ValueError, match=message):
        Choice.parse(query, VIEWS, OWN_COLUMNS)


def test_the_query_leaves_out_what_is_usual():
    assert str(Choice()) == ""
    chosen = Choice(view="mapped", show=Show.BEST, sort=BY_RUN)
    assert str(chosen) == "view=mapped&show=best&sort=-run"
    assert str(chosen.but(view="raw", sort=Sort())) == "show=best"


def test_another_choice_begins_with_the_first_row():
    chosen = Choice(view="mapped", rows=101)
    assert str(chosen) == str(chosen.but()) == "view=mapped&rows=101"
    assert str(chosen.but(view="raw")) == ""
    assert chosen.query(rows=201) == "view=mapped&rows=201"


@pytest.mark.parametrize("field", fields(Choice), ids=lambda field: field.name)
def test_only_the_order_of_rows_leaves_a_kept_row_as_it_is(field):
    other = replace(Choice(), **{field.name: "chosen otherwise"})
    assert (other.unordered == Choice()) is (field.name in ("sort", "rows"))
