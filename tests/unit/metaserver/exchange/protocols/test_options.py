"""The options that protocols share: a scale of scores that is none is refused."""

import pytest

from metaserver.exchange.protocols.options import AnswerOptions, read_options


def test_scores_are_mapped_to_the_scale_of_the_contract() -> None:
    options = read_options("score_min = -10\nscore_max = 10", AnswerOptions)
    assert [options.scaled(value) for value in (-10, "5", 10.0)] == [0.0, 0.75, 1.0]
    assert options.scaled(None) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("score_min = 1", "score_min must be below score_max"),
        ("score_min = nan", "score_min and score_max must be finite numbers"),
        ("score_max = nan", "score_min and score_max must be finite numbers"),
        ("score_max = inf", "score_min and score_max must be finite numbers"),
        ("score_min = -1e308\nscore_max = 1e308", "score_min and score_max must be finite numbers"),
    ],
)
def test_a_scale_that_is_none_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_options(text, AnswerOptions)
