"""Leaderboards in memory: bytes and time a scored answer, and the cost of means of changed runs.

`--runs 100 1000` are servers that each answered `--articles` articles with 30 hits, scored as INT
and IPT in every view and as ACT, without a store. Then every run gets one more answer, and each
board is read as pages read it.
"""

from __future__ import annotations

import argparse
import gc
import pickle
import random
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import msgspec
import psutil

from benchmarks import sized
from benchmarks.filled import RELEASE, settings
from benchmarks.phase import ACCESSIONS, make_articles
from metaserver.base.boards import RAW
from metaserver.base.records import ArticleId, ServerName, TaskName
from metaserver.boards.gold import read_gold, scored_tasks
from metaserver.boards.scoreboard import BoardKey, GoldMark, Scoreboard
from metaserver.uniprot import Release, ReleaseVocabulary

ITEMS, SINGLES, PAIRS = 5, 20, 10
"""Gold items of an article, and hits of an answer."""
VARIANTS = 8
"""Different answers of an article."""
VIEWS = ("mapped", "filtered", "both")
"""The small release has no orthologs and taxa: here they score the same hits as the raw view."""
ACT, INT, IPT = map(TaskName, ("ACT", "INT", "IPT"))


def _pair(chance: random.Random) -> tuple[str, str]:
    left, right = sorted(chance.sample(ACCESSIONS, 2))
    return left, right


def scoreboard(folder: Path, articles: list[ArticleId]) -> Scoreboard:
    """Return an empty board with gold for the articles."""
    chance = random.Random(1)
    gold = {ACT: "", INT: "", IPT: ""}
    for article in articles:
        gold[ACT] += f"{article}\t{chance.randrange(2)}\n"
        gold[INT] += "".join(f"{article}\t{one}\n" for one in chance.sample(ACCESSIONS, ITEMS))
        pairs = {_pair(chance) for _ in range(ITEMS)}
        gold[IPT] += "".join(f"{article}\t{left}\t{right}\n" for left, right in sorted(pairs))
    release = Release.open(settings(folder).release_folder(RELEASE))
    golds = {task: read_gold(task, text.encode(), "gold.tsv") for task, text in gold.items()}
    marks = {task: GoldMark(1, "c0ffee") for task in golds}
    tasks = scored_tasks(golds, ReleaseVocabulary(release=release), marks)
    return Scoreboard(
        [
            replace(task, views=dict.fromkeys(VIEWS, task.scorers()[RAW]))
            if task.plugin.name != ACT
            else task
            for task in tasks
        ]
    )


def payloads(chance: random.Random) -> dict[TaskName, Any]:
    """Return an answer of 30 hits, as it is stored."""
    pairs = {_pair(chance): None for _ in range(2 * PAIRS)}
    answer = {
        ACT: [chance.random() < 0.5, 1.0 - chance.random()],
        INT: [
            [one, rank, 1 / rank] for rank, one in enumerate(chance.sample(ACCESSIONS, SINGLES), 1)
        ],
        IPT: [[*pair, rank, 1 / rank] for rank, pair in enumerate(list(pairs)[:PAIRS], 1)],
    }
    return msgspec.json.decode(msgspec.json.encode(answer), type=dict[TaskName, Any])


def _memory() -> int:
    gc.collect()
    return int(psutil.Process().memory_full_info().uss)


def measure(folder: Path, runs: int, count: int) -> list[str]:
    """Fill a board, change every run, and read it."""
    articles = [article.id for article in make_articles(count, "")]
    board, chance = scoreboard(folder, articles), random.Random(2)
    answers = {article: [payloads(chance) for _ in range(VARIANTS)] for article in articles}
    keys: dict[BoardKey, Any] = {}
    board.prepare(articles[0], answers[articles[0]][0], keys)
    begun = time.process_time()
    for article, given in answers.items():
        for answer in given:
            board.prepare(article, answer, {})
    prepare = (time.process_time() - begun) / (count * VARIANTS)
    packed = {
        article: [_packed(board, list(keys), article, answer) for answer in given]
        for article, given in answers.items()
    }
    del answers
    names = dict.fromkeys((INT, IPT, ACT))
    before, putting = _memory(), 0.0
    for server in (ServerName(f"s{number}") for number in range(runs)):
        ready = [(one, _unpacked(list(keys), chance.choice(packed[one]))) for one in articles]
        begun = time.process_time()
        for article, prepared in ready:
            board.put(server, article, names, prepared)
        putting += time.process_time() - begun
    filled = _memory()
    scored = runs * count
    sizes = (
        f"{scored:,} answers: {(filled - before) / 1e6:.0f} MB of boards, "
        f"{(filled - before) / scored:.0f} bytes an answer; "
        f"prepare {1e6 * prepare:.0f} us, put {1e6 * putting / scored:.0f} us, "
        f"on {len(keys)} boards"
    )
    lines = [sizes, *_read(board, runs, articles[0], packed, list(keys), names)]
    lines.append(f"{'':8}all means: {(_memory() - filled) / 1e6:.0f} MB more")
    lines += list(_kept(board, runs))
    return lines


def _packed(
    board: Scoreboard, keys: list[BoardKey], article: ArticleId, answer: dict[TaskName, Any]
) -> bytes:
    prepared: dict[BoardKey, Any] = {}
    board.prepare(article, answer, prepared)
    return pickle.dumps([prepared[key] for key in keys])


def _unpacked(keys: list[BoardKey], packed: bytes) -> dict[BoardKey, Any]:
    """Return a prepared answer of values of its own."""
    return dict(zip(keys, pickle.loads(packed), strict=True))


def _read(
    board: Scoreboard,
    runs: int,
    article: ArticleId,
    packed: dict[ArticleId, list[bytes]],
    keys: list[BoardKey],
    names: dict[TaskName, Any],
) -> Iterator[str]:
    """Yield the time of reading each board when all runs have changed."""
    for _ in range(2):
        for number in range(runs):
            prepared = _unpacked(keys, packed[article][number % VARIANTS])
            board.put(ServerName(f"s{number}"), article, names, prepared)
        lines = []
        for task in (INT, IPT, ACT):
            begun = time.process_time()
            scores = board.recent(task)
            some = time.process_time() - begun
            board.board_of(task, RAW, scores)
            page = time.process_time() - begun
            begun = time.process_time()
            scores = board.scores(task)
            means = time.process_time() - begun
            board.board_of(task, RAW, scores)
            curves = time.process_time() - begun - means
            begun = time.process_time()
            board.board_of(task, RAW, board.recent(task))
            read = time.process_time() - begun
            lines.append(
                f"{'':8}{task}, all runs changed: means {1e3 * means / runs:.2f} ms a run, curves "
                f"{1e3 * curves / runs:.2f} ms; on the loop at once {1e3 * some:.0f} ms, with the "
                f"first rows {1e3 * page:.0f} ms; a board without changes {1e3 * read:.0f} ms"
            )
    yield from lines
    for name, views in ((one, board.views(one)) for one in names):
        for view in views:
            board.board(name, view)


def _kept(board: Scoreboard, runs: int) -> Iterator[str]:
    size, begun = 0, time.process_time()
    other = Scoreboard(board.scored())
    loading = 0.0
    for server in (ServerName(f"s{number}") for number in range(runs)):
        dumps = board.dump(server)
        size += sum(len(dump.data) for dump in dumps)
        started = time.process_time()
        assert not other.load(server, dumps)
        loading += time.process_time() - started
    took = time.process_time() - begun - loading
    yield (
        f"{'':8}dump {1e3 * took / runs:.2f} ms, load {1e3 * loading / runs:.2f} ms, "
        f"{size / runs / 1000:.1f} kB a server"
    )


def main() -> None:
    """Print the figures of each number of runs, each in a process of its own."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--runs", type=int, nargs="*", default=[sized(100, 2)])
    parser.add_argument("--articles", type=int, default=sized(1_000, 4))
    given = parser.parse_args()
    for runs in given.runs:
        with (
            tempfile.TemporaryDirectory() as folder,
            ProcessPoolExecutor(1, get_context("spawn")) as pool,
        ):
            for line in pool.submit(measure, Path(folder), runs, given.articles).result():
                print(line, flush=True)


if __name__ == "__main__":
    main()
