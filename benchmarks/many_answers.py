"""Another gold for a phase with many answers, and its preview.

`--answers 10000 100000` are answers in all, of ten servers. While the gold changes, a process of
its own asks the hub's `/healthz` every 10 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import Any

import msgspec

from benchmarks import sized
from benchmarks.filled import PHASE, fill, gold_of, settings
from metaserver.base.states import Role
from metaserver.cli.catalogue import OPERATIONS
from metaserver.cli.process import prepare_process
from metaserver.cli.serve import open_service, service_app
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.table import perform
from metaserver.phases.archiver import BoardArchiver
from metaserver.web.server import serve_app

LANES = 10
BEAT = 0.01  # seconds
ANA = Caller(role=Role.ORGANISER, name="organiser ana")


def _asked(address: str, ended: Connection, times: Connection) -> None:
    """Ask a hub whether it lives until something comes; send the seconds of each answer."""
    found: list[float] = []
    while not found or not ended.poll(BEAT):
        begun = time.perf_counter()
        with urllib.request.urlopen(f"{address}healthz", timeout=60) as answer:
            answer.read()
        found.append(time.perf_counter() - begun)
    times.send(found)


@asynccontextmanager
async def _watched(address: str) -> AsyncIterator[list[float]]:
    """Ask a hub all the while; the list has the seconds of all answers in the end, rising."""
    context, found = get_context("spawn"), list[float]()
    (ended, end), (times, sent) = context.Pipe(duplex=False), context.Pipe(duplex=False)
    process = context.Process(target=_asked, args=(address, ended, sent), daemon=True)
    process.start()
    sent.close()  # so that its end is seen, if it fails
    yield found
    end.send(None)
    found += sorted(await asyncio.to_thread(times.recv))
    process.join()


@dataclass(frozen=True, kw_only=True)
class Took:
    """The seconds of a job, those of a core, and those of each answer of the hub, rising."""

    seconds: float
    core: float
    answers: Sequence[float]

    @property
    def p99(self) -> float:
        """The seconds in which 99 of 100 answers came."""
        return self.answers[int(0.99 * len(self.answers))]


async def _timed(service: HubContext, address: str, name: str, **values: Any) -> Took:
    """Run a job, while the hub is asked whether it lives."""
    async with _watched(address) as times:
        begun, spent = time.perf_counter(), time.process_time()
        started = await perform(OPERATIONS[name], service, ANA, values)
        job = service.jobs.own.get(started.job)
        assert job is not None
        await job.ended()
        took, core = time.perf_counter() - begun, time.process_time() - spent
    assert job.report is not None, job.error
    return Took(seconds=took, core=core, answers=times)


async def _catch_up(service: HubContext) -> None:
    """Give the boards all stored answers, as a hub does after its start: a job waits for it."""
    for running in service.phases.scheduler.phases.values():
        async with running.scoring:
            await running.catch_up()


async def _freeze(service: HubContext) -> None:
    for name in ("phases.open", "phases.freeze"):
        await perform(OPERATIONS[name], service, ANA, {"phase": PHASE})
    await service.part(BoardArchiver).look(service.phase(PHASE))


def changed(folder: Path, articles: int, names: Sequence[str] = ("gold.set",)) -> list[Took]:
    """Do these operations with another gold of INT, on a hub at rest."""
    values = {"task": "INT", "content": gold_of("INT", articles, 1), "source": "gold.tsv"}
    return jobs_of(folder, dict.fromkeys(names, values))


def jobs_of(
    folder: Path, asked: Mapping[str, Mapping[str, Any]], *, is_frozen: bool = False
) -> list[Took]:
    """Run jobs of the phase, frozen or not, by their operations' names, on a hub at rest."""

    async def measured() -> list[Took]:
        prepare_process()
        given = settings(folder)
        web = msgspec.structs.replace(given.web, port=0)
        async with (
            open_service(given) as service,
            serve_app(service_app(service), web) as address,
        ):
            await _catch_up(service)
            if is_frozen:
                await _freeze(service)
            return [
                await _timed(service, address, name, phase=PHASE, **values)
                for name, values in asked.items()
            ]

    return asyncio.run(measured())


def gold(folder: Path, articles: int) -> list[str]:
    """Preview, then set another gold of INT."""
    names = ("gold.preview", "gold.set")
    lines = []
    for name, took in zip(names, changed(folder, articles, names), strict=True):
        lines.append(
            f"{name:14}{took.seconds:7.1f} s   /healthz: worst {1000 * took.answers[-1]:.0f} ms, "
            f"p99 {1000 * took.p99:.0f} ms of {len(took.answers)}"
        )
    return lines


def _filled(folder: Path, articles: int) -> list[str]:
    asyncio.run(fill(folder, lanes=LANES, articles=articles))
    return []


def _part(part: Callable[[Path, int], list[str]], folder: Path, articles: int) -> list[str]:
    lines = part(folder, articles)
    used = getrusage(RUSAGE_SELF)
    core, memory = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    cost = f"{'':14}peak memory {memory:.0f} MB, {core:.1f} s of a core"
    return [*lines, cost] if lines else []


def main() -> None:
    """Print the time and memory of each part, each in a process of its own."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--answers", type=int, nargs="*", default=[sized(10_000, 20)])
    for answers in parser.parse_args().answers:
        print(f"{answers:,} answers of {LANES} servers")
        with tempfile.TemporaryDirectory() as folder:
            for part in (_filled, gold):
                with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                    for line in pool.submit(_part, part, Path(folder), answers // LANES).result():
                        print(line, flush=True)


if __name__ == "__main__":
    main()
