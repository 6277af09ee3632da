"""End to end from files: scoring, ranx, pytrec_eval and a plain loop on the same lists.

`python -m benchmarks scoring_peers`, of 20 runs or of RUNS. Each program reads the gold and the
runs and computes every run's mean average precision, which must agree (ranx and pytrec_eval also
precision and recall). ranx and pytrec_eval check nothing of what they read; ranx gets data frames
from pandas, as its documentation has it. A first round is not timed: ranx compiles in it.
"""

import math
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pandas
import pytrec_eval
import ranx

from benchmarks.scoring_reading import write_campaign
from scoring import ItemScorecard, evaluate_runs, mean_of

ROUNDS = 3
Scores = list[float]  # mean average precision, a run


def with_scoring(gold: Path, files: list[Path]) -> Scores:
    cards = evaluate_runs("INT", gold, files, articles="all")
    assert all(isinstance(card, ItemScorecard) for card in cards)
    return [mean_of("AP", card) or 0.0 for card in cards]


def with_ranx(gold: Path, files: list[Path]) -> Scores:
    columns = ["q_id", "doc_id", "rank"]
    labels = pandas.read_csv(gold, sep="\t", names=columns[:2], dtype=object)
    labels["score"] = 1
    qrels = ranx.Qrels.from_df(labels)
    means = []
    for file in files:
        frame = pandas.read_csv(
            file,
            sep="\t",
            names=columns,
            usecols=[0, 1, 2],
            dtype={"q_id": object, "doc_id": object},
        )
        frame["score"] = 1.0 / frame["rank"]
        run = ranx.Run.from_df(frame)
        found = ranx.evaluate(qrels, run, ["precision", "recall", "map"], make_comparable=True)
        means.append(float(found["map"]))
    return means


def with_pytrec_eval(gold: Path, files: list[Path]) -> Scores:
    qrel: dict[str, dict[str, int]] = {}
    for line in gold.read_text().splitlines():
        article, item = line.split("\t")
        qrel.setdefault(article, {})[item] = 1
    evaluator = pytrec_eval.RelevanceEvaluator(qrel, {"map", "set_P", "set_recall"})
    means = []
    for file in files:
        run: dict[str, dict[str, float]] = {}
        for line in file.read_text().splitlines():
            article, item, rank, _ = line.split("\t")
            run.setdefault(article, {})[item] = -float(rank)
        found = evaluator.evaluate(run)
        means.append(math.fsum(one["map"] for one in found.values()) / len(qrel))
    return means


def with_a_loop(gold: Path, files: list[Path]) -> Scores:
    correct: dict[str, set[str]] = {}
    for line in gold.read_text().splitlines():
        article, item = line.split("\t")
        correct.setdefault(article, set()).add(item)
    means = []
    for file in files:
        answers: dict[str, list[tuple[int, str]]] = {}
        with file.open() as lines:
            for line in lines:
                article, item, rank, _ = line.split("\t")
                answers.setdefault(article, []).append((int(rank), item))
        total = 0.0
        for article, items in correct.items():
            found = area = 0.0
            for rank, item in sorted(answers.get(article, [])):
                if item in items:
                    found += 1
                    area += found / rank
            total += area / len(items)
        means.append(total / len(correct))
    return means


def main() -> None:
    runs = int(os.environ.get("RUNS", "20"))
    programs: list[Callable[[Path, list[Path]], Scores]] = [
        with_scoring,
        with_ranx,
        with_pytrec_eval,
        with_a_loop,
    ]
    with tempfile.TemporaryDirectory() as folder:
        gold, files = write_campaign(Path(folder), runs=runs)
        for program in programs:
            program(gold, files[:1])  # imports, compilation
        print(f"{runs} runs, {sum(file.stat().st_size for file in files) / 1e6:.0f} MB")
        seconds: dict[str, list[float]] = {}
        for _ in range(ROUNDS):  # turn about, so that all meet the same load of the machine
            found = []
            for program in programs:
                start = time.perf_counter()
                found.append(program(gold, files))
                took = time.perf_counter() - start
                seconds.setdefault(program.__name__.removeprefix("with_"), []).append(took)
            assert all(all(map(math.isclose, means, found[0])) for means in found)
        for name, times in seconds.items():
            ratio = min(times) / min(seconds["scoring"])
            print(f"{name:12s} {min(times):7.2f} s   {ratio:5.1f}x   (best of {ROUNDS})")


if __name__ == "__main__":
    main()
