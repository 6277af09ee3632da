"""Checking an answer never fails, and what it keeps of it keeps the contract."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from metaserver.base.lanes import CheckedAnswer
from metaserver.base.states import ANSWERED
from metaserver.exchange.wire.contract import MAX_PROBLEMS
from metaserver.exchange.wire.validation import check
from metaserver.exchange.wire.values import Unreadable
from metaserver.tasks.plugin import answered_tasks
from metaserver.uniprot.verdicts import Ruling
from tests.fakes.vocabulary import FakeVocabulary

RELEASE = FakeVocabulary(
    lambda accession: (
        None
        if accession in ("P", "R", "S")
        else Ruling("P" if accession == "Q" else None, f"{accession!r}")
    )
)
"""P, R and S are there, Q is P, and nothing else is."""

SCALARS: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.integers()
    | st.floats()
    | st.sampled_from(["P", "Q", "R", "S", "X", "1", "1.0", "true"])
    | st.text(max_size=5)
    | st.binary(max_size=3)
    | st.datetimes()
    | st.just(Unreadable("double"))
)
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner)
)
ACCESSIONS = st.sampled_from("PQRSX")
CONFIDENCES = st.sampled_from([0.25, 0.5, 1.0, 1, 0.0, 2.0])
RANKS = st.integers(-1, 5)


def struct(required: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(required, optional=optional)


HITS = struct({"dbid": ACCESSIONS, "confidence": CONFIDENCES}, {"rank": RANKS, "taxid": SCALARS})
PAIRS = struct(
    {"dbid_a": ACCESSIONS, "dbid_b": ACCESSIONS, "confidence": CONFIDENCES}, {"rank": RANKS}
)
MENTIONS = struct(
    {"offset": RANKS, "mention": st.text(max_size=3), "type": ACCESSIONS}, {"length": RANKS}
)
NEARLY = struct(
    {},
    {
        "interaction": st.tuples(st.booleans(), CONFIDENCES).map(list) | ANYTHING,
        "normalizations": st.lists(HITS, max_size=6) | st.lists(HITS | ANYTHING) | ANYTHING,
        "pairs": st.lists(PAIRS, max_size=6) | st.lists(PAIRS | ANYTHING) | ANYTHING,
        "mentions": st.lists(MENTIONS, max_size=6) | st.lists(MENTIONS | ANYTHING) | ANYTHING,
    },
)


def keeps_the_contract(answer: CheckedAnswer) -> bool:
    for name, hits in answer.payloads.items():
        if name == "ACT":
            assert not hits or (type(hits[0]) is bool and 0.0 < hits[1] <= 1.0)
            continue
        if name == "NER":
            places = [(offset, len(words), kind) for offset, words, kind in hits]
            assert places == sorted(set(places))
            assert all(offset >= 0 and length for offset, length, _ in places)
            continue
        *names, ranks, confidences = zip(*hits, strict=True) if hits else ((), (), ())
        items = list(zip(*names, strict=True))
        assert all(accession in ("P", "R", "S") for item in items for accession in item)
        assert all(list(item) == sorted(item) for item in items)
        assert len(set(items)) == len(items)
        assert list(ranks) == sorted(set(ranks))
        assert all(type(rank) is int and rank > 0 for rank in ranks)
        assert all(type(value) is float and 0.0 < value <= 1.0 for value in confidences)
    return True


@given(NEARLY | ANYTHING)
def test_any_value_gets_a_verdict(value: Any) -> None:
    tasks = list(answered_tasks().values())
    answer = check(value, tasks, RELEASE)
    assert keeps_the_contract(answer)
    kept = sum(task.count(answer.payloads.get(task.name, [])) for task in tasks)
    assert kept == answer.hits_kept
    assert answer.hits_dropped >= 0
    assert len(answer.problems) == min(answer.problem_count, MAX_PROBLEMS)
    assert bool(answer.message) == bool(answer.problems)
    assert "\n" not in answer.message
    if answer.outcome not in ANSWERED:
        assert answer.problems
        assert not answer.payloads
