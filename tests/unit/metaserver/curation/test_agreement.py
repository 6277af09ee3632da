"""Agreement of curators, against published definitions and the package krippendorff."""

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaserver.curation.agreement import CuratorWork, alpha_of_decisions, measure
from metaserver.curation.decisions import fold
from scoring import OptionError, Task
from tests.unit.metaserver.curation.samples import EGFR, GRB2, SHC1, event


def work(curator: str, articles) -> CuratorWork:
    """Make a curator's work: by article, `+P1 -P2`; `=1` and `=0` are its class."""
    states = {}
    for article, decisions in articles.items():
        log = []
        for number, word in enumerate(decisions.split()):
            if word[0] == "=":
                log.append(event(number, "relevant", relevant=word == "=1"))
            else:
                log.append(event(number, "accept" if word[0] == "+" else "reject", "INT", word[1:]))
        states[article] = fold(log)
    return CuratorWork(curator=curator, states=states)


A = work("a", {"1": f"+{EGFR} +{GRB2} =1", "2": f"-{EGFR} +{SHC1} =0", "3": f"+{EGFR} =1"})
B = work("b", {"1": f"+{EGFR} -{GRB2} =1", "2": f"-{EGFR} +{SHC1} =1", "4": f"+{EGFR} =1"})


def test_pairs_are_measured_on_common_articles() -> None:
    found = measure([A, B], "INT", resamples=0)
    [one] = found.measured.pairs
    assert (one.articles, one.measures["f_score"].value) == (2, pytest.approx(2 * 2 / 5))
    assert one.measures["masi"].value == pytest.approx((2 / 3 / 2 + 1) / 2)
    assert [(each.article, each.curators) for each in found.articles] == [("1", 2), ("2", 2)]
    assert found.articles[0].value == pytest.approx(1 / 3)


def test_pairs_are_also_measured_with_their_methods() -> None:
    works = [
        CuratorWork(
            curator=name,
            states={
                "1": fold(
                    [
                        event(1, "pair", "IPT", EGFR, GRB2, method=method),
                        event(2, "pair", "IPT", EGFR, SHC1, method="MI:0018"),
                        event(3, "pair", "IPT", EGFR, EGFR),
                    ]
                )
            },
        )
        for name, method in (("a", "MI:0096"), ("b", "MI:0019"))
    ]
    [one] = measure(works, "IPT", resamples=0).measured.pairs
    assert one.measures["f_score"].value == 1
    assert one.measures["methods_f_score"].value == pytest.approx(2 / 3)


def test_classes_have_kappa_and_no_alpha_of_decisions() -> None:
    found = measure([A, B], "ACT", resamples=0)
    assert found.decisions is None
    assert "cohen_kappa" in found.measured.pairs[0].measures
    assert [(each.article, each.value) for each in found.articles] == [("2", 0.0), ("1", 1.0)]


def test_intervals_do_not_depend_on_the_order_of_articles() -> None:
    decided = [(f"+P{n} +Q{n}", f"{'+-'[n % 3 > 0]}P{n} {'+-'[n % 5 > 0]}Q{n}") for n in range(12)]
    works = [work("ab"[at], {str(n): one[at] for n, one in enumerate(decided)}) for at in (0, 1)]
    turned = [
        CuratorWork(curator=one.curator, states=dict(reversed(one.states.items()))) for one in works
    ]
    one, other = (measure(both, "INT", resamples=50) for both in (works, turned))
    assert (one.decisions, one.measured) == (other.decisions, other.measured)


@settings(max_examples=60)
@given(st.lists(st.lists(st.sampled_from("+- "), min_size=3, max_size=3), min_size=1, max_size=6))
def test_alpha_is_that_of_the_package(votes) -> None:
    """Each row is an item of one article with the decisions of three curators."""
    works = [
        work(
            f"c{curator}",
            {
                str(place // 2): " ".join(
                    f"{row[curator]}P{at}"
                    for at, row in enumerate(votes)
                    if at // 2 == place // 2 and row[curator] != " "
                )
                for place in range(len(votes))
            },
        )
        for curator in range(3)
    ]
    found = alpha_of_decisions(works, Task.INT, resamples=0)
    values = {"+": 1.0, "-": 0.0, " ": np.nan}
    reliability = np.array([[values[row[curator]] for row in votes] for curator in range(3)])
    pairable = (~np.isnan(reliability)).sum(axis=0) > 1
    seen = set(reliability[:, pairable].ravel()) - {np.nan}
    if len({one for one in seen if one == one}) < 2:
        assert found.value is None
    else:
        expected = krippendorff.alpha(reliability, level_of_measurement="nominal")
        assert found.value == pytest.approx(expected)


def test_one_curator_does_not_agree() -> None:
    with pytest.raises(OptionError):
        measure([A], "INT", resamples=0)
    with pytest.raises(OptionError, match="twice"):
        measure([A, A], "INT", resamples=0)
