"""Readers and the writer: every problem with its place, and the forms of file they take."""

import bz2
import gzip
import lzma
import os
import random
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from scoring import FormatError, Hit, evaluate_files, read_gold, read_run, result_lines
from scoring.errors import MOST_CHARACTERS, MOST_PROBLEMS
from scoring.files import read_run_by_line
from scoring.tasks import Task
from scoring.text import MOST_LINE, MOST_UNPACKED, _chunks, line_blocks

GOLD = "a\tP1\na\tP2\nb\tP3\n"
RUN = "a\tP1\t1\t0.9\na\tX\t2\t0.8\nb\tP3\t1\t0.7\n"


def write(folder: Path, text: str | bytes, name: str = "file.tsv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def problems(folder: Path, task: str, text: str | bytes, *, lenient: bool = False) -> list[str]:
    path = write(folder, text)
    with pytest.raises(FormatError) as raised:
        read_run(task, path, lenient_ranks=lenient)
    return [str(problem).replace(str(path), "F") for problem in raised.value.problems]


@pytest.mark.parametrize(
    ("task", "line", "expected"),
    [
        ("INT", "a\tP1\t1", "F:1: 3 columns; expected 4 separated by tabs"),
        ("INT", "a P1 1 0.5", "F:1: 1 column; expected 4"),
        ("INT", "", "F:1: blank line; expected article, accession, rank, confidence"),
        ("INT", "#a\tP1\t1\t0.5", "F:1: comment; expected"),
        ("INT", "a\tP1\t0\t0.5", "F:1:column 3: rank '0'; expected an integer from 1"),
        ("INT", "a\tP1\t-1\t0.5", "F:1:column 3: rank '-1'"),
        ("INT", "a\tP1\t1.5\t0.5", "F:1:column 3: rank '1.5'"),
        (
            "INT",
            "a\tP1\t1\t0",
            "F:1:column 4: confidence '0'; expected a number above 0 and up to 1",
        ),
        ("INT", "a\tP1\t1\t1.01", "F:1:column 4: confidence '1.01'"),
        ("INT", "a\tP1\t1\tnan", "F:1:column 4: confidence 'nan'"),
        ("INT", "a\tP1\t1\thigh", "F:1:column 4: confidence 'high'"),
        ("INT", "a\tP1\t1\t1_0e-2", "F:1:column 4: confidence '1_0e-2'"),
        ("INT", "a\tP1\t2\t0.5", "F:1:column 3: rank 2 for article 'a'; expected 1"),
        ("INT", "a\t P1\t1\t0.5", "F:1:column 2: ' P1'; expected an accession without spaces"),
        ("INT", "\tP1\t1\t0.5", "F:1:column 1: empty; expected an article"),
        ("INT", "a\tP1\0\t1\t0.5", r"F:1:column 2: 'P1\x00'; expected an accession without"),
        ("INT", "a\x7f\tP1\t1\t0.5", r"F:1:column 1: 'a\x7f'; expected an article without control"),
        ("IPT", "a\tP1\tP\u00801\t1\t1", r"F:1:column 3: 'P\x801'; expected an accession without"),
        ("ACT", "\ufeffa\ufeff\t1\t1\t0.5", r"F:1:column 1: 'a\ufeff'; expected an article"),
        ("IPT", "a\tP1\t1\t0.5", "F:1: 4 columns; expected 5"),
        ("ACT", "a\tyes\t1\t0.5", "F:1:column 2: class 'yes'; expected 0 or 1"),
        ("ACT", "a\t1\t2\t0.5", "F:1:column 3: rank 2 for class 1; expected 1"),
    ],
)
def test_a_bad_line(task: str, line: str, expected: str, tmp_path: Path) -> None:
    assert problems(tmp_path, task, line + "\n")[0].startswith(expected)


def test_every_problem_of_a_file_is_listed_in_line_order(tmp_path: Path) -> None:
    text = (
        "a\tP1\t1\t0.9\na\tP1\t2\t2\nb\tX\tone\t0.5\n\nc\tP1\t1\t1\nc\tP1\t2\t0.5\nc\tP2\t2\t0.4\n"
    )
    assert problems(tmp_path, "INT", text) == [
        "F:2:column 4: confidence '2'; expected a number above 0 and up to 1",
        "F:3:column 3: rank 'one'; expected an integer from 1",
        "F:4: blank line; expected article, accession, rank, confidence",
        "F:6:column 2: 'P1' again for article 'c'",
        "F:7:column 3: rank 2 again for article 'c'",
    ]


@pytest.mark.parametrize(
    "unreadable",
    ["a\tP1\tx", *(f"{a}\tP1\t1" for a in (" a", "a\u3000", "a\u200b", "\ufeffa", "A "))],
)
def test_an_unreadable_line_does_not_spoil_the_ranks_after_it(unreadable, tmp_path):
    text = f"b\tP1\t2\t0.5\n{unreadable}\t0.9\na\tP2\t2\t0.8\n"
    assert [line[:4] for line in problems(tmp_path, "INT", text)] == ["F:1:", "F:2:"]


def test_duplicates(tmp_path: Path) -> None:
    swapped = "a\tP1\tP2\t1\t0.9\na\tP2\tP1\t2\t0.8\n"
    found = problems(tmp_path, "IPT", swapped)
    assert found == ["F:2:column 2: the pair 'P1', 'P2' again for article 'a'"]
    twice = "a\t1\t1\t0.9\na\t0\t1\t0.8\n"
    found = problems(tmp_path, "ACT", twice)
    assert found == ["F:2:column 1: article 'a' again; expected one class an article"]
    ranks = "a\t1\t1\t0.9\nb\t1\t1\t0.8\n"
    assert problems(tmp_path, "ACT", ranks) == ["F:2:column 3: rank 1 again for class 1"]


def test_lenient_ranks_take_gaps_but_not_duplicates(tmp_path: Path) -> None:
    run = read_run("INT", write(tmp_path, "a\tP1\t3\t0.9\na\tX\t7\t0.8\n"), lenient_ranks=True)
    assert run.answers["a"] == [Hit("P1", 3, 0.9), Hit("X", 7, 0.8)]
    twice = "a\tP1\t3\t0.9\na\tX\t3\t0.8\n"
    found = problems(tmp_path, "INT", twice, lenient=True)
    assert found == ["F:2:column 3: rank 3 again for article 'a'"]


@pytest.mark.parametrize(
    "content",
    [
        RUN.encode(),
        RUN.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + RUN.encode(),
        gzip.compress(RUN.encode()),
        gzip.compress(b"\xef\xbb\xbf" + RUN.replace("\n", "\r\n").encode()),
        RUN.rstrip("\n").encode(),
        "".join(sorted(RUN.splitlines(keepends=True), reverse=True)).encode(),
        RUN.replace("0.8", "8e-1").encode(),
        RUN.replace("X\t2", "X\t2").replace("0.8", "0.80000000000000004").encode(),
    ],
    ids=["plain", "crlf", "bom", "gzip", "all", "no-end", "unsorted", "exponent", "digits"],
)
def test_forms_of_file(content: bytes, tmp_path: Path) -> None:
    gold, run = write(tmp_path, GOLD, "gold.tsv"), write(tmp_path, content, "run.tsv")
    values = evaluate_files("INT", gold, run).to_dict()
    assert (values["run"], values["tp"], values["fp"], values["fn"]) == ("run", 2, 1, 1)
    assert read_run("INT", run).answers["a"][0] in (Hit("P1", 1, 0.9), Hit("X", 2, 0.8))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\tP1\t1\t0.5\n\xffb\n", "F:2: byte 0xff is not UTF-8; expected UTF-8 text"),
        (gzip.compress(b"a" * 1000, mtime=0)[:20], "F: cannot be read"),
        (bz2.compress(RUN.encode()), "F: compressed by bzip2; expected a text file, plain or gzip"),
        (bz2.compress(b""), "F: compressed by bzip2"),
        (lzma.compress(RUN.encode()), "F: compressed by xz"),
        (b"PK\3\4\x14\0", "F: compressed by zip"),
        (b"\x28\xb5\x2f\xfd\x04\0", "F: compressed by zstd"),
    ],
)
def test_unreadable_files(content: bytes, message: str, tmp_path: Path) -> None:
    assert problems(tmp_path, "INT", content)[0].startswith(message)


def test_a_file_that_unpacks_to_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random digits compress to half their size, so that the ratio says nothing."""
    most = 1 << 23
    assert most < MOST_UNPACKED
    monkeypatch.setattr("scoring.text.MOST_UNPACKED", most)
    digits = random.Random(1).randbytes(1 << 20).hex().encode() + b"\n"
    bomb = tmp_path / "bomb.tsv.gz"
    bomb.write_bytes(gzip.compress(digits, 1) * ((most >> 21) + 1))
    with pytest.raises(FormatError, match=r"bomb\.tsv\.gz: unpacks to more than 536,870,912 bytes"):
        deque(_chunks(bomb), maxlen=0)


@pytest.mark.parametrize("size", [2 << 20, 32 << 20, 256 << 20])
def test_a_small_file_that_unpacks_to_much(size: int, tmp_path: Path) -> None:
    part = gzip.compress(b"a\tP1\n" * (1 << 18))
    bomb = write(tmp_path, part * (size // (5 << 18) + 1), "bomb.tsv.gz")
    with pytest.raises(FormatError, match="unpacks to more than 200 times its size"):
        deque(line_blocks(bomb), maxlen=0)


@pytest.mark.slow
@pytest.mark.parametrize("length", [MOST_LINE - 8, MOST_LINE + 1, 3_000_000])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_a_long_line(length: int, end: bytes, tmp_path: Path) -> None:
    """Both readers read it, or both say that it is too long."""
    gold = write(tmp_path, GOLD, "gold.tsv")
    run = write(tmp_path, b"a" * length + b"\tP1\t1\t1" + end, "run.tsv")
    if length < MOST_LINE:
        assert evaluate_files("INT", gold, run).to_dict()["fp"] == 0  # its article is not in gold
        assert list(read_run("INT", run).answers) == ["a" * length]
        return
    for read in (lambda: evaluate_files("INT", gold, run), lambda: read_run("INT", run)):
        with pytest.raises(FormatError, match="a line of more than 65,536 bytes"):
            read()


@pytest.mark.parametrize(
    ("line", "most"),
    [(b"\n", "blank line"), (b"#\n", "comment"), (b"a\n", "1 columns"), (b"a\tb\tc\td\n", "rank")],
)
def test_reading_ends_after_many_problems(line: bytes, most: str, tmp_path: Path) -> None:
    """A million faulty lines are not a million problems."""
    found = problems(tmp_path, "INT", line * 1_000_000)
    assert len(found) == MOST_PROBLEMS + 1
    assert all(most in problem or "confidence" in problem for problem in found[:-1])
    assert found[-1].endswith("reading ended here, after 500 problems; mend these first")


@pytest.mark.slow
def test_problems_of_a_long_file_are_those_of_its_lines(tmp_path: Path) -> None:
    """Lines of all kinds of problems, blocks apart: number and message are as read by line."""
    lines = [
        f"10.1016/j.febslet.{article}\tP{rank:05d}\t{rank}\t0.5\n"
        for article in range(2000)
        for rank in range(1, 16)
    ]
    path = tmp_path / "run.tsv"
    lines[2] = lines[2].replace("\t3\t", "\t+3\t")
    path.write_text("".join(lines))
    assert read_run("INT", path).answers == read_run_by_line(Task.INT, path).answers
    lines[3] = "# comment\n"
    lines[14_000] = lines[13_999]
    lines[20_005] = lines[20_005].replace("0.5", "5", 1)
    lines[29_990] = lines[29_990].replace("\t0.5", "\t0")
    path.write_text("".join(lines))
    found = []
    for read in (read_run, read_run_by_line):
        with pytest.raises(FormatError) as caught:
            read(Task.INT, path)
        found.append(caught.value.problems)
    assert found[0] == found[1]
    assert [problem.line for problem in found[0]][:3] == [4, 5, 14_001]
    assert found[0][-1].line == 29_991


def test_a_long_field_is_not_repeated_whole(tmp_path: Path) -> None:
    for fields in (b"x" * 60_000 + b"\t1", b"1\t0." + b"1" * 400 + b"x", b"1\t" + b"9" * 400):
        [problem] = problems(tmp_path, "INT", b"a\tP1\t" + fields + b"\n")
        assert len(problem) < MOST_CHARACTERS + 20
        assert problem.rpartition("; ")[2].startswith("expected ")


def test_a_pipe_is_read_as_a_file_is(tmp_path: Path) -> None:
    """A pipe has no size, so its compression ratio is unknown."""
    text = "".join(f"a{article}\tP1\t1\t0.5\n" for article in range(60_000)).encode()
    for content in (text, gzip.compress(text)):
        reading, writing = os.pipe()
        with ThreadPoolExecutor() as pool:
            written = pool.submit(_write_all, writing, content)
            assert len(read_run("INT", Path(f"/dev/fd/{reading}")).answers) == 60_000
            written.result()
        os.close(reading)


def _write_all(descriptor: int, content: bytes) -> None:
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot be read"):
        read_gold("INT", tmp_path / "nowhere.tsv")


@pytest.mark.parametrize(
    ("task", "text", "expected"),
    [
        ("INT", "", "F: empty; expected lines of article, accession"),
        ("INT", "article\taccession\na\tP1\n", "F:1: column names; expected article, accession"),
        ("IPT", "Article\tAccession_A\tAccession_B\n", "F:1: column names; expected article, acc"),
        ("ACT", "article\tclass\na\t1\n", "F:1:column 2: class 'class'; expected 0 or 1"),
        ("INT", "a\tP1\textra\n", "F:1: 3 columns; expected 2"),
        ("INT", "a\tP1\na\tP1\n", "F:2:column 2: 'P1' again for article 'a'"),
        ("IPT", "a\tP1\tP2\na\tP2\tP1\n", "F:2:column 2: the pair 'P1', 'P2' again"),
        ("ACT", "a\t1\na\t0\n", "F:2:column 1: article 'a' again"),
        ("ACT", "a\t2\n", "F:1:column 2: class '2'; expected 0 or 1"),
        ("INT", "a\t1\nb\t0\n", "F:column 2: classes 0 and 1, as gold of ACT has"),
        ("INT", "a\t1\n", "F:column 2: classes 0 and 1"),
        ("INT", "a\tP1\0\n", r"F:1:column 2: 'P1\x00'; expected an accession without control"),
        ("INT", "a\tP1\u200b\n", r"F:1:column 2: 'P1\u200b'; expected an accession without"),
        ("IPT", "a\tP1\tP\u202e2\n", r"F:1:column 3: 'P\u202e2'; expected an accession without"),
        (
            "INT",
            "\ufeffa\tP1\n\ufeffb\tP1\n",
            r"F:2:column 1: '\ufeffb'; expected an article",
        ),
    ],
)
def test_bad_gold(task: str, text: str, expected: str, tmp_path: Path) -> None:
    path = write(tmp_path, text)
    with pytest.raises(FormatError) as raised:
        read_gold(task, path)
    assert str(raised.value.problems[0]).replace(str(path), "F").startswith(expected)


def test_oddities_only_warn(tmp_path: Path) -> None:
    gold = write(tmp_path, GOLD, "gold.tsv")
    rising = write(tmp_path, "a\tP1\t1\t0.4\na\tP2\t2\t0.8\na\tX\t3\t0.9\n", "rising.tsv")
    evidence = write(tmp_path, "a\tP1\t1\t0.4\tbecause\n", "evidence.tsv")
    extra = write(tmp_path, "a\tP1\t1\t0.4\tbecause\t9606\n", "extra.tsv")
    found = [str(one).split(":", 1)[1] for one in evaluate_files("INT", gold, rising).warnings]
    assert found == ["2:column 4: confidence rises with rank 2; expected it to fall"]
    assert evaluate_files("INT", gold, rising).warnings == read_run("INT", rising).warnings
    assert not evaluate_files("INT", gold, evidence).warnings
    assert evaluate_files("INT", gold, extra).to_dict()["tp"] == 1
    assert "extra columns ignored" in str(evaluate_files("INT", gold, extra).warnings[0])


def test_written_runs_read_back(tmp_path: Path) -> None:
    answers = {"a": [Hit(("P1", "P2"), 9, 0.25), Hit(("P1", "P1"), 4, 1 / 3)]}
    path = write(tmp_path, "".join(result_lines("IPT", answers.items())))
    assert path.read_text() == "a\tP1\tP1\t1\t0.3333333333333333\na\tP1\tP2\t2\t0.25\n"
    found = read_run("IPT", path).answers
    assert found == {"a": [Hit(("P1", "P1"), 1, 1 / 3), Hit(("P1", "P2"), 2, 0.25)]}


def test_what_is_malformed_in_a_pipe_is_reported(tmp_path: Path) -> None:
    """A pipe can be read once only: what is malformed in it must not be lost."""
    gold = read_gold("INT", write(tmp_path, "a\tP1\n"))
    for text, problem in (("a\tP1\t1\t0.5\n", None), ("a\tP1\t0\t0.5\n", "rank '0'")):
        for read in (
            lambda path: evaluate_files("INT", gold, path).to_dict()["tp"],
            lambda path: len(read_run("INT", path).answers),
        ):
            reading, writing = os.pipe()
            os.write(writing, text.encode())
            os.close(writing)
            try:
                path = Path(f"/dev/fd/{reading}")
                if problem:
                    with pytest.raises(FormatError, match=problem) as raised:
                        read(path)
                    assert raised.value.problems[0].file == str(path)
                else:
                    assert read(path) == 1
            finally:
                os.close(reading)
