"""A sum of scores has the same bits on every Python."""

from scoring.ranking import added


def test_values_are_added_one_after_the_other() -> None:
    assert added([1e16, 1.0, -1e16]) == 0.0  # `sum` says 1.0 from Python 3.12 on
    assert added([]) == 0.0
