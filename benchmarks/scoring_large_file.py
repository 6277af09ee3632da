"""A result file of five million lines, read by scoring, polars, pandas, pytrec_eval and ranx.

`python -m benchmarks scoring_large_file`; it takes three minutes. Each program works in a process
of its own, first on a small file, so that it has imported and compiled. Its processor time is that
of all threads, its memory the peak of the process with all that it imported; the best of ROUNDS.
polars and pandas only read. Those that score must find the same mean average precision.
"""

import math
import multiprocessing
import resource
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path

from benchmarks import installed, sized

ROUNDS = sized(3, 1)
ARTICLES = sized(17_300, 70)
HITS = sized(289, 110)  # an article: five million in all

Means = list[float]
Program = Callable[[Path, list[Path]], Means]


def write_files(folder: Path) -> int:
    """Write a gold file, a run, the same with a bad line, and its beginning; return its lines."""
    from benchmarks.scoring_reading import write_campaign

    _, (run,) = write_campaign(folder, runs=1, articles=ARTICLES, hits=HITS)
    lines = run.read_text().splitlines(keepends=True)
    middle = len(lines) // 2
    lacking = lines[middle].rpartition("\t")[0] + "\n"  # the confidence
    (folder / "bad.tsv").write_text("".join([*lines[:middle], lacking, *lines[middle + 1 :]]))
    (folder / "small.tsv").write_text("".join(lines[:1_000]))
    return len(lines)


def polars_reads(_: Path, files: list[Path]) -> Means:
    import polars

    polars.read_csv(files[0], separator="\t", has_header=False)
    return []


def pandas_reads(_: Path, files: list[Path]) -> Means:
    import pandas

    pandas.read_csv(files[0], sep="\t", header=None)
    return []


def scoring_reads(_: Path, files: list[Path]) -> Means:
    from scoring import FormatError, read_run

    with suppress(FormatError):
        read_run("INT", files[0])
    return []


def scoring_scores(gold: Path, files: list[Path]) -> Means:
    from benchmarks.scoring_peers import with_scoring
    from scoring import FormatError

    with suppress(FormatError):
        return with_scoring(gold, files)
    return []


def pytrec_eval_scores(gold: Path, files: list[Path]) -> Means:
    from benchmarks.scoring_peers import with_pytrec_eval

    return with_pytrec_eval(gold, files)


def ranx_scores(gold: Path, files: list[Path]) -> Means:
    from benchmarks.scoring_peers import with_ranx

    return with_ranx(gold, files)


PROGRAMS: Sequence[tuple[str, str, Program, str]] = (  # what it does, its package, the file
    ("polars reads", "polars", polars_reads, "run000"),
    ("pandas reads", "pandas", pandas_reads, "run000"),
    ("scoring reads and checks (read_run)", "scoring", scoring_reads, "run000"),
    ("... with a bad line", "scoring", scoring_reads, "bad"),
    ("scoring reads, checks and scores", "scoring", scoring_scores, "run000"),
    ("... with a bad line", "scoring", scoring_scores, "bad"),
    ("pytrec_eval reads and scores", "pytrec_eval", pytrec_eval_scores, "run000"),
    ("ranx reads (pandas) and scores", "ranx", ranx_scores, "run000"),
)


def measured(program: Program, folder: Path, run: str) -> tuple[Means, float, float]:
    """Return what a program finds, its seconds, and the peak memory of its process in MB."""
    gold = folder / "gold.tsv"
    program(gold, [folder / "small.tsv"])
    before = resource.getrusage(resource.RUSAGE_SELF)
    found = program(gold, [folder / f"{run}.tsv"])
    after = resource.getrusage(resource.RUSAGE_SELF)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return found, seconds, after.ru_maxrss * 1024 / 1e6


def main() -> None:
    # A process that is spawned begins with the peak of its parent; one of the fork server does not.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(sized([], ["benchmarks.scoring_peers"]))  # a test is to be short
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        with ProcessPoolExecutor(1, context) as pool:
            lines = pool.submit(write_files, folder).result()
        size = (folder / "run000.tsv").stat().st_size
        print(f"{lines:,} lines, {size / 1e6:.0f} MB{'processor time':>34s}{'memory':>14s}")
        means = []
        for name, package, program, run in PROGRAMS:
            if not installed(package):
                continue
            times, peaks = [], []
            for _ in range(ROUNDS):
                with ProcessPoolExecutor(1, context) as pool:
                    found, seconds, peak = pool.submit(measured, program, folder, run).result()
                times.append(seconds)
                peaks.append(peak)
                means += found
            print(f"{name:40s}{min(times):12.2f} s{min(peaks):12.0f} MB", flush=True)
    assert all(math.isclose(mean, means[0]) for mean in means)


if __name__ == "__main__":
    main()
