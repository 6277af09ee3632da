import pytest

from annotators.contract import malformed, problems

HIT = {"dbid": "P04637", "rank": 1, "confidence": 0.5}
PAIR = {"dbid_a": "P04637", "dbid_b": "Q00987", "rank": 1, "confidence": 0.5}


def test_a_full_answer_has_no_problem():
    answer = {
        "interaction": [True, 0.9],
        "normalizations": [HIT, {"dbid": "Q00987", "confidence": 1.0, "taxid": 9606}],
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
        ({"proteins": []}, "proteins: unknown member"),
        ({"pairs": {}}, "pairs: expected array, got struct"),
        ({"interaction": [True]}, "interaction: expected [boolean relevant, double confidence]"),
        ({"interaction": [1, 0.5]}, "interaction[0]: expected boolean, got int 1"),
        ({"interaction": [True, 0.0]}, "interaction[1]: expected a confidence in ]0, 1], got 0.0"),
        ({"normalizations": ["P04637"]}, "normalizations[0]: expected struct, got string"),
        ({"normalizations": [HIT | {"rank": "x"}]}, "normalizations[0].rank: expected int, got"),
        ({"normalizations": [HIT | {"rank": 0}]}, "normalizations[0].rank: expected 1 or more"),
        ({"normalizations": [HIT | {"rank": []}]}, "normalizations[0].rank: expected int, got"),
        ({"normalizations": [{"dbid": "P04637"}]}, "normalizations[0].confidence: missing"),
        ({"normalizations": [HIT | {"score": 1}]}, "normalizations[0].score: unknown member"),
        (
            {"normalizations": [HIT, HIT | {"dbid": "Q00987"}]},
            "normalizations[1].rank: 1 again, first at index 0",
        ),
        (
            {"pairs": [PAIR, {"dbid_a": "Q00987", "dbid_b": "P04637", "confidence": 0.1}]},
            "pairs[1]: ('P04637', 'Q00987') again, first at index 0",
        ),
    ],
)
def test_each_problem_names_its_path(answer, expected):
    found = list(problems(answer))
    assert len(found) == 1
    assert found[0].startswith(expected)


def test_all_problems_are_collected():
    wrong = {"normalizations": [{"dbid": 7, "rank": 1.5, "confidence": "high"}], "pairs": 1}
    assert len(list(problems(wrong))) == 4


def test_identifiers_have_the_form_of_an_accession():
    names = ["Q00987", "A0A023GPI8", "GeneID:7157", "ncbigene:7157", "MDM2_HUMAN", "p04637", "", 7]
    answer = {
        "normalizations": [{"dbid": name} for name in names],
        "pairs": ["P04637", {"dbid_a": "MDM2", "dbid_b": "P04637-2"}],
    }
    places = [found.partition(":")[0] for found in malformed(answer)]
    assert places == [
        "normalizations[4].dbid",
        "normalizations[5].dbid",
        "normalizations[6].dbid",
        "pairs[1].dbid_a",
        "pairs[1].dbid_b",
    ]
    assert [*malformed({"normalizations": "none"}), *malformed(None)] == []
