"""The XML-RPC codec against the standard library's: time ratios, and memory for a large answer.

`python benchmarks/codec.py` prints a table. Both codecs do the same work in turns in one process,
and a ratio is the median over the turns, so that a busy machine slows both. Targets: decoding
within 1.2 of the standard library's time, encoding within 0.8, and less than 100 MB more resident
memory while 150,000 structs are decoded from chunks as they would arrive.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import time
import xmlrpc.client
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import sized
from metaserver.exchange.wire.values import CHUNK
from metaserver.exchange.wire.xmlrpc import Decoder, decode_response, encode_response

STRUCTS, FEW = sized(3_000, 300), 30
MANY = sized(150_000, 1_000)
DECODE, ENCODE, MEGABYTES = 1.2, 0.8, 100.0


def answer(structs: int) -> dict[str, Any]:
    dice = random.Random(25)
    hits = [
        {"dbid": f"P{number % 100_000:05}", "rank": number, "confidence": dice.random()}
        for number in range(1, structs + 1)
    ]
    return {"normalizations": hits}


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def ratio(
    ours: Callable[[], object], theirs: Callable[[], object], turns: int
) -> tuple[float, float, float]:
    """Return the median ratio of the times, and both medians in ms."""
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(turns)]
    return (
        statistics.median(mine / other for mine, other in pairs),
        statistics.median(mine for mine, _ in pairs) * 1e3,
        statistics.median(other for _, other in pairs) * 1e3,
    )


def timed(
    structs: int, turns: int, target: float
) -> Iterator[tuple[str, float, float, float, float]]:
    value = answer(structs)
    body = xmlrpc.client.dumps((value,), methodresponse=True).encode()
    assert decode_response(body) == xmlrpc.client.loads(encode_response(value))[0][0] == value
    decoding = ratio(lambda: decode_response(body), lambda: xmlrpc.client.loads(body), turns)
    yield (f"decode {structs:,} structs", *decoding, target)
    encoding = ratio(
        lambda: encode_response(value),
        lambda: xmlrpc.client.dumps((value,), methodresponse=True).encode(),
        turns,
    )
    yield (f"encode {structs:,} structs", *encoding, ENCODE)


def peak() -> float:
    """Return this process's largest resident memory so far, in MB (Linux).

    Not `ru_maxrss`: a child begins with its parent's.
    """
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e6


def chunks(structs: int) -> Iterator[bytes]:
    """Yield a large answer as the standard library would send it, without ever holding it."""
    head, tail = xmlrpc.client.dumps(({"normalizations": []},), methodresponse=True).split(
        "<data>\n"
    )
    yield f"{head}<data>\n".encode()
    buffer = bytearray()
    for number in range(1, structs + 1):
        hit = {"dbid": f"P{number % 100_000:05}", "rank": number, "confidence": 1 / number}
        text = xmlrpc.client.dumps((hit,))
        buffer += text[text.index("<value>") : text.rindex("</param>")].encode()
        while len(buffer) >= CHUNK:
            yield bytes(buffer[:CHUNK])
            del buffer[:CHUNK]
    yield bytes(buffer) + tail.encode()


def measure_memory(structs: int) -> None:
    """Decode a large answer in this process and print by how many MB its peak grew."""
    for chunk in chunks(1_000):  # what imports and buffers cost is not the decoder's
        assert chunk
    before = peak()
    decoder = Decoder()
    for chunk in chunks(structs):
        decoder.feed(chunk)
    value: Any = decoder.response()
    assert len(value["normalizations"]) == structs
    print(peak() - before)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--turns", type=int, default=sized(40, 1))
    parser.add_argument("--memory", type=int, metavar="STRUCTS", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory:
        measure_memory(options.memory)
        return 0
    print(f"{'':24} {'ours':>9} {'stdlib':>9} {'ratio':>7} {'target':>7}")
    missed = False
    rows = [
        *timed(STRUCTS, options.turns, DECODE),
        *timed(FEW, options.turns * 10, DECODE),
    ]
    for name, found, ours, theirs, target in rows:
        print(f"{name:24} {ours:6.2f} ms {theirs:6.2f} ms {found:7.2f} {target:7.2f}")
        missed |= found > target
    grown = float(
        subprocess.run(
            [sys.executable, __file__, "--memory", str(MANY)],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    )
    print(f"{f'decode {MANY:,} structs':24} {grown:6.1f} MB {'':28} {MEGABYTES:4.0f} MB")
    return int(missed or grown > MEGABYTES)


if __name__ == "__main__":
    sys.exit(main())
