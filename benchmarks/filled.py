"""A store with many answers, made with the store's own functions: for measuring, not for scores."""

from __future__ import annotations

import asyncio
import itertools
import random
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from annotators.protocol import encode_answer
from benchmarks.peer import answer_of
from benchmarks.phase import ACCESSIONS, NAMES, make_articles
from metaserver.config import Settings
from metaserver.files.compression import pack, pack_json
from metaserver.model.lanes import AttemptRecord, Corpus, LaneKey
from metaserver.model.plans import PhasePlan
from metaserver.model.records import (
    Attempt,
    PhaseName,
    Server,
    ServerName,
    TaskName,
    TeamName,
    Timings,
)
from metaserver.model.states import Control, Outcome
from metaserver.store import phases, servers, teams
from metaserver.store.articles import pack_articles, store_articles
from metaserver.store.store import Store, open_store
from metaserver.tasks.plugin import installed_tasks
from metaserver.uniprot import Release, ReleaseVocabulary, build_release
from metaserver.wire.validation import check

PHASE, RELEASE = PhaseName("test"), "benchmark"
STORE_FILE = "metaserver.sqlite"
AT_A_TIME = 512
VARIETY = 256
TEXT = "MDM2 binds p53 & targets it for degradation. " * 40


def settings(folder: Path) -> Settings:
    """Return a hub's settings with a small release of its own."""
    releases = folder / "releases"
    if not (releases / RELEASE).exists():
        build_release([NAMES], name=RELEASE, out=releases / RELEASE)
    given = {"folder": str(folder), "uniprot": {"releases": str(releases)}}
    return msgspec.convert(given, Settings)


def gold_of(task: str, articles: int, shift: int = 0) -> bytes:
    """Return a gold file for the articles; another `shift` makes other labels."""
    lines = {
        "ACT": lambda name, n: f"{name}\t{(n + shift) % 2}\n",
        "INT": lambda name, n: f"{name}\t{ACCESSIONS[(n + shift) % 20]}\n",
        "IPT": lambda name, n: f"{name}\t{ACCESSIONS[shift]}\t{ACCESSIONS[shift + 1]}\n",
    }
    named = enumerate(article.id for article in make_articles(articles, ""))
    return "".join(lines[task](name, n) for n, name in named).encode()


async def fill(folder: Path, *, lanes: int, articles: int) -> Settings:
    """Create a hub's folder with one phase whose servers have answered every article."""
    given = settings(folder)
    async with open_store(folder / STORE_FILE) as store:
        corpus, phase_id, keys = await _phase(store, lanes, articles)
        await record_answers(store, given, corpus, keys, articles)
        for task in ("ACT", "INT", "IPT"):
            await store.set_gold(phase_id, TaskName(task), "gold.tsv", gold_of(task, articles))
    return given


async def fill_rows(folder: Path, *, lanes: int, articles: int) -> Settings:
    """Create a hub's folder as `fill` does, writing the rows directly: a million in two minutes.

    The answers vary: each is one of `VARIETY` with 30 hits. One attempt in 50 timed out before.
    """
    given = settings(folder)
    async with open_store(folder / STORE_FILE) as store:
        _, phase_id, keys = await _phase(store, lanes, articles)
        for task in ("ACT", "INT", "IPT"):
            await store.set_gold(phase_id, TaskName(task), "gold.tsv", gold_of(task, articles))
    answers = [_packed(given, number) for number in range(VARIETY)]
    with closing(sqlite3.connect(folder / STORE_FILE)) as connection:
        for pragma in ("journal_mode=WAL", "synchronous=OFF"):
            connection.execute(f"PRAGMA {pragma}")
        for key in keys:
            _fill_lane(connection, key, articles, answers)
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return given


class _Packed(NamedTuple):
    """An answer as it is stored."""

    payloads: bytes
    raw: bytes
    hits: int


def _packed(given: Settings, number: int) -> _Packed:
    rng = random.Random(number)
    checked, raw = _answer(given, rng.sample(ACCESSIONS[:60], 40))
    return _Packed(pack_json(checked.payloads), raw, checked.hits_kept)


def _fill_lane(
    connection: sqlite3.Connection, key: LaneKey, articles: int, answers: Sequence[_Packed]
) -> None:
    rng = random.Random(key.server_id)
    attempts, raw, accepted = [], [], []
    at = time.time() - articles * 2.0
    for position in range(articles):
        at += 2.0
        number, lane = 1, (*key, position)
        if rng.random() < 0.02:
            attempts.append((*lane, 1, len(attempts) + 1, at, "timeout", "too slow", 300.0, 0))
            number = 2
        answer = rng.choice(answers)
        total = rng.lognormvariate(0.0, 0.5)
        attempts.append((*lane, number, len(attempts) + 1, at, "ok", "", total, 1))
        raw.append((*lane, number, answer.raw))
        accepted.append((*lane, number, answer.payloads, answer.hits, 0))
    connection.executemany(
        "INSERT INTO attempts (phase_id, server_id, position, number, serial, started_at, outcome,"
        " message, total, final, epoch, queue, wait, transfer, parse, bytes_out, bytes_in,"
        " problem_count) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 0.0, 0.4, 0.01, 0.001, 2000,"
        " 9000, 0)",
        attempts,
    )
    connection.executemany("INSERT INTO raw_answers VALUES (?, ?, ?, ?, ?)", raw)
    connection.executemany("INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)", accepted)
    connection.execute(
        "UPDATE lanes SET serial = ?, cursor = ? WHERE phase_id = ? AND server_id = ?",
        (len(attempts), articles, *key),
    )


async def record_answers(
    store: Store, given: Settings, corpus: Corpus, keys: Sequence[LaneKey], articles: int
) -> None:
    """Take lanes, and store the answers of each to its first `articles` articles."""
    for key in keys:
        await store.take_lane(key)
    checked, raw = _answer(given)
    entries = _entries(corpus, keys, articles, checked, raw)
    while batch := list(itertools.islice(entries, AT_A_TIME)):
        await asyncio.gather(*map(store.record, batch))


async def _phase(store: Store, lanes: int, articles: int) -> tuple[Corpus, int, list[LaneKey]]:
    packed = pack_articles(make_articles(articles, TEXT))
    async with store.writing() as connection:
        corpus = await store_articles(connection, packed)
        await phases.add_corpus_version(connection, "corpus", corpus.id, "made")
        await phases.set_challenge(connection, "bc", "A challenge", "UTC")
        [challenge] = await phases.list_challenges(connection)
        phase_id = await phases.add(
            connection, PHASE, challenge.id, PhasePlan(), corpus_id=corpus.id, release=RELEASE
        )
        team = await teams.add(connection, TeamName("blue"), "", "")
        keys = []
        for number in range(lanes):
            server = Server(name=ServerName(f"s{number}"), url="http://127.0.0.1:9/")
            key = LaneKey(phase_id, await servers.add(connection, server, team))
            await servers.set_control(connection, key, Control.PAUSED)
            keys.append(key)
    return corpus, phase_id, keys


def _answer(given: Settings, accessions: Sequence[str] = ACCESSIONS) -> tuple[Any, bytes]:
    answer = answer_of(list(accessions))
    vocabulary = ReleaseVocabulary(release=Release.open(given.release_folder(RELEASE)))
    tasks = [task for name, task in installed_tasks().items() if name != "NER"]
    return check(answer, tasks, vocabulary), pack(encode_answer(answer))


def _entries(
    corpus: Corpus, keys: Sequence[LaneKey], articles: int, checked: Any, raw: bytes
) -> Iterator[AttemptRecord]:
    for key, position in itertools.product(keys, range(articles)):
        attempt = Attempt(
            server=ServerName(""),
            article=corpus.ids[position],
            number=1,
            started_at=1.0e9 + position,
            outcome=Outcome.OK,
            timings=Timings(queue=0.0, total=0.1),
            raw=raw,
        )
        yield AttemptRecord(
            lane=key,
            epoch=1,
            position=position,
            attempt=attempt,
            answer=checked,
            final=True,
            cursor=position + 1,
        )
