"""Names of entries: found by accession, symbol and words, within bounds."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from metaserver.base.errors import InputError
from metaserver.cli.main import main
from metaserver.uniprot import NamedEntry, NameDirectory, Release, build_release
from metaserver.uniprot.directory import MOST_FOUND, NAMES, folded, words
from tests.shared import shared
from tests.unit.metaserver.uniprot.samples import SOURCES, flat_entry, write_sources

EGFR = "Epidermal growth factor receptor"
TNF = "Name=TNF; Synonyms=TNF-alpha {ECO:0000303|PubMed:1};"
MORE = "".join(
    [
        flat_entry("EGFR_HUMAN", "P00533;", 9606, full=[EGFR], genes="Name=EGFR; Synonyms=ERBB;"),
        flat_entry("EGFR_MOUSE", "Q01279;", 10090, full=[EGFR], genes="Name=Egfr;"),
        flat_entry("GRB2_HUMAN", "P62993;", 9606, full=[f"{EGFR}-bound protein 2"]),
        flat_entry("TNFA_HUMAN", "P01375;", 9606, full=["Tumor necrosis factor"], genes=TNF),
    ]
)
TABLE = """\
Entry	Entry Name	Protein names	Gene Names	Organism (ID)	Organism
P00533	EGFR_HUMAN	Another name	HER1	9606	Homo sapiens (Human)
P62993	GRB2_HUMAN		GRB2 ASH	9606	Homo sapiens (Human)
"""


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    folder = tmp_path_factory.mktemp("names")
    sources = write_sources(folder / "from", {**SOURCES, "more.dat": MORE, "some.tsv": TABLE})
    return build_release(sources, name="2025_04", out=folder / "2025_04", names=True)


@pytest.fixture(scope="module")
def directory(release: Release) -> Iterator[NameDirectory]:
    with closing(NameDirectory.open(release.directory)) as opened:
        yield opened


def found(directory: NameDirectory, text: str, taxon: int | None = None) -> list[str]:
    return [one.accession for one in directory.search(text, taxon=taxon)]


def test_entries_have_names_symbols_and_organisms(directory: NameDirectory) -> None:
    assert directory.entries(["P00533", "Q01279", "P99999", "\ud800'"]) == {
        "P00533": NamedEntry(
            accession="P00533", entry_name="EGFR_HUMAN", names=(EGFR,), symbols=("EGFR", "ERBB"),
            taxon=9606, organism="An organism",
        ),
        "Q01279": NamedEntry(
            accession="Q01279", entry_name="EGFR_MOUSE", names=(EGFR,), symbols=("Egfr",),
            taxon=10090, organism="An organism",
        ),
    }  # fmt: skip


def test_a_later_source_adds_what_was_not_known(directory: NameDirectory) -> None:
    [one] = directory.entries(["P62993"]).values()
    assert (one.names, one.symbols) == ((f"{EGFR}-bound protein 2",), ("GRB2", "ASH"))


def test_unreviewed_entries_have_no_names(directory: NameDirectory, release: Release) -> None:
    assert release.judge(["A0A023GPI8"]).tolist() == release.judge(["P00533"]).tolist()
    assert not directory.entries(["A0A023GPI8"])
    assert found(directory, "Lectin alpha chain") == []
    assert len(directory) == 6 + 4


@pytest.mark.parametrize(
    ("text", "accessions"),
    [
        ("P00533", ["P00533"]),
        ("p00533 ", ["P00533"]),
        ("egfr", ["P00533", "Q01279"]),  # the symbol; GRB2 has no such word
        ("EGFR_HUMAN", ["P00533"]),
        ("TNF-α", ["P01375"]),
        ("tnf alpha", ["P01375"]),
        ("necrosis", ["P01375"]),
        ("tumor antigen p5", []),  # two letters are no beginning of a word
        ("cellular tumor antigen", ["P04637", "P02340", "P10361"]),
        ("epidermal growth fac", ["P00533", "Q01279", "P62993"]),  # shorter names first
        ("growth bound", ["P62993"]),
        ("a", []),
        ("", []),
        ('" OR "', []),
        ("NEAR(tumor antigen)", []),
        ("tumor* -necrosis text:", []),
        ("\x00\ud800%_", []),
        ("x" * 100_000, []),
        ("tumor " * 1000, ["P01375", "P04637", "P02340", "P10361"]),
    ],
)
def test_search(directory: NameDirectory, text: str, accessions: list[str]) -> None:
    assert found(directory, text) == accessions


def test_search_of_one_organism(directory: NameDirectory) -> None:
    assert found(directory, "egfr", 10090) == ["Q01279"]
    assert found(directory, "receptor", 9606) == ["P00533", "P62993"]
    assert found(directory, "P00533", 10090) == []
    assert [one.accession for one in directory.search("egfr", limit=1)] == ["P00533"]
    assert directory.search("egfr", limit=-1) == []
    assert len(directory.search("protein", limit=10**9)) <= MOST_FOUND


def test_organisms_from_a_table_and_from_the_list(tmp_path: Path) -> None:
    table = TABLE.replace("\tHomo sapiens (Human)", "\t").replace("9606", "9913", 1)
    sources = {"some.tsv": table, "speclist.txt": SOURCES["speclist.txt"]}
    paths = write_sources(tmp_path / "from", sources)
    built = build_release(paths, name="x", out=tmp_path / "x", names=True)
    with closing(NameDirectory.open(built.directory)) as directory:
        names = directory.entries(["P00533", "P62993"])
    assert [one.organism for one in names.values()] == ["Bos taurus", "Homo sapiens"]


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 100])
def test_damaged_names(tmp_path: Path, content: bytes) -> None:
    (tmp_path / NAMES).write_bytes(content)
    with pytest.raises(InputError, match=r"damaged|format 0"):
        NameDirectory.open(tmp_path)


def test_names_of_another_format(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / NAMES) as connection:
        connection.execute("PRAGMA user_version = 7")
    connection.close()
    with pytest.raises(InputError, match="names of format 7, expected 2"):
        NameDirectory.open(tmp_path)


def test_the_command(tmp_path: Path, release: Release, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["uniprot", "names", "--release", str(release.directory)]
    assert main([*command, "tumor", "antigen", "--taxon", "9606"]) == 0
    found = capsys.readouterr().out
    assert found == "P04637\tP53_HUMAN\tCellular tumor antigen p53\tTP53\t9606\tAn organism\n"
    assert main([*command, "tumor", "--limit", "1"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1
    sources = [str(path) for path in write_sources(tmp_path / "from")]
    build = ["uniprot", "build", "--from", *sources, "--release", "x", "--out"]
    assert main([*build, str(tmp_path / "x"), "--names"]) == 0
    assert " 6 entries with names" in capsys.readouterr().out
    assert main([*build, str(tmp_path / "y")]) == 0
    assert "with names" not in capsys.readouterr().out
    assert main(["uniprot", "names", "--release", str(tmp_path / "y"), "x"]) == 2
    assert "build the release with --names" in capsys.readouterr().err


def test_folding() -> None:
    assert words("TNF-α (Mouse)") == ["tnf", "alpha", "mouse"]
    assert folded("TNF-α") == folded("Tnf alpha") == folded("TNFALPHA") == "tnfalpha"
    assert folded("--") == ""


@pytest.mark.slow
def test_human_entries(tmp_path: Path) -> None:
    """All of the human Swiss-Prot: symbols find their entries."""
    table = shared("data/uniprot/human_reviewed.tsv")
    built = build_release([table], name="human", out=tmp_path / "human", names=True)
    with closing(NameDirectory.open(built.directory)) as names:
        assert len(names) == built.meta.counts.primary
        assert found(names, "EGFR")[0] == "P00533"
        assert found(names, "p53")[0] == "P04637"
        result = found(names, "TNF-α")[1]
        assert result == "P01375"  # lymphotoxin alpha, TNF-beta, has both words too
