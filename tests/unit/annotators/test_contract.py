import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotators.contract import checked, problems
from metaserver.base.states import ANSWERED
from metaserver.exchange.wire.validation import check
from metaserver.tasks.plugin import answered_tasks
from metaserver.uniprot.vocabulary import FormatVocabulary

HIT = {"dbid": "P04637", "rank": 1, "confidence": 0.5}
PAIR = {"dbid_a": "P04637", "dbid_b": "Q00987", "rank": 1, "confidence": 0.5}


def test_a_full_answer_has_no_problem():
    answer = {
        "interaction": [True, 0.9],
        "normalizations": [HIT, {"dbid": "Q00987", "rank": 2, "confidence": 1.0, "taxid": 9606}],
        "pairs": [PAIR],
        "mentions": [
            {"offset": 0, "mention": "p53"},
            {"offset": 9, "mention": "p21", "type": "protein", "length": 3, "confidence": 0.5},
        ],
    }
    assert list(problems(answer)) == []


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("P04637", "answer: expected struct, got string"),
        ({"pairs": {}}, "pairs: expected array, got struct"),
        ({"interaction": [True]}, "interaction: expected [boolean relevant, double confidence]"),
        ({"interaction": [7, 0.5]}, "interaction[0]: expected boolean, got int 7"),
        (
            {"interaction": [True, 0.0]},
            "interaction[1]: expected a confidence above 0 and up to 1, got 0.0",
        ),
        ({"normalizations": ["P04637"]}, "normalizations[0]: expected struct, got string"),
        ({"normalizations": [HIT | {"rank": "x"}]}, "normalizations[0].rank: expected int, got"),
        ({"normalizations": [HIT | {"rank": 0}]}, "normalizations[0].rank: expected 1 or more"),
        ({"normalizations": [HIT | {"rank": []}]}, "normalizations[0].rank: expected int, got"),
        ({"normalizations": [{"dbid": "P04637"}]}, "normalizations[0].confidence: missing"),
        ({"normalizations": [HIT | {"confidence": float("nan")}]}, "normalizations[0].confidence:"),
        (
            {"normalizations": [HIT, HIT | {"dbid": "Q00987"}]},
            "normalizations[1].rank: 1 again, first in normalizations[0]",
        ),
        (
            {"pairs": [PAIR, PAIR | {"dbid_a": "Q00987", "dbid_b": "P04637", "rank": 2}]},
            "pairs[1]: ('P04637', 'Q00987') again, first in pairs[0]",
        ),
        (
            {"normalizations": [HIT, {"dbid": "Q00987", "confidence": 0.5}]},
            "normalizations[1].rank: missing; other hits of the list have a rank",
        ),
        (
            {"mentions": [{"offset": 0, "mention": "p53", "length": 4}]},
            "mentions[0].length: got 4, but the mention has 3 code points",
        ),
    ],
)
def test_each_problem_names_its_path(answer, expected):
    found = list(problems(answer))
    assert len(found) == 1
    assert found[0].startswith(expected)


def test_all_problems_are_collected():
    wrong = {"normalizations": [{"dbid": [], "rank": 1.5, "confidence": "high"}], "pairs": 1}
    assert len(list(problems(wrong))) == 4


def test_identifiers_have_the_form_of_an_accession():
    names = ["Q00987", "A0A023GPI8", "GeneID:7157", "ncbigene:7157", "MDM2_HUMAN", "p04637", "", 7]
    pair = {"dbid_a": "MDM2", "dbid_b": "P04637-2", "confidence": 0.5}
    answer = {
        "normalizations": [{"dbid": name, "confidence": 0.5} for name in names],
        "pairs": [pair],
    }
    found = checked(answer)
    assert [line.partition(":")[0] for line in found.dropped] == [
        "normalizations[4].dbid", "normalizations[5].dbid", "normalizations[6].dbid",
        "normalizations[7].dbid", "pairs[0].dbid_a", "pairs[0].dbid_b",
    ]  # fmt: skip
    assert not found.refused
    assert len(found.answer["normalizations"]) == 4
    assert found.answer["pairs"] == []


@pytest.mark.parametrize("answer", [None, [], {}, {"interaction": []}, {"pairs": None, "made": 1}])
def test_an_answer_without_hits_is_right(answer):
    assert not checked(answer).refused
    assert not checked(answer).answer.get("interaction")


def test_an_answer_without_a_valid_hit_is_refused():
    assert checked({"normalizations": [HIT | {"dbid": "MDM2"}]}).refused
    assert checked({"normalizations": [HIT | {"dbid": "MDM2"}], "interaction": [True, 7.0]}).refused
    assert not checked({"normalizations": [HIT | {"dbid": "MDM2"}, HIT]}).refused


HITS = st.fixed_dictionaries(
    {},
    optional={
        "dbid": st.sampled_from(["P04637", "Q00987", "MDM2", "", 7, None]),
        "rank": st.sampled_from([1, 2, 0, 1.0, 1.5, "2", "x", None, [], True]),
        "confidence": st.sampled_from(
            [0.5, 1, 0, 1.5, "0.5", "5e-1", "1_0", "nan", None, True, {}]
        ),
        "taxid": st.sampled_from([9606, "9606", "x"]),
        "score": st.just(1),
    },
)
MENTIONS = st.fixed_dictionaries(
    {"type": st.sampled_from(["gene", "gene", "", "=a", 7, [], "a\tb"])},
    optional={
        "offset": st.sampled_from([0, 9, -1, 3.0, "7", "x", 2.5]),
        "mention": st.sampled_from(["p53", "", 53, None, {}]),
        "length": st.sampled_from([3, 4, "3", None, "x"]),
        "section": st.sampled_from(["title", 7, []]),
    },
)
ANSWERS = st.fixed_dictionaries(
    {},
    optional={
        "interaction": st.lists(
            st.sampled_from([True, 0, 1, "true", "no", 0.5, "0.5", 7, None]), max_size=3
        ),
        "normalizations": st.lists(HITS, max_size=3) | st.just("none"),
        "mentions": st.lists(MENTIONS, max_size=3) | st.none(),
        "made": st.just("by hand"),
        "meta": st.sampled_from([{}, 7, {"cost": []}]),
    },
)


@given(ANSWERS)
def test_a_hub_takes_the_same_answers_and_keeps_the_same_hits(answer):
    """The check is wrong about no answer: the hub's own decides."""
    hubs = check(answer, list(answered_tasks().values()), FormatVocabulary())
    found = checked(answer)
    assert found.refused is (hubs.outcome not in ANSWERED), hubs
    if not found.refused:
        kept = found.sent - len(found.lost)
        assert (found.sent, kept) == (hubs.hits_kept + hubs.hits_dropped, hubs.hits_kept), hubs
