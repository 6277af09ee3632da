"""PDFs read in a process of their own: what it refuses, what ends it, and what is left."""

import asyncio
import gzip
import os
import signal
import sys
import tempfile
from pathlib import Path

import psutil
import pytest

from metaserver.base.errors import Refusal, RefusedError
from metaserver.curation import pdf, pdf_child
from metaserver.curation.pdf import PdfReader, UnreadPdfError, is_pdf
from metaserver.curation.texts import FILE_RATIO, read_article
from tests.fakes import pdf as made
from tests.waiting import until

LINES = ["Grb2 binds the EGF receptor", "EGFR was phosphory-", "lated; TNF-", "alpha (a) was not."]
TEXT = "Grb2 binds the EGF receptor EGFR was phosphorylated; TNF-alpha (a) was not."
MOST = 10_000


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def children() -> list[psutil.Process]:
    own = psutil.Process().children()
    marks = ("pdf_child", "hang")
    return [one for one in own if any(mark in " ".join(one.cmdline()) for mark in marks)]


async def refusal(content, most=MOST, reader=None):
    with pytest.raises(RefusedError) as caught:
        await (reader or PdfReader()).read(content, most)
    return caught.value


def instead(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Let the process that reads PDFs do something else."""
    monkeypatch.setattr(pdf, "CHILD", ("-c", code))


@pytest.mark.slow
async def test_text_is_read_and_no_file_is_left(tmp_path: Path) -> None:
    assert await PdfReader().read(made.pdf([LINES]), MOST) == TEXT
    for source, content in (
        ("a.pdf", made.pdf([LINES])),
        ("a.txt", made.pdf([LINES])),  # its first bytes say it
        ("a.pdf.gz", gzip.compress(made.pdf([LINES]))),
    ):
        found = await read_article(PdfReader(), content, source, MOST)
        assert (found.article.text, found.article.id, found.from_pdf) == (TEXT, "", True)
        assert found.article.source == source
    plain = await read_article(PdfReader(), b"EGFR", "a.txt", MOST)
    assert (plain.article.text, plain.from_pdf) == ("EGFR", False)
    assert list(tmp_path.iterdir()) == []
    assert not children()


async def test_letters_of_formulas_are_letters() -> None:
    assert await PdfReader().read(made.meaning("\U0001d6fc"), MOST) == "TNF-\u03b1"


LEFT = [
    "We show that EGFR binds GRB2 in living", "cells, and that its phosphory-",
    "lation by SRC is needed. The adaptor", "SHC1 was pulled down with EGFR from",
    "lysates of HeLa cells (Figure 1), and", "not from others. The interaction was",
    "seen in all of three experiments, as",
]  # fmt: skip
RIGHT = [
    "was that of TNF-", "alpha with its receptor. Our ex-", "periments were done twice, and re-",
    "peated with purified proteins. MDM2", "was a control in all of them, and it",
    "was not found with EGFR. We conclude", "that GRB2 binds EGFR directly.",
]  # fmt: skip
READ = (
    "We show that EGFR binds GRB2 in living cells, and that its phosphorylation by SRC is needed. "
    "The adaptor SHC1 was pulled down with EGFR from lysates of HeLa cells (Figure 1), and not "
    "from others. The interaction was seen in all of three experiments, as was that of TNF-alpha "
    "with its receptor. Our experiments were done twice, and repeated with purified proteins. "
    "MDM2 was a control in all of them, and it was not found with EGFR. We conclude that GRB2 "
    "binds EGFR directly."
)


@pytest.mark.parametrize("across", [False, True], ids=["column by column", "line by line"])
async def test_two_columns_are_read_one_after_the_other(across: bool) -> None:
    found = await PdfReader().read(made.journal([("", LEFT, RIGHT)], across=across), MOST)
    assert found == READ


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (made.image_alone(), "no text"),
        (made.pdf([["Downloaded from x"]] * 4), "no text"),  # scanned pages with a stamp each
        (made.locked(), "encrypted"),
        (b"%PDF-1.7 and nothing", "broken"),
        (b"", "broken"),
        (made.pdf([LINES])[:200], "broken"),
        (made.circular(), "broken"),
        (made.counting(301), "300 pages"),
        (made.counting(200_000), "300 pages"),
    ],
    ids=["image", "stamps", "locked", "junk", "empty", "cut", "circular", "long", "very long"],
)
async def test_what_has_no_text_to_give_is_refused(content: bytes, words: str) -> None:
    error = await refusal(content)
    assert isinstance(error, UnreadPdfError)
    assert (error.refusal, error.field) == (Refusal.INVALID, "content")
    assert words in error.message


async def test_text_is_bounded_before_it_is_made() -> None:
    error = await refusal(made.pdf([LINES]), most=50)
    assert (error.refusal, "50 bytes" in error.message) == (Refusal.TOO_LARGE, True)
    error = await refusal(made.pdf([["é" * 40]]), most=50)  # characters fit, bytes do not
    assert error.refusal is Refusal.TOO_LARGE
    big = b"%PDF-1.7" + bytes(FILE_RATIO * MOST)
    with pytest.raises(RefusedError) as caught:
        await read_article(PdfReader(), big, "a.pdf", MOST)
    assert caught.value.refusal is Refusal.TOO_LARGE
    with pytest.raises(RefusedError) as caught:
        await read_article(PdfReader(), gzip.compress(big), "a.pdf.gz", MOST)
    assert "larger" in caught.value.message or "unpacks" in caught.value.message


async def test_nesting_neither_ends_the_hub_nor_stays(tmp_path: Path) -> None:
    assert await PdfReader().read(made.nested(100_000), MOST) == "deep"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
async def test_a_content_that_unpacks_to_much_is_ended(tmp_path: Path) -> None:
    content = made.unpacking_to(400 * 2**20)
    assert len(content) < 2 * 2**20
    error = await refusal(content)
    assert error.refusal in (Refusal.INVALID, Refusal.TOO_LARGE)
    assert list(tmp_path.iterdir()) == []


async def test_the_limits_are_those_of_the_process(tmp_path: Path) -> None:
    code = (
        "import resource, signal, sys; from metaserver.curation import pdf_child as child;"
        "child.bound(5000);"
        "names = ('AS', 'CPU', 'FSIZE', 'CORE');"
        "print([resource.getrlimit(getattr(resource, 'RLIMIT_' + name)) for name in names],"
        " signal.alarm(0))"
    )
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await child.communicate()
    most = (pdf_child.ADDRESS_SPACE, pdf_child.SECONDS, 5000, 0)
    assert out.decode().strip() == f"{[(each, each) for each in most]} {pdf_child.SECONDS + 1}"


async def test_memory_beyond_the_limit_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    instead(monkeypatch, (
        "import sys; from metaserver.curation import pdf_child as child;"
        "child.text_of = lambda content, most: 'x' * 2**31;"
        "sys.argv = ['', '100'];"
        "sys.exit(child.main())"
    ))  # fmt: skip
    assert "1024 MiB" in (await refusal(made.pdf([LINES]))).message


async def test_a_process_that_hangs_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    instead(monkeypatch, "hang = True\nimport time\nwhile True: time.sleep(1)")
    error = await refusal(made.pdf([LINES]), reader=PdfReader(seconds=0.3))
    assert "within" in error.message
    assert not children()


async def test_a_process_that_is_killed_is_a_refusal(monkeypatch, tmp_path):
    instead(monkeypatch, "hang = True\nimport time\nwhile True: time.sleep(1)")
    reading = asyncio.create_task(refusal(made.pdf([LINES])))
    await until(lambda: bool(children()))
    os.kill(children()[0].pid, signal.SIGKILL)
    error = await reading
    assert isinstance(error, UnreadPdfError)
    assert "cannot be read" in error.message
    assert list(tmp_path.iterdir()) == []


async def test_who_no_longer_waits_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    instead(monkeypatch, "hang = True\nimport time\nwhile True: time.sleep(1)")
    reader = PdfReader()
    reading = asyncio.create_task(reader.read(made.pdf([LINES]), MOST))
    await until(lambda: bool(children()))
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert not children()
    monkeypatch.undo()
    assert await reader.read(made.pdf([LINES]), MOST) == TEXT  # its turn is free again


async def test_few_are_read_at_a_time_and_few_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    instead(monkeypatch, "hang = True\nimport time\nwhile True: time.sleep(1)")
    reader = PdfReader()
    reading = [
        asyncio.create_task(reader.read(made.pdf([LINES]), MOST))
        for _ in range(pdf.AT_ONCE + pdf.MOST_WAITING)
    ]
    await until(lambda: len(children()) == pdf.AT_ONCE)
    error = await refusal(made.pdf([LINES]), reader=reader)
    assert (error.refusal, bool(error.retry_after)) == (Refusal.TOO_MANY, True)
    for one in reading:
        one.cancel()
    await asyncio.gather(*reading, return_exceptions=True)
    assert not children()


async def test_without_the_extra_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "find_spec", lambda name: None)
    error = await refusal(made.pdf([LINES]))
    assert "pip install 'biocreative-metaserver[pdf]'" in error.message
    assert not isinstance(error, UnreadPdfError)


async def test_passwords_of_the_hub_are_not_in_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METASERVER_DATABASE", "postgresql://hub:hush@db/hub")
    instead(monkeypatch, "import os; print('hush' in repr(os.environ), end='')")
    assert await PdfReader().read(b"", MOST) == "False"


def test_a_pdf_is_known_by_its_first_bytes() -> None:
    assert is_pdf(b"\n %PDF-1.4")
    assert not is_pdf(b"About %PDF-1.4")
