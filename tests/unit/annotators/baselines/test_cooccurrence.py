from hypothesis import given
from hypothesis import strategies as st

from annotators.baselines.cooccurrence import annotate
from annotators.baselines.proteins import SHIPPED_NAMES, read_proteins
from annotators.baselines.sentences import sentences
from annotators.contract import problems
from annotators.matching import Dictionary

KNOWN = Dictionary(read_proteins(SHIPPED_NAMES))


def found_pairs(text):
    return [(hit["dbid_a"], hit["dbid_b"]) for hit in annotate(KNOWN, text)["pairs"]]


def test_sentences_end_at_full_stops_but_not_after_et_al():
    text = "A title\nSmith et al. Found it. It binds."
    assert [text[start:end] for start, end in sentences(text)] == [
        "A title", "Smith et al. Found it.", "It binds.",
    ]  # fmt: skip


def test_the_pair_with_the_verb_between_comes_first():
    text = "Contacts.\nIn cells with TRADD, MDM2 binds p53."
    assert found_pairs(text)[0] == ("P04637", "Q00987")


def test_proteins_in_different_sentences_are_no_pair():
    assert found_pairs("Title.\nMDM2 was absent. Cells bound p53.") == []


def test_a_homodimer_is_a_pair_with_itself():
    assert found_pairs("Dimers.\nIn solution EGFR homodimerizes.") == [("P00533", "P00533")]


def test_act_follows_the_best_pair():
    relevant, confidence = annotate(KNOWN, "MDM2 interacts with p53")["interaction"]
    assert relevant
    assert confidence > 0.5
    assert annotate(KNOWN, "Weather")["interaction"] == [False, 1.0]


WORDS = st.sampled_from(["p53", "MDM2", " binds ", ". ", "\n", " ", "EGFR", " homodimer ", "RAF1"])


@given(st.lists(WORDS).map("".join))
def test_any_text_gives_an_answer_in_the_contract(text):
    assert list(problems(annotate(KNOWN, text))) == []
