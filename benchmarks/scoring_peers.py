"""End to end from files: scoring, ranx, pytrec_eval and a plain loop on the same lists.

`python -m benchmarks scoring_peers`, of 4 runs or of RUNS; it ends within two minutes. Each program
reads the gold and the runs and computes every run's mean average precision, which must agree (ranx
and pytrec_eval also precision and recall). The runs are written in several forms, all of them
valid, and each form is timed: no reader may fall off a cliff where a file is unusual. ranx and
pytrec_eval check nothing of what they read; ranx gets data frames from pandas, as its documentation
has it. A first round is not timed: ranx compiles in it. Times are processor time, ours the best of
three rounds, the peers' of one.
"""

import csv
import math
import os
import random
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks import installed, sized
from benchmarks.scoring_reading import write_campaign
from scoring import ItemScorecard, evaluate_runs, mean_of

ROUNDS = sized(3, 1)
Scores = list[float]  # mean average precision, a run
Lines = list[str]


def usual(lines: Lines) -> Lines:
    return lines


def long_confidences(lines: Lines) -> Lines:
    """Give the lines the confidences that a hub writes: `repr` of floats."""
    written = []
    for line in lines:
        article, item, rank, _ = line.split("\t")
        written.append(f"{article}\t{item}\t{rank}\t{1 / (1 + int(rank) / 7)!r}\n")
    return written


def equal_confidences(lines: Lines) -> Lines:
    return [line.rsplit("\t", 1)[0] + "\t1.0\n" for line in lines]


def shuffled(lines: Lines) -> Lines:
    return random.Random(1).sample(lines, len(lines))


def extra_column(lines: Lines) -> Lines:
    return [line.replace("\n", "\tsome remark\n") for line in lines]


def one_extra_column(lines: Lines) -> Lines:
    return [*lines[:-1], lines[-1].replace("\n", "\tremark\n")]


def not_ascii(lines: Lines) -> Lines:
    """Name a wrong item of the last line in Greek."""
    article, _, *rest = lines[-1].split("\t")
    return [*lines[:-1], "\t".join([article, "TNF-α", *rest])]


def crlf(lines: Lines) -> Lines:
    return [line.replace("\n", "\r\n") for line in lines]


def quoted(lines: Lines) -> Lines:
    """Put the articles in quotes, as the gold's are then: quotes belong to a name."""
    return [f'"{article}"\t{rest}' for article, rest in (line.split("\t", 1) for line in lines)]


def spaced(lines: Lines) -> Lines:
    """Give the articles names with a space, as the gold's are then."""
    return [f"PMID {line}" for line in lines]


def long_names(lines: Lines) -> Lines:
    """Give the items names of ten characters, as newer accessions have, as the gold's are then."""
    return [line.replace("\t", "\tA0A0", 1) for line in lines]


FORMS: Mapping[str, tuple[Callable[[Lines], Lines], bool]] = {  # and whether the gold has it too
    "usual": (usual, False),
    "17-digit confidences": (long_confidences, False),
    "equal confidences": (equal_confidences, False),
    "shuffled lines": (shuffled, False),
    "an extra column": (extra_column, False),
    "one line with it": (one_extra_column, False),
    "one line not ASCII": (not_ascii, False),
    "CRLF": (crlf, False),
    "quoted names": (quoted, True),
    "names with spaces": (spaced, True),
    "longer accessions": (long_names, True),
}


def with_scoring(gold: Path, files: list[Path]) -> Scores:
    cards = evaluate_runs("INT", gold, files, articles="all")
    assert all(isinstance(card, ItemScorecard) for card in cards)
    return [mean_of("AP", card) or 0.0 for card in cards]


def with_ranx(gold: Path, files: list[Path]) -> Scores:
    import pandas
    import ranx

    columns = ["q_id", "doc_id", "rank"]
    how = {"sep": "\t", "quoting": csv.QUOTE_NONE}
    labels = pandas.read_csv(gold, names=columns[:2], dtype=object, **how)
    labels["score"] = 1
    qrels = ranx.Qrels.from_df(labels)
    means = []
    for file in files:
        frame = pandas.read_csv(
            file,
            names=[*columns, "confidence", "remark"],
            dtype={"q_id": object, "doc_id": object},
            **how,
        )
        frame["score"] = 1.0 / frame["rank"]
        run = ranx.Run.from_df(frame)
        found = ranx.evaluate(qrels, run, ["precision", "recall", "map"], make_comparable=True)
        means.append(float(found["map"]))
    return means


def with_pytrec_eval(gold: Path, files: list[Path]) -> Scores:
    import pytrec_eval

    qrel: dict[str, dict[str, int]] = {}
    for line in gold.read_text().splitlines():
        article, item = line.split("\t")
        qrel.setdefault(article, {})[item] = 1
    evaluator = pytrec_eval.RelevanceEvaluator(qrel, {"map", "set_P", "set_recall"})
    means = []
    for file in files:
        run: dict[str, dict[str, float]] = {}
        for line in file.read_text().splitlines():
            article, item, rank, *_ = line.split("\t")
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
                article, item, rank, *_ = line.split("\t")
                answers.setdefault(article, []).append((int(rank), item))
        total = 0.0
        for article, items in correct.items():
            found = area = 0.0
            for place, item in sorted(answers.get(article, [])):
                if item in items:
                    found += 1
                    area += found / place
            total += area / len(items)
        means.append(total / len(correct))
    return means


Programs = Mapping[str, Callable[[Path, list[Path]], Scores]]
PROGRAMS: Programs = {
    "scoring": with_scoring,
    "ranx": with_ranx,
    "pytrec_eval": with_pytrec_eval,
    "a plain loop": with_a_loop,
}


def rewritten(form: Callable[[Lines], Lines], files: list[Path], folder: Path) -> list[Path]:
    folder.mkdir()
    for file in files:
        lines = file.read_text().splitlines(keepends=True)
        (folder / file.name).write_text("".join(form(lines)), newline="")
    return [folder / file.name for file in files]


def seconds_of(programs: Programs, gold: Path, files: list[Path]) -> dict[str, float]:
    """Return the processor time of each program, ours the least of ROUNDS; all agree."""
    times, found = {}, []
    for name, program in programs.items():
        taken = []
        for _ in range(ROUNDS if name == "scoring" else 1):  # the others take long enough
            start = time.process_time()
            means = program(gold, files)
            taken.append(time.process_time() - start)
        found.append(means)
        times[name] = min(taken)
    assert all(all(map(math.isclose, means, found[0])) for means in found)
    return times


def main() -> None:
    runs = int(os.environ.get("RUNS", sized("4", "1")))
    programs = dict(PROGRAMS)
    if not installed("ranx"):
        del programs["ranx"]
    with tempfile.TemporaryDirectory() as folder:
        gold, files = write_campaign(Path(folder), runs=runs)
        for program in programs.values():
            program(gold, files[:1])  # imports, compilation
        print(f"{runs} runs, {sum(file.stat().st_size for file in files) / 1e6:.0f} MB")
        print(f"{'processor time':22s}", *(f"{name:>13s}" for name in programs), "    to usual")
        first = 0.0
        for name, (form, with_gold) in FORMS.items():
            made = Path(folder) / name
            written = rewritten(form, files, made)
            labels = rewritten(form, [gold], made / "gold")[0] if with_gold else gold
            times = seconds_of(programs, labels, written)
            first = first or times["scoring"]
            shown = "".join(f"{took:12.2f} s" for took in times.values())
            print(f"{name:22s}{shown} {times['scoring'] / first:10.1f}x", flush=True)


if __name__ == "__main__":
    main()
