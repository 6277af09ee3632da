"""The order of lines counts nowhere: every way to score a run gives the same score.

The ways are the fast reader, the line by line reader (whatever in a file sends it there), the
views, `RunScorer` and `scoring explain`.
"""

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scoring import (
    VIEWS,
    ActGold,
    Hit,
    ItemScorecard,
    RunScorer,
    Scorecard,
    View,
    compare,
    evaluate_files,
    evaluate_runs,
    pair,
    read_gold,
    read_run,
)
from scoring.agreement import agree
from scoring.analysis import article_difficulty
from scoring.bulk import match_file
from scoring.consensus import cross_validate, train_model
from scoring.explanation import explain_classification, explain_items
from scoring.gold import ItemGold
from scoring.tasks import Item, Task
from scoring.usefulness import usefulness
from tests.effort import examples
from tests.unit.scoring.campaign import campaign as synthetic

ARTICLES = ["10.1016/j.febslet.2008.01.001", "a2", "a3"]
NAMES = [f"P{number:05d}" for number in range(6)]


class Campaign(NamedTuple):
    """A gold file and a result file as lines of fields; the result lines in any order."""

    task: Task
    gold: list[list[str]]
    run: list[list[str]]
    gaps: bool


def items(task: Task) -> st.SearchStrategy[tuple[str, ...]]:
    names = st.sampled_from(NAMES)
    if task is Task.INT:
        return st.tuples(names)
    return st.tuples(names, names)


@st.composite
def campaigns(draw: st.DrawFn) -> Campaign:
    task = draw(st.sampled_from([Task.INT, Task.IPT]))
    unique = {"unique_by": lambda item: pair(item[0], item[-1])}
    listed = st.lists(items(task), max_size=6, **unique)
    gold = [
        [article, *item]
        for article in draw(st.sets(st.sampled_from(ARTICLES), min_size=1))
        for item in draw(st.lists(items(task), min_size=1, max_size=4, **unique))
    ]
    gaps = draw(st.booleans())
    run = [
        [article, *item, str(rank * (1 + gaps)), draw(st.sampled_from(["1", "0.5", "0.125"]))]
        for article in ARTICLES
        for rank, item in enumerate(draw(listed), start=1)
    ]
    run = run or [["a2", *NAMES[: 1 if task is Task.INT else 2], "1", "1"]]
    return Campaign(task, gold, draw(st.permutations(run)), gaps)


def renamed(old: str, new: str) -> Callable[[Campaign], Campaign]:
    """Return a function that replaces one name by another, in the gold and in the run."""

    def rename(campaign: Campaign) -> Campaign:
        used = campaign.run[0][0 if old == "article" else 1]

        def lines(table: list[list[str]]) -> list[list[str]]:
            return [[new if field == used else field for field in fields] for fields in table]

        return campaign._replace(gold=lines(campaign.gold), run=lines(campaign.run))

    return rename


def first_line(change: Callable[[list[str]], list[str]]) -> Callable[[Campaign], Campaign]:
    return lambda campaign: campaign._replace(run=[change(campaign.run[0]), *campaign.run[1:]])


UNUSUAL = {  # but read in bulk, the last ones line by line
    "a fifth column": first_line(lambda fields: [*fields, "evidence"]),
    "an article that is not ASCII": renamed("article", "άρθρο-1"),
    "an accession that is not ASCII": renamed("accession", "Π00001"),
    "a space": renamed("article", "a 1"),
    "an accession of twelve characters": renamed("accession", '"A0A024R161"'),
    "an accession of twenty characters": renamed("accession", "A0A024R161-isoform-2"),
    "a confidence of 17 digits": first_line(lambda fields: [*fields[:-1], "0.99346405228758172"]),
    "a control character": first_line(lambda fields: [*fields, "\x01"]),
    "a carriage return inside": first_line(lambda fields: [*fields, "1\r1"]),
    "a rank with a sign": first_line(lambda fields: [*fields[:-2], "+" + fields[-2], fields[-1]]),
    "a rank of nine digits": first_line(
        lambda fields: [*fields[:-2], fields[-2].zfill(9), fields[-1]]
    ),
}


@pytest.mark.parametrize("trigger", [None, *UNUSUAL])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(40))
@given(campaign=campaigns(), cutoff=st.sampled_from([None, 1, 3]), data=st.data())
def test_all_ways_give_the_same_score(trigger, campaign, cutoff, data, tmp_path):
    changed = UNUSUAL[trigger](campaign) if trigger else campaign
    gold_file, run_file = tmp_path / "gold.tsv", tmp_path / "run.tsv"
    write(gold_file, changed.gold)
    write(run_file, data.draw(st.permutations(changed.run)))
    task = campaign.task
    gold = read_gold(task, gold_file)
    fast = match_file(run_file, task, gold.index, lenient_ranks=campaign.gaps)
    assert fast is not None

    options: dict[str, Any] = {"articles": "all", "cutoff": cutoff}
    expected = by_definition(campaign, cutoff)
    lenient = {"lenient_ranks": campaign.gaps}
    cards = [evaluate_files(task, gold, run_file, **options, **lenient)]
    views = [  # that leave the hits as they are
        View(name=name, homologs={} if name in ("mapped", "both") else None) for name in VIEWS
    ]
    cards += evaluate_runs(task, gold, [run_file], **options, **lenient, views=views)
    run = read_run(task, run_file, **lenient)
    live = RunScorer(task, gold, **options)
    for article, answer in run.answers.items():
        live.put(article, answer)
    cards.append(live.scorecard())
    for card in cards:
        found = sorted(score.auc_ipr for score in card.articles.values())
        assert found == sorted(expected.values())
        assert values(card) == values(cards[0])
    if cutoff is None:
        explained = [explained_area(gold, run, article) for article in gold.items]
        assert sorted(explained) == sorted(f"{area:.5f}" for area in expected.values())


GOLD, RUNS = synthetic(systems=3, articles=24)


def drawn(gold: ItemGold) -> dict[str, object]:
    """Return what depends on a seed: intervals, tests, trained weights, folds, agreement."""
    scorers = [RunScorer("INT", gold, run=run.name, articles="all") for run in RUNS]
    for run, scorer in zip(RUNS, scorers, strict=True):
        for article, answer in run.answers.items():
            scorer.put(article, answer)
    cards = [card for one in scorers if isinstance(card := one.scorecard(), ItemScorecard)]
    listed = {run.name: {a: frozenset([h[0].item]) for a, h in run.answers.items()} for run in RUNS}
    validated = cross_validate(gold, RUNS, method="maxent", folds=3)
    return {
        "compared": compare(gold, cards, resamples=50, power=True),
        "difficulty": article_difficulty(gold, cards),
        "model": train_model(gold, RUNS, method="maxent", folds=3),
        "validated": (validated.hits(), validated.macro("auc_ipr")),
        "agreement": agree({"gold": gold.items, **listed}, resamples=50),
        "usefulness": usefulness(gold, cards, resamples=50, cutoffs=[3]),
    }


@pytest.mark.slow
def test_the_order_of_the_gold_counts_nowhere() -> None:
    expected = drawn(GOLD)
    for seed in range(3):
        articles = random.Random(seed).sample(list(GOLD.items), len(GOLD))
        found = drawn(ItemGold(task=GOLD.task, items={one: GOLD.items[one] for one in articles}))
        for name, value in expected.items():
            assert found[name] == value, (name, seed)


def write(path: Path, table: list[list[str]]) -> None:
    path.write_bytes("".join("\t".join(fields) + "\n" for fields in table).encode())


def values(card: Scorecard) -> Mapping[str, Any]:
    return card.to_dict() | {"run": None, "view": None, "signature": None}


def by_definition(campaign: Campaign, cutoff: int | None) -> dict[str, float]:
    """Return each gold article's AUC iP/R, by its formula and in no way that is tested here."""
    correct: dict[str, set[Item]] = {}
    for article, *item in campaign.gold:
        correct.setdefault(article, set()).add(pair(item[0], item[-1]))
    ranked: dict[str, dict[int, Item]] = {}
    for article, *item, rank, _ in campaign.run:
        ranked.setdefault(article, {})[int(rank)] = pair(item[0], item[-1])
    areas = {}
    for article, found in correct.items():
        hits = [hit for _, hit in sorted(ranked.get(article, {}).items())][:cutoff]
        precisions = [
            len(found.intersection(hits[:place])) / place for place in range(1, len(hits) + 1)
        ]
        steps = [max(precisions[at:]) for at, hit in enumerate(hits) if hit in found]
        areas[article] = sum(steps) / len(found)
    return areas


def explained_area(gold: ItemGold, run: Any, article: str) -> str:
    [line] = [line for line in explain_items(gold, run, article) if line.startswith("AUC iP/R ")]
    return line.split()[2]


@st.composite
def classified(draw: st.DrawFn) -> tuple[dict[str, bool], list[list[str]]]:
    """Return an ACT gold, and a run's lines in order: ranks rise within each class."""
    names = [f"a{number}" for number in range(9)]
    gold = draw(st.dictionaries(st.sampled_from(names), st.booleans(), min_size=1))
    called = draw(
        st.lists(
            st.tuples(st.sampled_from(names), st.booleans()),
            min_size=1,
            unique_by=lambda one: one[0],
        )
    )
    lines = [
        [name, f"{label:d}", str(rank), "0.5"]
        for label in (True, False)
        for rank, name in enumerate((name for name, given in called if given == label), start=1)
    ]
    return gold, lines


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(campaign=classified(), extra=st.booleans(), data=st.data())
def test_the_order_of_classified_articles_counts_nowhere(campaign, extra, data, tmp_path):
    truth, lines = campaign
    gold = ActGold(relevant=truth)
    in_order, permuted = tmp_path / "order", tmp_path / "permuted"
    write(in_order, lines)
    write(permuted, data.draw(st.permutations([line + ["evidence"] * extra for line in lines])))
    live = RunScorer("ACT", gold)
    for article, answer in data.draw(
        st.permutations(list(read_run("ACT", permuted).answers.items()))
    ):
        live.put(article, answer)
    cards = [
        evaluate_files("ACT", gold, in_order),
        evaluate_files("ACT", gold, permuted),
        live.scorecard(),
    ]
    # The official list: positives by rising rank, then negatives by falling rank.
    listed = [name for name, label, *_ in lines if label == "1" and name in truth]
    listed += [name for name, label, *_ in reversed(lines) if label == "0" and name in truth]
    for card in cards:
        assert [gold.articles[place] for place in card.ranked.tolist()] == listed
        assert values(card) == values(cards[0])
        for place, name in enumerate(listed, start=1):
            found = f"rank {place} of {len(listed)}"
            assert found in "\n".join(explain_classification(gold, card, name))


ACCESSIONS = [f"P{number}" for number in range(7)]


@st.composite
def mappings(draw: st.DrawFn) -> tuple[list[Item], frozenset[Item], dict[str, frozenset[str]]]:
    names = st.sampled_from(ACCESSIONS)
    item = draw(st.sampled_from([names, st.builds(pair, names, names)]))
    found = draw(st.permutations(draw(st.lists(item, unique=True, max_size=12))))
    groups = st.dictionaries(names, st.frozensets(names, min_size=1), max_size=6)
    return found, draw(st.frozensets(item, min_size=1, max_size=5)), draw(groups)


@given(mapping=mappings(), data=st.data())
def test_mapping_is_what_its_definition_says(mapping, data):
    found, gold, homologs = mapping
    hits = [Hit(item, rank, 1 / rank) for rank, item in enumerate(found, start=1)]
    view = View(name="mapped", homologs=homologs)
    mapped = view.apply(data.draw(st.permutations(hits)), gold)

    expected: dict[Item, float] = {}
    for hit in hits:
        for item in stood_for(hit.item, gold, homologs):
            expected.setdefault(item, hit.confidence)
    assert [hit.rank for hit in mapped] == [*range(1, len(mapped) + 1)]
    assert {hit.item: hit.confidence for hit in mapped} == expected
    confidences = [hit.confidence for hit in mapped]
    assert confidences == sorted(confidences, reverse=True)
    assert len(mapped) <= len(hits) + len(gold)


def stood_for(item, gold, homologs):
    if item in gold:
        return [item]

    def stands(one: str, for_: str) -> bool:
        return one == for_ or one in homologs.get(for_, ())

    if isinstance(item, str):
        return [one for one in gold if isinstance(one, str) and stands(item, one)] or [item]
    left, right = item
    return [
        known
        for known in gold
        if (stands(left, known[0]) and stands(right, known[1]))
        or (stands(left, known[1]) and stands(right, known[0]))
    ] or [item]
