import pytest

from metaserver.web.ui import formatting


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0, "0.000"),
        (0.042, "0.042"),
        (1.25, "1.25"),
        (53.21, "53.2"),
        (168.4, "168"),
        (3e-5, "<0.001"),
    ],
)
def test_figure(value, text):
    assert formatting.figure(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.25, "0.25 s"),
        (45, "45 s"),
        (600, "10 min"),
        (12600, "3.5 h"),
        (3e5, "3.47 d"),
    ],
)
def test_duration(value, text):
    assert formatting.duration(value) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(None, "–"), (0, "0 %"), (0.001, "< 1 %"), (0.42, "42 %"), (0.9999, "> 99 %"), (1, "100 %")],
)
def test_only_all_is_100_percent(share, text):
    assert formatting.percent(share) == text


def test_a_moment_in_a_zone():
    assert formatting.in_zone(1_790_000_000, "Europe/Madrid") == "2026-09-21 16:13 Europe/Madrid"


@pytest.mark.parametrize(("value", "text"), [(None, "–"), (4.56e-6, "4.56e-06"), (0.5, "0.5")])
def test_small(value, text):
    assert formatting.small(value) == text


def test_moments_are_utc():
    assert formatting.clock(1_790_000_000) == "14:13:20"
    assert formatting.moment(1_790_000_000) == "2026-09-21T14:13:20Z"


def test_element_ids_have_no_white_space_and_differ():
    names = ["Team 7", "Team%207", "Team\t7", "<b>", "七"]
    ids = [formatting.element_id("s", name) for name in names]
    assert len(set(ids)) == len(names)
    assert not any(character.isspace() for id_ in ids for character in id_)
