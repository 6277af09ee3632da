"""A store with many answers, made with the store's own functions: for measuring, not for scores."""

from __future__ import annotations

import asyncio
import itertools
import random
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec

from annotators.protocol import encode_answer
from benchmarks.peer import answer_of
from benchmarks.phase import ACCESSIONS, NAMES, make_articles
from metaserver.base.compression import pack, pack_json
from metaserver.base.lanes import AttemptRecord, CheckedAnswer, Corpus, LaneKey
from metaserver.base.plans import PhasePlan
from metaserver.base.records import (
    Attempt,
    PhaseName,
    Server,
    ServerName,
    TaskName,
    TeamName,
    Timings,
)
from metaserver.base.states import Control, Outcome
from metaserver.config import Settings
from metaserver.exchange.wire.validation import check
from metaserver.store import leases, phases, servers, teams
from metaserver.store.articles import pack_articles, store_articles
from metaserver.store.store import Store, open_store
from metaserver.tasks.plugin import answered_tasks
from metaserver.uniprot import Release, ReleaseVocabulary, build_release

PHASE, RELEASE = PhaseName("test"), "benchmark"
STORE_FILE = "metaserver.sqlite"
AT_A_TIME = 512
VARIETY = 256  # different answers, more than a compressor remembers
ARTICLE_SECONDS = 2.0
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
        corpus, phase_id, keys = await make_phase(store, lanes, articles)
        await record_answers(store, given, corpus, keys, articles)
        for task in ("ACT", "INT", "IPT"):
            await store.set_gold(phase_id, TaskName(task), "gold.tsv", gold_of(task, articles))
    return given


async def record_answers(
    store: Store, given: Settings, corpus: Corpus, keys: Sequence[LaneKey], articles: int
) -> None:
    """Take lanes, and store the answers of each to its first `articles` articles.

    The servers answer in turn, so that the rows of a lane are apart from each other, as a hub
    leaves them.
    """
    await take(store, keys)
    entries = entries_of(corpus, keys, articles, checked_answers(given))
    while batch := list(itertools.islice(entries, AT_A_TIME)):
        await asyncio.gather(*map(store.record, batch))
    async with store.writing() as connection:
        await leases.make_none_due(connection)
        await leases.leave(connection, "benchmark")


async def take(store: Store, keys: Sequence[LaneKey]) -> None:
    async with store.writing() as connection:
        for key in keys:
            await leases.order(connection, key, due=True)
        tickets = await leases.offers(connection)
    await store.take_lanes(tickets, "benchmark")


async def fill_rows(
    folder: Path, *, lanes: int, articles: int, answered: int | None = None
) -> Settings:
    """Create a hub's folder as `fill` does, writing the rows directly: a million in a minute.

    Where `answered` is given, the servers have answered so many articles, the others not.
    The answers vary: each is one of `VARIETY` with 30 hits. One attempt in 50 timed out before.
    """
    given = settings(folder)
    async with open_store(folder / STORE_FILE) as store:
        _, phase_id, keys = await make_phase(store, lanes, articles)
        await take(store, keys)
        for task in ("ACT", "INT", "IPT"):
            await store.set_gold(phase_id, TaskName(task), "gold.tsv", gold_of(task, articles))
    answers = [
        _Packed(pack_json(checked.payloads), raw, checked.hits_kept)
        for checked, raw in checked_answers(given)
    ]
    with closing(sqlite3.connect(folder / STORE_FILE)) as connection:
        for pragma in ("journal_mode=WAL", "synchronous=OFF"):
            connection.execute(f"PRAGMA {pragma}")
        answered = articles if answered is None else answered
        began = time.time() - answered * ARTICLE_SECONDS
        logs = [_Log(key, random.Random(key.server_id), began) for key in keys]
        for first in range(0, answered, AT_A_TIME // lanes + 1):
            last = min(answered, first + AT_A_TIME // lanes + 1)
            _fill_articles(connection, logs, range(first, last), answers)
        connection.executemany(
            "UPDATE lanes SET serial = ?, cursor = ? WHERE phase_id = ? AND server_id = ?",
            [(log.serial, answered, *log.key) for log in logs],
        )
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return given


@dataclass(slots=True)
class _Log:
    """A lane's log while it is written."""

    key: LaneKey
    rng: random.Random
    at: float
    serial: int = 0


class _Packed(NamedTuple):
    """An answer as it is stored."""

    payloads: bytes
    raw: bytes
    hits: int


def _fill_articles(
    connection: sqlite3.Connection,
    logs: Sequence[_Log],
    positions: range,
    answers: Sequence[_Packed],
) -> None:
    """Write the rows of some articles, which the servers answer in turn, as a hub leaves them."""
    attempts, raw, accepted = [], [], []
    for position, log in itertools.product(positions, logs):
        log.at += ARTICLE_SECONDS
        number, lane = 1, (*log.key, position)
        if log.rng.random() < 0.02:
            log.serial += 1
            attempts.append((*lane, 1, log.serial, log.at, "timeout", "too slow", 300.0, 0))
            number = 2
        answer = log.rng.choice(answers)
        log.serial += 1
        total = log.rng.lognormvariate(0.0, 0.5)
        attempts.append((*lane, number, log.serial, log.at, "ok", "", total, 1))
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
    connection.executemany(
        "INSERT INTO answers (phase_id, server_id, position, number, payloads, hits_kept,"
        " hits_dropped) VALUES (?, ?, ?, ?, ?, ?, ?)",
        accepted,
    )


async def make_phase(store: Store, lanes: int, articles: int) -> tuple[Corpus, int, list[LaneKey]]:
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


def checked_answers(given: Settings) -> list[tuple[CheckedAnswer, bytes]]:
    """Return answers of other hits and confidences each: checked, and packed as received."""
    vocabulary = ReleaseVocabulary(release=Release.open(given.release_folder(RELEASE)))
    tasks = [task for name, task in answered_tasks().items() if name != "NER"]
    some = random.Random(7)
    made = []
    for _ in range(VARIETY):
        answer = answer_of(some.sample(ACCESSIONS, len(ACCESSIONS)))
        for hit in itertools.chain(answer["normalizations"], answer["pairs"]):
            hit["confidence"] = 1.0 - some.random()
        made.append((check(answer, tasks, vocabulary), pack(encode_answer(answer))))
    return made


def entries_of(
    corpus: Corpus,
    keys: Sequence[LaneKey],
    articles: int,
    answers: Sequence[tuple[CheckedAnswer, bytes]],
) -> Iterator[AttemptRecord]:
    asked = itertools.product(range(articles), keys)
    for (position, key), (checked, raw) in zip(asked, itertools.cycle(answers), strict=False):
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
