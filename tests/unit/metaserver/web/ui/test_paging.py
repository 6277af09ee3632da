import pytest

from metaserver.web.ui.paging import Page, first_row


@pytest.mark.parametrize(("text", "number"), [("", 1), ("1", 1), ("101", 101), ("0007", 7)])
def test_the_first_row_is_read_from_the_address(text, number):
    assert first_row({"rows": text}) == first_row({"rows": text, "x": "y"}) == number


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "x", "²", "٣", "1" * 5_000])
def test_what_is_no_row_is_refused(text):
    with pytest.raises(ValueError, match="rows is the number of the first row"):
        first_row({"rows": text})


@pytest.mark.parametrize(
    ("first", "total", "shown"),
    [
        (1, 0, []), (1, 3, [0, 1, 2]), (1, 250, range(100)), (101, 250, range(100, 200)),
        (150, 250, range(100, 200)), (201, 250, range(200, 250)), (9_999, 250, range(200, 250)),
        (101, 100, range(100)),
    ],
)  # fmt: skip
def test_a_page_has_a_hundred_rows_and_there_is_always_one(first, total, shown):
    page = Page(first=first, total=total)
    assert list(page.of(range(total))) == list(shown)
    assert page.number == page.start + 1
    assert page.several is (total > 100)


def test_pages_near_the_present_one_are_linked_and_the_first_and_the_last():
    linked = Page(first=501, total=1_950).linked
    assert [first for first, _ in linked] == [1, 301, 401, 501, 601, 701, 1_901]
    assert linked[-1] == (1_901, 1_950)
    assert Page(first=1, total=101).linked == [(1, 100), (101, 101)]
