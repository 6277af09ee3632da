"""An answer's way from bytes to checked payloads: by patterns, by decoder and check, and loads.

`python -m benchmarks decoding` prints the processor time of each for answers of the standard
library with INT and IPT hits and an ACT call. The three take turns, and the times are of the
thread, so that a busy machine slows all alike. *Patterns* is `wire.usual` on a whole body; in the
hub an answer of more than 64 KB (some 200 hits) is streamed as it arrives and takes the other way.
Target: 30 hits by patterns within 0.5 of the time of decoder and check.
"""

from __future__ import annotations

import statistics
import sys
import time
import xmlrpc.client
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks import sized
from benchmarks.peer import answer_of
from metaserver.exchange.wire.usual import usual_answer
from metaserver.exchange.wire.validation import check
from metaserver.exchange.wire.values import CHUNK, Limits
from metaserver.exchange.wire.xmlrpc import decode_response
from metaserver.tasks.plugin import answered_tasks
from metaserver.uniprot.verdicts import Ruling

TURNS = sized({30: 1_000, 200: 200, 3_000: 15}, {30: 1, 200: 1})
TARGET, JUDGED = 0.5, 30


class Remembered:
    """A vocabulary that has accepted all accessions before, as those of a phase's articles are."""

    def __init__(self, accepted: Sequence[str]) -> None:
        self._accepted = frozenset(accepted)

    def rulings(self, accessions: Sequence[str]) -> Mapping[int, Ruling]:
        """Return a ruling for each of the others."""
        new = [i for i, accession in enumerate(accessions) if accession not in self._accepted]
        return {i: Ruling(None, "unknown") for i in new}


def milliseconds(work: Callable[[], object]) -> float:
    """Return the processor time of the thread for one piece of work."""
    start = time.thread_time()
    work()
    return (time.thread_time() - start) * 1e3


def measure(hits: int, turns: int) -> float:
    """Print a row for answers of `hits` hits; return the ratio of patterns to decoder and check."""
    accessions = [f"P{number:05}" for number in range(hits)]
    sent: Any = answer_of(accessions, hits)
    body = xmlrpc.client.dumps((sent,), methodresponse=True).encode()
    tasks, vocabulary, limits = list(answered_tasks().values()), Remembered(accessions), Limits()
    ways: Sequence[Callable[[], object]] = (
        lambda: usual_answer(body, tasks, vocabulary, limits),
        lambda: check(decode_response(body), tasks, vocabulary),
        lambda: xmlrpc.client.loads(body),
    )
    assert ways[0]() == ways[1]()
    times = [[milliseconds(way) for way in ways] for _ in range(turns)]
    patterns, full, library = (statistics.median(column) for column in zip(*times, strict=True))
    ratio = statistics.median(row[0] / row[1] for row in times)
    streamed = "  (streamed by the hub)" if len(body) > CHUNK else ""
    print(
        f"{hits:6,} {len(body):8,} {patterns:9.3f} ms {full:9.3f} ms {library:9.3f} ms "
        f"{ratio:7.2f} {patterns / library:7.2f}{streamed}"
    )
    return ratio


def main() -> int:
    """Print the table; return 1 where the target is missed."""
    print(f"{'hits':>6} {'bytes':>8} {'patterns':>12} {'decode+check':>12} {'loads':>12}", end="")
    print(f" {'ratio':>7} {'/loads':>7}")
    ratios = {hits: measure(hits, turns) for hits, turns in TURNS.items()}
    return int(ratios[JUDGED] > TARGET)


if __name__ == "__main__":
    sys.exit(main())
