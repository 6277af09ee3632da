"""Bootstrap intervals of measures of sums."""

import numpy as np
import pytest

from scoring.cli import main
from scoring.intervals import interval, paired_tests


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def test_the_interval_holds_the_measure_and_repeats() -> None:
    rows = [(1, 2), (0, 2), (2, 2), (1, 2), (1, 3)]
    found = interval(rows, _share, resamples=500)
    assert found == interval(rows, _share, resamples=500)
    assert found.low < 5 / 11 < found.high
    assert str(found) == f"[{found.low:.3f}, {found.high:.3f}]"


def test_nothing_to_resample_has_no_interval() -> None:
    assert interval([], _share) is None
    assert interval([(1, 2)], _share, resamples=0) is None
    assert interval([(0, 0)], _share, resamples=50) is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("ner --gold g --run a --tests", "--tests: expected resamples, and 2 to 300 runs"),
        ("bb --task kb --gold g --run a b --tests --resamples 0", "--tests: expected resamples"),
        ("ppi3d --scores a b --tests", "--tests: expected --gold"),
    ],
)
def test_tests_that_cannot_be_made_are_refused(words, said, capsys):
    assert main(words.split()) == 2
    assert said in capsys.readouterr().err


def test_a_run_without_a_measure_is_not_tested() -> None:
    values = np.array([0.1, 0.2, np.nan])
    [pair] = paired_tests({"a": (0.2, values), "b": (0.1, values / 2), "c": (None, values)}, 3)
    assert (pair.a, pair.b, pair.articles_scored, pair.low) == ("a", "b", 3, pytest.approx(0.05125))
    assert paired_tests({"a": (0.2, values[2:]), "b": (0.1, values[2:])}, 3) == []


def test_a_negative_number_of_resamples_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["ppi3d", "--scores", "x", "--resamples", "-1"])
    assert caught.value.code == 2
    assert "'-1'; expected an integer from 0 to 1000000" in capsys.readouterr().err
