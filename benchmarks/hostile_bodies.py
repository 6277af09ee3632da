"""Bodies that were made to cost the patterns of `wire.usual` as much time as possible.

`python -m benchmarks hostile_bodies` reads each at 16, 32 and 64 KB by the patterns, and the last
by decoder and check as well: the time has to grow in proportion, since no other call is served
meanwhile. Prints the least of several times of the thread.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from benchmarks import sized
from benchmarks.decoding import milliseconds
from benchmarks.fuzz_decoding import LIMITS, RELEASE, full
from metaserver.exchange.wire.usual import usual_answer
from metaserver.tasks.plugin import answered_tasks

SIZES = sized((16_000, 32_000, 64_000), (1_000, 2_000, 4_000))
TURNS = sized(5, 1)
MOST = 6.0  # times as long for four times the bytes; proportional is 4

BEGIN = "<?xml version='1.0'?><methodResponse><params><param><value><struct>"
END = "</struct></value></param></params></methodResponse>"
HITS = f"{BEGIN}<member><name>normalizations</name><value><array><data>"
HITS_END = f"</data></array></value></member>{END}"
ACT = f"{BEGIN}<member><name>interaction</name><value><array><data>"
ACT += "<value><boolean>1</boolean></value>"
HIT = "<value><struct>"
CONFIDENCE = "<member><name>confidence</name><value><double>"
EVIDENCE = "<member><name>evidence</name><value>"


def member(name: str, value: str) -> str:
    """Return a member of a hit."""
    return f"<member><name>{name}</name><value>{value}</value></member>"


RANK = member("rank", "<int>1</int>")
WHOLE = (
    HIT
    + member("dbid", "<string>P04637</string>")
    + RANK
    + member("confidence", "<double>0.5</double>")
    + "</struct></value>"
)
NAMED = HIT + member("dbid", "P04637") + CONFIDENCE
BODIES: Mapping[str, tuple[str, str, str]] = {  # beginning, what is repeated, end
    "one hit of many members, then a wrong tag": (HITS + HIT, RANK, "<x/>" + HITS_END),
    "hits, the last one empty": (HITS, WHOLE, HIT + "</struct></value>" + HITS_END),
    "hits of one accession": (HITS, WHOLE, HITS_END),
    "hits that are not closed": (HITS, HIT, HITS_END),
    "members that are not closed": (HITS, HIT + "<member><name>rank</name>", HITS_END),
    "hits cut off in a member": (HITS, HIT + RANK + "<member>", HITS_END),
    "white space in a value": (HITS + "<value>", " \n", HITS_END),
    "white space behind a member": (HITS + HIT + RANK, "\n", HITS_END),
    "values and white space": (HITS, "<value>" + " " * 50, HITS_END),
    "digits, then a letter": (HITS + HIT + CONFIDENCE + "0.", "1", "x</double></value>" + HITS_END),
    "digits without an end": (HITS + HIT + CONFIDENCE, "1", HITS_END),
    "digits of a valid double": (
        HITS + NAMED + "0.", "1", "</double></value></member></struct></value>" + HITS_END
    ),
    "digits of a valid exponent": (
        HITS + NAMED + "1e-", "9", "</double></value></member></struct></value>" + HITS_END
    ),
    "digits of a classification": (ACT + "<value><double>", "1", "</double></value>" + HITS_END),
    "references in a string, then a stray &": (
        HITS + HIT + EVIDENCE + "<string>", "&amp;", "&</string></value></member>" + HITS_END
    ),
    "references in words, then a stray &": (
        HITS + HIT + EVIDENCE, "&amp;", "&</value></member>" + HITS_END
    ),
    "members with references": (HITS + HIT, member("evidence", "&amp;&lt;a&gt;" * 20), HITS_END),
    "a long accession, then a tab": (
        HITS + HIT + "<member><name>dbid</name><value>", "P", "\t" + HITS_END
    ),
    "empty arrays of one name": (BEGIN, member("x", "<array><data/></array>"), END),
    "arrays that are not closed": (BEGIN, "<member><name>x</name><value><array><data>", ""),
    "white space before the message": ("<?xml version='1.0'?>", "\n", "x"),
    "white space behind the message": (BEGIN + END, "\0 ", "x"),
}  # fmt: skip


def body(parts: tuple[str, str, str], size: int) -> bytes:
    """Return a body of about so many bytes."""
    begin, repeated, end = parts
    return (begin + repeated * ((size - len(begin) - len(end)) // len(repeated)) + end).encode()


def least(work: Callable[[], object]) -> float:
    """Return the least of several times, in milliseconds of the thread."""
    return min(milliseconds(work) for _ in range(TURNS))


def measure(parts: tuple[str, str, str]) -> Sequence[float]:
    """Return the times of the patterns by size, and that of decoder and check for the largest."""
    tasks = list(answered_tasks().values())
    bodies = [body(parts, size) for size in SIZES]
    return [
        *(least(partial(usual_answer, body, tasks, RELEASE, LIMITS)) for body in bodies),
        least(lambda: full(bodies[-1], None, tasks)),
    ]


def main() -> int:
    """Print the table; return 1 where a time grows faster than the body."""
    columns = [*(f"{size // 1_000} KB" for size in SIZES), "decode and check"]
    print(f"{'milliseconds':44}" + "".join(f"{name:>18}" for name in columns))
    steep = False
    for name, parts in BODIES.items():
        times = measure(parts)
        print(f"{name:44}" + "".join(f"{time:18.3f}" for time in times))
        steep |= times[2] > max(0.1, MOST * times[0])
    return int(steep)


if __name__ == "__main__":
    sys.exit(main())
