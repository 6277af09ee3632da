"""Files that are small when they are sent and large when they are read.

Each is refused with a reason, at every size, and its memory stays under the documented bound
(docs/security.md, "Attacks that the tests repeat").
"""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from metaserver.base.errors import RefusedError
from tests.hubs.inside import Running

pytestmark = [
    pytest.mark.one_store("it measures memory while a file is read, before it is stored"),
    pytest.mark.slow,
]

MIB = 2**20
MOST_MEMORY = 450 * MIB
"""What reading one uploaded file may take; docs/security.md says so."""
SIZES = (8, 64, 512)  # MiB, unpacked


@dataclass
class Peak:
    """The most memory that this process has had within a context, above that at its start."""

    bytes: int = 0


@contextmanager
def peak_memory() -> Iterator[Peak]:
    Path("/proc/self/clear_refs").write_text("5")  # proc(5): begins the peak again
    before, peak = _status("VmRSS"), Peak()
    yield peak
    peak.bytes = _status("VmHWM") - before


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


UPLOADS: dict[str, dict[str, Any]] = {
    "runs.upload": {"phase": "test", "task": "INT", "run": "r1", "team": "blue"},
    "gold.preview": {"phase": "test", "task": "INT", "source": "gold.tsv"},
    "gold.set": {"phase": "test", "task": "ACT", "source": "gold.tsv"},
    "corpora.import": {"corpus": "bomb", "source": "article.json"},
}


async def refusal(running: Running, operation: str, content: bytes) -> tuple[str, int]:
    """Return why a file is refused, and the memory that this took."""
    with peak_memory() as peak, pytest.raises(RefusedError) as refused:
        await running.do(operation, content=content, **UPLOADS[operation])
    return str(refused.value), peak.bytes


def lines(size: int) -> bytes:
    return b"\n" * size


def short_rows(size: int) -> bytes:
    return b"a\tb\t1\t1\n" * (size // 8)


@pytest.mark.parametrize("operation", UPLOADS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("content", [lines, short_rows])
async def test_a_compressed_bomb(running, operation, size, content):
    message, memory = await refusal(running, operation, gzip.compress(content(size * MIB), 9))
    assert "times its size" in message or "larger than" in message
    assert memory < MOST_MEMORY


@pytest.mark.parametrize("operation", ["runs.upload", "gold.preview"])
@pytest.mark.parametrize("size", [1, 4, 30])
@pytest.mark.parametrize("content", [lines, short_rows])
async def test_many_lines_without_compression(running, operation, size, content):
    message, memory = await refusal(running, operation, content(size * MIB))
    assert "more)" in message or "more than 500,000 lines" in message
    assert memory < MOST_MEMORY
    assert len(message) < 20_000


@pytest.mark.parametrize("size", [4, 16, 60])
@pytest.mark.parametrize(
    ("before", "part", "after"),
    [
        (b'{"documents":[', b"{},", b"{}]}"),
        (b'[{"id":"1","passages":[', b"{},", b"{}]}]"),
        (b'{"id":"1","passages":[{"infons":{"a":[', b"1.5,", b"1]}}]}"),
        (b"<article>", b"<a/>", b"</article>"),
        (b"<article><p>", b"<b/>x", b"</p></article>"),
        (b"<PubmedArticleSet>", b"<!---->", b"</PubmedArticleSet>"),
        (b"<article a='", b"&#65;", b"'/>"),
    ],
)
async def test_an_article_of_many_small_parts(running, size, before, part, after):
    content = before + part * (size * MIB // len(part)) + after
    with peak_memory() as peak, pytest.raises(RefusedError):
        await running.do("corpora.import", content=content, **UPLOADS["corpora.import"])
    assert peak.bytes < MOST_MEMORY


async def test_a_file_that_holds_its_own_bomb(running: Running) -> None:
    content = gzip.compress(gzip.compress(lines(64 * MIB), 9))
    message, _ = await refusal(running, "runs.upload", content)
    assert message.endswith("gzip in gzip is not read")


async def test_an_ordinary_compressed_run_is_read(running: Running) -> None:
    """A run compresses ten times or so; the bound on the ratio does not touch it."""
    rows = "".join(
        f"sample{article:02}\tP{53000 + rank:05}\t{rank}\t{1 / rank}\n"
        for article in range(1, 33)
        for rank in range(1, 400)
    )
    content = gzip.compress(rows.encode())
    with pytest.raises(RefusedError, match="the file has no valid line"):  # the release is small
        await running.do("runs.upload", content=content, **UPLOADS["runs.upload"])
