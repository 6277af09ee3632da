"""Read and score runs against polars merely reading the same files, in one process.

`python -m benchmarks scoring_reading`. The synthetic campaign has the size of BC II.5's, 134 runs
of 595 articles, 23 million hits; RUNS=20 makes it smaller. Then the bootstrap and all paired tests.
"""

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

from benchmarks import installed, sized
from scoring import (
    ActGold,
    Classification,
    FormatError,
    Gold,
    RunScorer,
    Scorecard,
    compare,
    evaluate_runs,
    read_gold,
)

ROUNDS = sized(3, 1)
ARTICLES = sized(595, 70)
HITS = sized(289, 110)  # 134 runs of 595 articles: 23 million hits


def write_campaign(
    folder: Path, *, runs: int, articles: int = ARTICLES, hits: int = HITS, seed: int = 1
) -> tuple[Path, list[Path]]:
    """Write a gold file and `runs` result files of about `hits` hits an article; return them."""
    rng = np.random.default_rng(seed)
    names = [str(18_000_000 + 37 * number) for number in range(articles)]
    pool = np.array([f"{letter}{number:05d}" for letter in "PQO" for number in range(20_000)])
    gold = [rng.choice(pool, rng.integers(1, 9), replace=False).tolist() for _ in names]
    gold_file = folder / "gold.tsv"
    gold_file.write_text(
        "".join(
            f"{name}\t{item}\n" for name, items in zip(names, gold, strict=True) for item in items
        )
    )
    files = [folder / f"run{number:03d}.tsv" for number in range(runs)]
    for file in files:
        file.write_text("".join(_answers(rng, names, gold, pool, hits)))
    return gold_file, files


def _answers(
    rng: np.random.Generator,
    names: list[str],
    gold: list[list[str]],
    pool: np.ndarray,
    hits: int,
) -> list[str]:
    lines = []
    for name, items in zip(names, gold, strict=True):
        found = items[: rng.integers(0, len(items) + 1)]
        wrong = rng.choice(pool, int(rng.integers(hits - 100, hits + 100))).tolist()
        listed = list(dict.fromkeys([*found, *wrong]))
        rng.shuffle(listed)
        lines += [
            f"{name}\t{item}\t{rank}\t{1 - rank / (len(listed) + 1):.5f}\n"
            for rank, item in enumerate(listed, start=1)
        ]
    return lines


def classified(runs: int) -> tuple[ActGold, list[Scorecard]]:
    """Return a gold of 63 relevant articles, as BC II.5 had, and the scores of ACT runs on it."""
    rng = np.random.default_rng(2)
    truth = np.arange(ARTICLES) < 63
    gold = ActGold(relevant={f"a{place:03d}": bool(one) for place, one in enumerate(truth)})
    cards = []
    for number in range(runs):
        scorer = RunScorer("ACT", gold, run=f"run{number:03d}")
        leaning = rng.uniform(0, 2) * truth + rng.normal(size=ARTICLES) - 1
        for article, value in zip(gold.relevant, leaning.tolist(), strict=True):
            scorer.put(article, Classification(value > 0, min(1.0, abs(value) / 5)))
        cards.append(scorer.scorecard())
    return gold, cards


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def print_reading(gold_file: Path, files: list[Path]) -> None:
    """Print the times turn about, so that both meet the same load; the files are in memory."""
    import polars

    def read() -> None:
        for file in files:
            polars.read_csv(file, separator="\t", has_header=False)

    for _ in range(ROUNDS):
        reading, scoring = timed(read), timed(lambda: evaluate_runs("INT", gold_file, files))
        print(
            f"polars reads {reading:6.2f} s   scoring reads and scores {scoring:6.2f} s   "
            f"ratio {scoring / reading:.2f}"
        )


def bad_line(gold: Gold, file: Path, hits: int) -> tuple[float, float]:
    """Return the processor time of the first lines of a file, and of the same with a bad one.

    That is in the middle and has no rank; the best of the rounds.
    """
    lines = file.read_text().splitlines(keepends=True)[:hits]
    middle = len(lines) // 2
    fields = lines[middle].split("\t")
    bad = "\t".join([*fields[:-2], "x", fields[-1]])
    times = []
    for name, text in (("plain", lines[middle]), ("bad", bad)):
        part = file.with_name(f"{name}.tsv")
        part.write_text("".join([*lines[:middle], text, *lines[middle + 1 :]]))
        taken = []
        for _ in range(ROUNDS):
            start = time.process_time()
            with suppress(FormatError):
                evaluate_runs("INT", gold, [part])
            taken.append(time.process_time() - start)
        times.append(min(taken))
    return times[0], times[1]


def main() -> None:
    runs = int(os.environ.get("RUNS", sized("134", "2")))
    with tempfile.TemporaryDirectory() as folder:
        gold_file, files = write_campaign(Path(folder), runs=runs)
        size = sum(file.stat().st_size for file in files)
        print(f"{runs} runs, {size / 1e6:.0f} MB")

        if installed("polars"):
            print_reading(gold_file, files)
        gold = read_gold("INT", gold_file)
        for hits in (1_700, 17_000, 170_000):
            clean, bad = bad_line(gold, files[0], hits)
            print(f"{hits} hits: {clean:.4f} s, with a bad line {bad:.4f} s ({bad / clean:.1f})")
        cards = evaluate_runs("INT", gold, files)
        bootstrap = timed(lambda: compare(gold, cards, pairs=False))
        print(f"bootstrap, 10,000 resamples of {runs} runs: {bootstrap:.2f} s")
        both = timed(lambda: compare(gold, cards))
        print(f"with {runs * (runs - 1) // 2} intervals and tests of 10,000 flips: {both:.2f} s")
    gold, cards = classified(runs)
    bootstrap = timed(lambda: compare(gold, cards, pairs=False))
    print(f"bootstrap of AUC iP/R, 10,000 resamples of {runs} ACT runs: {bootstrap:.2f} s")
    both = timed(lambda: compare(gold, cards))
    print(f"with paired bootstrap tests: {both:.2f} s")


if __name__ == "__main__":
    main()
