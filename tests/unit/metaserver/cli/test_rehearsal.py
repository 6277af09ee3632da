"""A rehearsal's parts: scores as they were aimed at, settings in its time, checks that notice."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import pytest

from metaserver.base.errors import InputError
from metaserver.base.states import Outcome
from metaserver.cli.main import main
from metaserver.cli.rehearsal import plan
from metaserver.cli.rehearsal.course import Restart, Stored, judge
from metaserver.cli.rehearsal.plan import (
    Literature,
    PlannedServer,
    draw,
    draw_servers,
    read_proteins,
    scaled,
)
from metaserver.cli.rehearse import read_terms, rehearsed
from metaserver.config import Settings
from scoring import Classification, Hit, evaluate_files, pair, result_lines

PROTEINS = read_proteins(Path(str(files("annotators") / "data" / "uniprot_names.tsv")))
SERVERS = 4


@cache
def literature() -> Literature:
    return draw(plan.ARTICLES, PROTEINS, seed=1)


@cache
def planned() -> Sequence[PlannedServer]:
    return draw_servers(literature(), teams=2, servers=SERVERS, tasks=plan.TASKS, seed=1)


def answer_of(task: str, planned: Mapping[str, Any]) -> Any:
    if task == "ACT":
        return Classification(*planned["interaction"])
    if task == "INT":
        return [Hit(h["dbid"], h["rank"], h["confidence"]) for h in planned["normalizations"]]
    return [
        Hit(pair(h["dbid_a"], h["dbid_b"]), h["rank"], h["confidence"]) for h in planned["pairs"]
    ]


@pytest.mark.parametrize("task", plan.TASKS)
def test_drawn_answers_get_the_scores_that_were_aimed_at(tmp_path: Path, task: str) -> None:
    gold = tmp_path / "gold.tsv"
    gold.write_text(literature().gold_files()[task])
    targets = plan.TARGETS[task]
    order = random.Random("servers 1")  # as the plan draws: tasks in turn
    shuffled = {one: order.sample(runs, len(runs)) for one, runs in plan.TARGETS.items()}
    for number, server in enumerate(planned()):
        run = tmp_path / f"{server.name}.tsv"
        answers = [(name, answer_of(task, one.answer)) for name, one in server.articles.items()]
        run.write_text("".join(result_lines(task, answers)))
        card = evaluate_files(task, gold, run, articles="all").to_dict()
        auc = card["auc_ipr"] if task == "ACT" else card["macro"]["auc_ipr"]
        assert auc == pytest.approx(shuffled[task][number].auc_ipr, abs=0.03)
        assert any(abs(auc - one.auc_ipr) < 0.03 for one in targets)


def test_a_seed_draws_one_challenge_and_another_one_another() -> None:
    again = draw(30, PROTEINS, seed=5)
    assert again == draw(30, PROTEINS, seed=5)
    assert again.texts != draw(30, PROTEINS, seed=6).texts
    assert all(len(text) > 5_000 for text in again.texts.values())
    once, twice = (draw_servers(again, teams=2, servers=3, tasks=["INT"], seed=5) for _ in range(2))
    assert once == twice
    assert [server.name for server in once] == ["team01-1", "team02-1", "team01-2"]


def test_some_servers_are_away_and_some_answers_are_faulty() -> None:
    faults = Counter(one.fault for server in planned() for one in server.articles.values())
    assert len(faults) > 10
    assert faults[""] > 0.9 * faults.total()
    assert {bool(server.away) for server in planned()} == {True, False}


def test_time_is_divided_by_the_speed() -> None:
    server = planned()[0]
    fast = scaled(server, 200.0, limit=1)
    assert (fast.concurrency, fast.away) == (1, server.away / 200)
    name = "article0001"
    assert fast.articles[name].seconds == server.articles[name].seconds / 200


def of_phase(**phase: Any) -> Settings:
    given = {"phase": "week", "release": "r", **phase}
    challenge = {"challenge": "bc", "timezone": "Europe/Madrid", "phases": [given]}
    limits = {"timeout": 600, "attempts": 3}
    return msgspec.convert({"challenges": [challenge], "limits": limits}, Settings)


def test_settings_are_those_of_the_organiser_in_the_rehearsals_time(tmp_path: Path) -> None:
    given = of_phase(
        opens="2026-12-01T09:00", freezes="2026-12-08T09:00", tasks=["INT", "NER"],
        visibility="own", limits={"timeout": 300, "servers": 1},
    )  # fmt: skip
    terms = read_terms(given, "config.yaml")
    assert (terms.length, terms.tasks) == (7 * 86_400, ["INT"])
    made = rehearsed(
        terms, tmp_path, gold={"INT": tmp_path / "gold.tsv"}, speed=200.0, port=0, a_team=3
    )
    phase = made.challenges[0].phases[0]
    assert (made.limits.timeout, made.limits.attempts, made.limits.connect) == (3.0, 3, 1.0)
    assert (phase.limits.timeout, phase.limits.servers) == (1.5, 3)
    assert (phase.visibility, phase.freezes, phase.tasks) == ("own", None, ("INT",))


@pytest.mark.parametrize(
    ("phase", "said"),
    [
        ({"tasks": ["NER"]}, "none of the tasks"),
        ({"opens": "2026-12-02", "freezes": "2026-12-01"}, "before it opens"),
        ({"opens": "soon", "freezes": "2026-12-01"}, "is not a date"),
    ],
    ids=["no task", "dates", "no date"],
)
def test_a_phase_that_cannot_be_rehearsed_is_refused(phase: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_terms(of_phase(**phase), "config.yaml")


def stored(*answers: tuple[str, str], ended: int = 4) -> Stored:
    pairs = [(server, article) for server in "ab" for article in "12"]
    outcomes = Counter({Outcome.OK: len(answers), Outcome.TIMEOUT: 1})
    return Stored(articles=2, outcomes=outcomes, answers=Counter(answers), ended=set(pairs[:ended]))


ALL = (("a", "1"), ("a", "2"), ("b", "1"), ("b", "2"))


@pytest.mark.parametrize(
    ("after", "cut_off", "failing"),
    [
        (stored(*ALL), False, []),
        (stored(*ALL[1:]), False, ["no answer is lost"]),
        (stored(*ALL, ("b", "2")), False, ["no answer is scored twice"]),
        (stored(*ALL, ended=3), False, ["every article has an end"]),
        (stored(*ALL, ended=3), True, []),
    ],
    ids=["sound", "lost", "twice", "no end", "frozen"],
)
def test_checks_notice_what_is_wrong(after: Stored, cut_off: bool, failing: list[str]) -> None:
    restart = Restart(at=1.0, before=stored(*ALL[:2]), away=1.0)
    checks = judge(after, restart, servers=2, cut_off=cut_off)
    assert [check.name for check in checks if not check.holds] == failing


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--articles", "0"], "--articles: 0; expected 1 to 100,000"),
        (["--teams", "3", "--servers", "2"], "one has none"),
        (["--speed", "nan"], "--speed"),
    ],
    ids=["articles", "teams", "speed"],
)
def test_bad_options_are_refused_before_anything_is_written(tmp_path, capsys, arguments, said):
    out = tmp_path / "out"
    assert main(["rehearse", "--out", str(out), *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not out.exists()


def test_a_folder_with_something_in_it_is_refused(tmp_path, capsys):
    (tmp_path / "kept").write_text("kept")
    assert main(["rehearse", "--out", str(tmp_path)]) == 2
    assert "expected a new or empty folder" in capsys.readouterr().err
