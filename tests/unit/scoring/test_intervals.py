"""Bootstrap intervals of measures of sums."""

import pytest

from scoring.cli import main
from scoring.intervals import interval


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


def test_a_negative_number_of_resamples_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["ppi3d", "--scores", "x", "--resamples", "-1"])
    assert caught.value.code == 2
    assert "'-1'; expected an integer from 0 to 1000000" in capsys.readouterr().err
