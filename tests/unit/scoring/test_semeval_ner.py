"""SemEval-2013 9.1: identities of the counts, nervaluate, files and the command."""

import csv
import io
import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.alignment import span
from scoring.cli import main
from scoring.errors import FormatError, OptionError
from scoring.semeval_files import parse_offsets, read_ner_gold, read_ner_run, read_written_run
from scoring.semeval_ner import (
    TYPES,
    Criterion,
    MentionCounts,
    MentionSpan,
    NerScorecard,
    evaluate,
    list_pairs,
)

# The sentence and the mentions of Tables 1 and 2 of the task description.
CORPUS = f"""<?xml version="1.0" encoding="UTF-8"?>
<document id="D1">
<sentence id="D1.s0" text="{"x" * 250}">
<entity id="D1.s0.e0" charOffset="59-65" type="brand" text="x"/>
<entity id="D1.s0.e1" charOffset="127-134" type="drug" text="x"/>
<entity id="D1.s0.e2" charOffset="164-174" type="drug" text="x"/>
<entity id="D1.s0.e3" charOffset="197-205" type="drug" text="x"/>
<entity id="D1.s0.e4" charOffset="208-219" type="drug" text="x"/>
<entity id="D1.s0.e5" charOffset="230-243" type="group" text="x"/>
<pair id="D1.s0.p0" e1="D1.s0.e0" e2="D1.s0.e1" ddi="false"/>
</sentence>
<sentence id="D1.s1" text="No drug here."/>
</document>
"""
RUN = """D1.s0\t24-30\tx\tbrand
D1.s0\t124-134\tx\tdrug
D1.s0\t164-174\tx\tbrand
D1.s0|197-205|x|drug
D1.s0\t208-219\tx\tdrug
D1.s0\t225-243\tx\tdrug
"""

_MENTIONS = st.sets(
    st.builds(
        lambda place, start, size, kind: MentionSpan(place, span([(start, start + size)]), kind),
        st.sampled_from("ab"),
        st.integers(0, 25),
        st.integers(1, 6),
        st.sampled_from(TYPES),
    ),
    max_size=14,
).map(list)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "gold.xml").write_text(CORPUS)
    (tmp_path / "run.tsv").write_text(RUN)
    return tmp_path / "gold.xml", tmp_path / "run.tsv"


@given(gold=_MENTIONS, run=_MENTIONS, seed=st.integers())
def test_counts_add_up_and_do_not_depend_on_order(gold, run, seed):
    card = evaluate(gold, run)
    shuffled = random.Random(seed)
    again = evaluate(shuffled.sample(gold, len(gold)), shuffled.sample(run, len(run)))
    assert card == again
    reversed_rows = NerScorecard(
        by_article=dict(reversed(card.by_article.items())), per_type=card.per_type
    )
    drawn, same = (one.on_resamples(Criterion.STRICT, 5) for one in (card, reversed_rows))
    assert np.array_equal(drawn, same, equal_nan=True)
    for counts in card.micro.values():
        assert counts.pos == len(gold)
        assert counts.act == len(run)
        assert min(counts) >= 0
        assert 0 <= counts.precision() <= 1
        assert 0 <= counts.recall() <= 1
    strict = card.micro[Criterion.STRICT]
    assert strict.cor == len(set(gold) & set(run))
    assert strict.cor == sum(table[Criterion.STRICT].cor for table in card.per_type.values())


@given(mentions=_MENTIONS)
def test_a_run_that_is_the_gold_is_perfect_and_an_empty_one_scores_0(mentions):
    for counts in evaluate(mentions, mentions).micro.values():
        assert counts.cor == len(mentions)
        assert counts.f_score() == (1.0 if mentions else 0.0)
    for counts in evaluate(mentions, []).micro.values():
        assert counts.f_score() == 0
        assert counts.mis == len(mentions)


@given(
    starts=st.sets(st.integers(0, 40), max_size=15),
    changes=st.lists(st.tuples(st.integers(-2, 8), st.sampled_from(TYPES)), min_size=15),
)
def test_nervaluate_counts_the_same_where_no_name_overlaps_two(starts, changes):
    nervaluate = pytest.importorskip("nervaluate")
    gold, run = [], []
    for start, (moved, kind) in zip(sorted(starts), changes, strict=False):
        gold.append(MentionSpan("a", span([(start * 20 + 5, start * 20 + 12)]), "drug"))
        first = start * 20 + 5 + moved
        run.append(MentionSpan("a", span([(first, first + 7)]), kind))
    sides = [
        [[{"start": s, "end": e - 1, "label": kind} for _, ((s, e),), kind in side]]
        for side in (gold, run)
    ]
    theirs = nervaluate.Evaluator(*sides, tags=list(TYPES), loader="dict").evaluate()["overall"]
    micro = evaluate(gold, run).micro
    names = {"strict": "strict", "exact": "exact", "partial": "partial", "type": "ent_type"}
    for criterion, name in names.items():
        found, other = micro[Criterion(criterion)], theirs[name]
        expected = (other.correct, other.incorrect, other.partial, other.missed, other.spurious)
        assert tuple(found) == expected
        assert found.precision() == pytest.approx(other.precision)
        assert found.recall() == pytest.approx(other.recall)


_Worth = tuple[int, int, int, int, Fraction]


@cache
def _worth(gold: MentionSpan, run: MentionSpan) -> _Worth | None:
    """Return what a pair adds to the numbers that pairings are compared by, in order."""
    one, other = ({n for a, b in side.span for n in range(a, b)} for side in (gold, run))
    if not one & other:
        return None
    shared = Fraction(len(one & other), len(one | other))
    return one == other, gold.type == run.type and one == other, 1, gold.type == run.type, shared


def _sum(worths: Iterable[_Worth | None]) -> _Worth:
    same, strict, pairs, types, shared = 0, 0, 0, 0, Fraction(0)
    for one in filter(None, worths):
        same, strict, pairs, types = same + one[0], strict + one[1], pairs + one[2], types + one[3]
        shared += one[4]
    return same, strict, pairs, types, shared


def _best(gold: Sequence[MentionSpan], run: Sequence[MentionSpan]) -> _Worth:
    """Return the most that any pairing is worth: the first with each partner, or with none."""
    if not gold:
        return _sum([])
    found = [_best(gold[1:], run)]
    for n, one in enumerate(run):
        if worth := _worth(gold[0], one):
            found.append(_sum([worth, _best(gold[1:], [*run[:n], *run[n + 1 :]])]))
    return max(found)


def _mention(start: int, end: int, kind: str, place: str = "a") -> MentionSpan:
    return MentionSpan(place, span([(start, end)]), kind)


def _crowds() -> Iterator[tuple[list[MentionSpan], list[MentionSpan]]]:
    """Yield gold and run of a place: two mentions of all types each, then random ones."""
    number = 0
    for one, other, third, fourth in product(TYPES, repeat=4):
        if one != other:
            place = f"types{(number := number + 1)}"
            yield (
                [_mention(0, 4, one, place), _mention(0, 4, other, place)],
                [_mention(0, 4, third, place), _mention(0, 6, fourth, place)],
            )
    draw = random.Random(26)
    spans = [(a, a + n) for a in range(4) for n in (1, 2, 4)]
    for number in range(200):
        every = [_mention(*one, kind, f"random{number}") for one in spans for kind in TYPES[:3]]
        yield draw.sample(every, draw.randint(0, 4)), draw.sample(every, draw.randint(1, 4))


def test_no_pairing_is_better_than_the_one_that_counts() -> None:
    crowds = list(_crowds())
    gold, run = ([one for crowd in crowds for one in crowd[side]] for side in (0, 1))
    counted = evaluate(gold, run).by_article
    pairs: dict[str, list[_Worth | None]] = {}
    for reference, prediction in list_pairs(gold, run):
        if reference and prediction:
            pairs.setdefault(reference.place, []).append(_worth(reference, prediction))
    for references, predictions in crowds:
        best = _best(references, predictions)
        place = predictions[0].place
        assert _sum(pairs.get(place, [])) == best, (references, predictions)
        same, strict, total, types, _ = best
        left, over = len(references) - total, len(predictions) - total
        assert counted[place] == {
            Criterion.STRICT: MentionCounts(strict, total - strict, 0, left, over),
            Criterion.EXACT: MentionCounts(same, total - same, 0, left, over),
            Criterion.PARTIAL: MentionCounts(same, 0, total - same, left, over),
            Criterion.TYPE: MentionCounts(types, total - types, 0, left, over),
        }


def test_a_mention_twice_is_refused() -> None:
    mention = MentionSpan("a", span([(0, 4)]), "drug")
    with pytest.raises(OptionError, match=r"run: drug at .* comes twice"):
        evaluate([mention], [mention, mention])


def test_offsets_are_inclusive_and_may_be_in_pieces() -> None:
    assert parse_offsets("12-15;21-25") == ((12, 16), (21, 26))
    assert parse_offsets("4-7;0-3") == ((0, 8),)


def test_the_example_of_the_task_description(files, capsys):
    gold, run = files
    assert main(["ner", "--gold", str(gold), "--run", str(run), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["micro"]["partial"]["f_score"] == pytest.approx(2 / 3)
    assert (found["macro"]["f_score"], found["articles"]) == (0.125, 1)
    words = ["--run", str(run), "--compat", "semeval2013", "--resamples", "100"]
    assert main(["ner", "--gold", str(gold.parent), *words]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    result = [row[:11] for row in rows if row[:1] == ["partial"]]
    assert result == [["partial", "3", "0", "2", "1", "1", "6", "6", "0.500", "0.667", "0.571"]]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("D1.s0\t1-2\tx", "2:column"),
        ("D9\t1-2\tx\tdrug", "sentence 'D9' is not in the gold"),
        ("D1.s0\t2\tx\tdrug", "offsets '2'; expected inclusive ones such as 12-15;21-25"),
        ("D1.s0\t5-2\tx\tdrug", "offsets '5-2': a fragment ends before it begins"),
        ("D1.s1\t1-13\tx\tdrug", "offset 13 is after the sentence's last, 12"),
        ("D1.s0\t1-2\tx\tdisease", "type 'disease'; expected drug, brand, group, drug_n"),
        ("D1.s1\t3-6\tx\tdrug", "the same prediction as line 1"),
    ],
)
def test_a_bad_run_is_refused_by_line(files, capsys, line, expected):
    gold, run = files
    run.write_text(f"D1.s1\t3-6\tdrug\tdrug\n{line}\n")
    assert main(["ner", "--gold", str(gold), "--run", str(run)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"{run}:2:")
    assert expected.removeprefix("2:") in captured.err


@pytest.mark.parametrize(
    ("old", "new", "line", "expected"),
    [
        ("</sentence>", "", 13, "broken XML"),
        ('charOffset="59-65" ', "", 4, "<entity> without charOffset"),
        ("59-65", "65-59", 4, "offsets '65-59': a fragment ends before it begins"),
        ("127-134", "164-174", 6, "the same entity as one before it"),
        ('id="D1.s1"', 'id="D1.s0"', 12, "sentence 'D1.s0' comes twice"),
        ("UTF-8", "none-such", 1, "broken XML: unknown encoding"),
        ('id="D1.s1" ', "", 12, "<sentence> without id or text"),
    ],
)
def test_a_bad_corpus_is_refused_by_line(files, old, new, line, expected):
    gold, _ = files
    gold.write_text(CORPUS.replace(old, new))
    with pytest.raises(FormatError) as caught:
        read_ner_gold(gold)
    [problem] = caught.value.problems
    assert (problem.file, problem.line) == (str(gold), line)
    assert expected in problem.message


def test_a_corpus_without_sentences_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"no \.xml file"):
        read_ner_gold(tmp_path)
    (tmp_path / "a.xml").write_text("<document/>")
    with pytest.raises(FormatError, match="no <sentence> element"):
        read_ner_gold(tmp_path)


def test_other_types_of_the_gold_may_be_predicted(tmp_path: Path) -> None:
    (tmp_path / "g.xml").write_text(CORPUS.replace('type="group"', 'type="gene"'))
    (tmp_path / "r.tsv").write_text("D1.s0\t230-243\tx\tgene\n")
    gold = read_ner_gold(tmp_path)
    card: Any = evaluate(gold.mentions, read_ner_run(tmp_path / "r.tsv", gold)).to_dict()
    assert (card["per_type"]["gene"]["strict"]["f_score"], card["macro"]["f_score"]) == (1, 0)


XML_RUN = """<document id="D1"><sentence id="D1.s0">
<entity charOffset="24-30" type="brand"/><entity charOffset="124-134" type="drug"/>
<entity charOffset="164-174" type="brand"/><entity charOffset="197-205" type="drug"/>
<entity charOffset="208-219" type="drug"/><entity charOffset="225-243" type="drug"/>
</sentence></document>"""


def test_a_run_as_xml_is_the_run_as_a_table(files: tuple[Path, Path], tmp_path: Path) -> None:
    corpus = read_ner_gold(files[0])
    (tmp_path / "runs").mkdir()
    xml = tmp_path / "runs" / "run.xml"
    xml.write_text(XML_RUN)
    assert read_ner_run(xml, corpus) == read_ner_run(files[1], corpus)
    assert read_ner_run(xml.parent, corpus) == read_ner_run(files[1], corpus)
    assert read_written_run(xml, corpus) == read_written_run(files[1], corpus)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("</sentence>", "", "broken XML"),
        ('charOffset="24-30" ', "", "offsets ''; expected inclusive ones"),
        (' type="brand"', "", "type ''; expected drug"),
        ("D1.s0", "D9.s0", "sentence 'D9.s0' is not in the gold"),
        ("sentence", "phrase", "no <sentence> element"),
        ("208-219", "197-205", "the same prediction as line 3"),
    ],
)
def test_a_bad_xml_run_is_refused(files, tmp_path, old, new, expected):
    xml = tmp_path / "run.xml"
    xml.write_text(XML_RUN.replace(old, new))
    with pytest.raises(FormatError) as caught:
        read_ner_run(xml, read_ner_gold(files[0]))
    assert all(problem.file == str(xml) for problem in caught.value.problems)
    assert expected in str(caught.value)


def test_several_runs_become_one_ranking(files, tmp_path, capsys):
    gold, run = files
    (tmp_path / "best.tsv").write_text("D1.s0\t164-174\tx\tdrug\n" + RUN.splitlines()[4] + "\n")
    words = ["ner", "--gold", str(gold), "--run", str(run), str(tmp_path / "best.tsv")]
    assert main([*words, "--resamples", "0"]) == 0
    header, *rows = [line.split("  ") for line in capsys.readouterr().out.splitlines()]
    assert header[0] == "run"
    assert [row[0].strip() for row in rows] == ["best", "run"]
    assert main([*words, "--resamples", "0", "--format", "csv"]) == 0
    table = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    found = [(one["rank"], one["run"], one["strict F1"]) for one in table]
    assert found == [("1", "best", "0.5"), ("2", "run", str(1 / 3))]
    assert main([*words, "--resamples", "0", "--format", "latex"]) == 0
    assert r"best & 1 & \textbf{0.500}" in capsys.readouterr().out


def test_pairs_are_listed_with_their_outcomes(files, capsys):
    gold, run = files
    words = ["ner", "--gold", str(gold), "--run", str(run), "--pairs"]
    assert main([*words, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    for criterion, counts in found["micro"].items():
        outcomes = Counter(pair[criterion] for pair in found["pairs"])
        result = [outcomes[name] for name in ("COR", "INC", "PAR", "MIS", "SPU")]
        assert result == [counts[name] for name in ("cor", "inc", "par", "mis", "spu")]
    assert main([*words, "--resamples", "0"]) == 0
    rows = [re.split("  +", line) for line in capsys.readouterr().out.splitlines()]
    text = re.search('text="([^"]*)"', gold.read_text())[1]
    spurious = ["D1.s0", "-", "-", "-", "24-30", text[24:31], "brand"]
    assert [*spurious, "SPU", "SPU", "SPU", "SPU"] in rows
    assert main([*words, "--resamples", "0", "--format", "csv"]) == 0
    listed = list(csv.DictReader(io.StringIO(capsys.readouterr().out.split("\n\n")[1])))
    assert [row["predicted"] for row in listed if row["gold"] == ""] == ["24-30"]
    (longer,) = [row for row in listed if row["predicted"] == "124-134"]
    assert (longer["gold"], longer["strict"], longer["type"]) == ("127-134", "INC", "COR")
    assert (longer["gold_words"], longer["predicted_words"]) == (text[127:135], text[124:135])
    assert main([*words, "--resamples", "0", "--format", "latex"]) == 0
    assert capsys.readouterr().out.count("begin{tabular}") == 2
    assert main([*words, "--compat", "semeval2013"]) == 2
    assert "pairs nothing" in capsys.readouterr().err


def test_an_empty_run_is_no_silent_zero(files, capsys):
    gold, run = files
    run.write_text("")
    assert main(["ner", "--gold", str(gold), "--run", str(run), "--resamples", "0"]) == 0
    assert capsys.readouterr().err == f"warning: {run}: empty; no article has an answer\n"


def test_the_program_counts_what_comes_twice_twice(files, capsys):
    gold, run = files
    run.write_text("D1.s0\t59-65\tx\tbrand\n" * 2)
    words = ["ner", "--gold", str(gold), "--run", str(run), "--json", "--resamples", "0"]
    assert main(words) == 2
    assert "the same prediction as line 1" in capsys.readouterr().err
    assert main([*words, "--compat", "semeval2013"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert [found["micro"]["strict"][name] for name in ("cor", "mis", "act")] == [2, 4, 2]
