"""Judging accessions: a release against a Python set, SQLite and pyroaring, at UniProt's sizes.

`python benchmarks/uniprot_lookup.py [--entries N ...]` makes synthetic sources (six-character
accessions as in 2009; for the large size ten-character ones in 4,000 pages too), builds a release,
and asks every contender the same 100 batches of 3,000 strings: 70 % primary, 10 % secondary, 5 %
deleted, 10 % unknown, 5 % malformed. Each contender runs in a process of its own and must give the
same statuses. Strings are new objects in every batch, as in a decoded answer. Memory is what a
contender adds to its process: private, and pages of mapped files, which the kernel can take back.
Where the Python set would not fit, it is left out.

Targets: five times as fast as the set at 8 million, under 1 ms a batch at 150 million, under 20 MB.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks import installed, sized
from metaserver.uniprot import Release
from metaserver.uniprot.codec import MALFORMED, PAGE, PATTERN, TEN, Codes, characters, encode

SIZES = sized(
    [8_000_000], [20_000]
)  # 150 million, with the set, takes 16 GB and ten minutes: --entries
SIX_CODES = 91_497_600
MOST_SIXES, TEN_PAGES = 20_000_000, 4_000
BATCHES, BATCH = sized((100, 3_000), (2, 300))
SHARES = {"live": 0.70, "secondary": 0.10, "deleted": 0.05, "unknown": 0.10}
WRONG = (b"P04637-2", b"P53_HUMAN", b"p04637", b"7157", b"NP_000537.3")
PRIMARY, SECONDARY, DELETED, UNKNOWN, MALFORMED_STATUS = range(5)
SET_BYTES = 110  # a string and its place in the set
Judge = Callable[[Sequence[str]], Sequence[int]]


def lines(codes: Codes) -> bytes:
    """Return the accessions of codes, all of one length, one a line."""
    width = 10 if len(codes) and codes[0] >= TEN else 6
    text = np.full((len(codes), width + 1), ord("\n"), np.uint8)
    text[:, :width] = characters(codes)[:, :width]
    return text.tobytes()


def ranges(entries: int) -> Iterator[tuple[Codes, float]]:
    """Yield ranges of codes, each with the share of them that is live."""
    sixes = min(entries, MOST_SIXES)
    for start in range(0, SIX_CODES, PAGE):
        yield np.arange(start, min(start + PAGE, SIX_CODES)), sixes / SIX_CODES
    first = TEN + (int(encode(["A0A000AAA0"])[0]) - TEN) // PAGE * PAGE
    for page in range(TEN_PAGES if entries > sixes else 0):
        start = first + page * PAGE
        yield np.arange(start, start + PAGE), (entries - sixes) / (TEN_PAGES * PAGE)


def make(folder: Path, entries: int) -> None:
    """Write the sources of a release, and the batches to ask it."""
    rng = np.random.default_rng(entries)
    samples: dict[str, list[Codes]] = {kind: [] for kind in SHARES}
    with (
        (folder / "live.txt").open("wb") as live,
        (folder / "sec_ac.txt").open("wb") as secondary,
        (folder / "delac_tr.txt").open("wb") as deleted,
    ):
        secondary.write(b"Name:        sec_ac.txt\n\nSecondary AC  Primary AC\n____________\n")
        deleted.write(b"Name:        delac_tr.txt\n\nDeleted AC\n__________\n")
        for codes, filled in ranges(entries):
            kind = np.searchsorted([filled, filled + 0.01, filled + 0.0105], rng.random(len(codes)))
            found = dict(zip(("live", "deleted", "secondary", "unknown"),
                             (codes[kind == i] for i in range(4)), strict=True))  # fmt: skip
            live.write(lines(found["live"]))
            deleted.write(lines(found["deleted"]))
            olds = lines(found["secondary"]).split()
            news = lines(rng.choice(found["live"], len(olds))).split()
            secondary.writelines(b"%s  %s\n" % pair for pair in zip(olds, news, strict=True))
            for name, codes_of_kind in found.items():
                samples[name].append(rng.choice(codes_of_kind, min(len(codes_of_kind), 500)))
    write_batches(folder / "batches.txt", samples, rng)


def write_batches(path: Path, samples: dict[str, list[Codes]], rng: np.random.Generator) -> None:
    pools = {kind: np.concatenate(parts) for kind, parts in samples.items()}
    with path.open("wb") as file:
        for _ in range(BATCHES):
            codes = [rng.choice(pools[kind], round(s * BATCH)) for kind, s in SHARES.items()]
            batch = [bytes(row).rstrip() for row in characters(np.concatenate(codes))]
            batch += [WRONG[i % len(WRONG)] for i in range(BATCH - len(batch))]
            file.write(b" ".join(batch[i] for i in rng.permutation(BATCH)) + b"\n")


def accessions(path: Path) -> Iterator[str]:
    """Yield the first word of each line below the rule, or of all lines of a plain list."""
    with path.open() as file:
        for line in file if path.name != "live.txt" else ():
            if line.startswith("____"):
                break
        for line in file:
            yield line.split(maxsplit=1)[0]


def release_judge(folder: Path) -> Judge:
    judge = Release.open(folder / "release").judge
    return lambda strings: judge(strings).tolist()


def set_judge(folder: Path) -> Judge:
    live = set(accessions(folder / "live.txt"))
    secondary = set(accessions(folder / "sec_ac.txt"))
    deleted = set(accessions(folder / "delac_tr.txt"))
    well_formed = re.compile(PATTERN.pattern).fullmatch

    def status(text: str) -> int:
        if text in live:
            return PRIMARY
        if text in secondary:
            return SECONDARY
        if text in deleted:
            return DELETED
        return UNKNOWN if well_formed(text) else MALFORMED_STATUS

    return lambda strings: [status(text) for text in strings]


def sqlite_judge(folder: Path) -> Judge:
    path = folder / "accessions.sqlite"
    fresh = not path.exists()
    database = sqlite3.connect(path)
    if fresh:
        database.execute("PRAGMA synchronous = OFF")
        database.execute("PRAGMA journal_mode = OFF")
        database.execute(
            "CREATE TABLE known (accession TEXT PRIMARY KEY, status INT) WITHOUT ROWID"
        )
        for name, status in (("live", PRIMARY), ("sec_ac", SECONDARY), ("delac_tr", DELETED)):
            rows = ((text, status) for text in accessions(folder / f"{name}.txt"))
            database.executemany("INSERT INTO known VALUES (?, ?)", rows)
        database.commit()
    query = (
        "SELECT status FROM json_each(?) AS asked"
        " LEFT JOIN known ON known.accession = asked.value ORDER BY asked.key"
    )

    def judge(strings: Sequence[str]) -> list[int]:
        found = [row[0] for row in database.execute(query, (json.dumps(strings),))]
        return [
            status if status is not None
            else UNKNOWN if PATTERN.fullmatch(text) else MALFORMED_STATUS
            for text, status in zip(strings, found, strict=True)
        ]  # fmt: skip

    return judge


def pyroaring_judge(folder: Path) -> Judge:
    """Return a judge over bitmaps of our codes: the codec is ours, the containers pyroaring's."""
    from pyroaring import BitMap64

    def bitmap(name: str) -> Any:
        found, batch = BitMap64(), []
        for text in accessions(folder / name):
            batch.append(text)
            if len(batch) == 1_000_000:
                found |= BitMap64(encode(batch).tolist())
                batch = []
        return found | BitMap64(encode(batch).tolist())

    live, secondary, deleted = map(bitmap, ("live.txt", "sec_ac.txt", "delac_tr.txt"))

    def status(code: int) -> int:
        if code == MALFORMED:
            return MALFORMED_STATUS
        if code in live:
            return PRIMARY
        if code in secondary:
            return SECONDARY
        return DELETED if code in deleted else UNKNOWN

    return lambda strings: [status(code) for code in encode(strings).tolist()]


CONTENDERS: dict[str, Callable[[Path], Judge]] = {
    "release": release_judge,
    "set": set_judge,
    "SQLite": sqlite_judge,
    **({"pyroaring": pyroaring_judge} if installed("pyroaring") else {}),
}


def memory(pid: int | str = "self") -> tuple[int, int]:
    """Return a process's resident bytes: its own (anonymous), and pages of mapped files."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        text = ""
    found = dict(re.findall(r"(RssAnon|RssFile):\s+(\d+)", text))
    return 1024 * int(found.get("RssAnon", 0)), 1024 * int(found.get("RssFile", 0))


def measure(name: str, folder: Path) -> None:
    """Run one contender and print its time and memory as JSON."""
    batches = (folder / "batches.txt").read_bytes().splitlines()
    before, start = memory(), time.perf_counter()
    judge = CONTENDERS[name](folder)
    ready = time.perf_counter() - start
    times, total = [], [0] * 5
    for line in batches:
        strings = line.decode().split(" ")
        start = time.perf_counter()
        statuses = judge(strings)
        times.append(time.perf_counter() - start)
        for status in statuses:
            total[status] += 1
    after = memory()
    result = {
        "ready": ready,
        "first": times[0],
        "median": statistics.median(times),
        "private": after[0] - before[0],
        "mapped": after[1] - before[1],
        "statuses": total,
    }
    print(json.dumps(result))


def in_process(name: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, "--contender", name, "--folder", str(folder)]
    found: dict[str, Any] = json.loads(subprocess.check_output(command))
    return found


def build(folder: Path) -> None:
    """Build the release with the command line, and print its time and its peak memory."""
    sources = [str(folder / f"{name}.txt") for name in ("live", "sec_ac", "delac_tr")]
    command = [sys.executable, "-m", "metaserver.cli.main", "uniprot", "build", "--from", *sources,
               "--release", "synthetic", "--out", str(folder / "release")]  # fmt: skip
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    private = shared = 0
    while process.poll() is None:
        own, files = memory(process.pid)
        private, shared = max(private, own), max(shared, files)
        time.sleep(0.02)
    assert process.returncode == 0
    took = time.perf_counter() - start
    print(f"built in {took:,.1f} s; peak memory {private / 1e6:,.0f} MB private,"
          f" {shared / 1e6:,.0f} MB of mapped files (the kernel's to take back)")  # fmt: skip


def forget(folder: Path) -> None:
    """Drop a folder's files from the page cache."""
    os.sync()
    for path in folder.iterdir():
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def compare(entries: int) -> None:
    with tempfile.TemporaryDirectory(prefix="uniprot-") as name:
        folder = Path(name)
        make(folder, entries)
        print(f"\n{entries:,} entries, sources of "
              f"{sum(p.stat().st_size for p in folder.glob('*.txt')) / 1e6:,.0f} MB")  # fmt: skip
        build(folder)
        forget(folder / "release")
        cold = in_process("release", folder)
        print(f"cold start (nothing in the page cache): opened in {cold['ready'] * 1e3:.1f} ms,"
              f" first batch {cold['first'] * 1e3:.1f} ms")  # fmt: skip
        print(
            f"{'':12}{'3,000 strings':>14}{'ratio':>8}{'private':>12}{'mapped':>12}{'ready in':>12}"
        )
        ours = in_process("release", folder)
        for contender in CONTENDERS:
            report(contender, entries, folder, ours)


def report(contender: str, entries: int, folder: Path, ours: dict[str, Any]) -> None:
    needed, free = entries * SET_BYTES, psutil.virtual_memory().available
    if contender == "set" and needed > free * 0.8:
        print(f"{contender:12} left out: needs about {needed / 1e9:.0f} GB")
        return
    found = ours if contender == "release" else in_process(contender, folder)
    assert found["statuses"] == ours["statuses"], (contender, found["statuses"], ours["statuses"])
    print(f"{contender:12}{found['median'] * 1e3:11.2f} ms{found['median'] / ours['median']:8.1f}"
          f"{found['private'] / 1e6:9,.1f} MB{found['mapped'] / 1e6:9,.1f} MB"
        f"{found['ready']:10.2f} s")  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--entries", type=int, nargs="+", default=SIZES)
    parser.add_argument("--contender", choices=CONTENDERS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options, _ = parser.parse_known_args()
    if options.contender:
        measure(options.contender, options.folder)
        return 0
    for entries in options.entries:
        compare(entries)
    return 0


if __name__ == "__main__":
    sys.exit(main())
