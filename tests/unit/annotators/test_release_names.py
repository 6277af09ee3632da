"""Names of a release, found as those of a table are, with the species of the text."""

import sqlite3
import threading
from pathlib import Path

import pytest

from annotators.baselines.proteins import SHIPPED_NAMES, read_proteins
from annotators.errors import BadInputError
from annotators.matching import Dictionary
from annotators.release_names import ReleaseNames
from metaserver.uniprot.build import build_release
from metaserver.uniprot.directory import NAMES
from tests.hubs.command import DEMO

HEAD = "Entry\tEntry Name\tProtein names\tGene Names\tOrganism (ID)\tOrganism"
HUMAN, MOUSE = "9606\tHomo sapiens (Human)", "10090\tMus musculus (Mouse)"
YEAST = "559292\tSaccharomyces cerevisiae (strain ATCC 204508 / S288c) (Baker's yeast)"
P53 = "Cellular tumor antigen p53 (Tumor suppressor p53)"
TNF = "Tumor necrosis factor (TNF-alpha)"
TABLE = f"""\
{HEAD}
P04637\tP53_HUMAN\t{P53}\tTP53 P53\t{HUMAN}
P02340\tP53_MOUSE\t{P53}\tTp53 P53 Trp53\t{MOUSE}
P01375\tTNFA_HUMAN\t{TNF}\tTNF TNFA\t{HUMAN}
P06804\tTNFA_MOUSE\t{TNF}\tTnf Tnfa\t{MOUSE}
P32917\tSTE5_YEAST\tProtein STE5\tSTE5 HMD3\t{YEAST}
P42768\tWASP_HUMAN\tActin nucleation-promoting factor WAS (WASp)\tWAS IMD2\t{HUMAN}
"""


def built(folder: Path, table: str, *, names: bool = True) -> Path:
    (folder / "table.tsv").write_text(table, "utf-8")
    return build_release(
        [folder / "table.tsv"], name="made", out=folder / "release", names=names
    ).directory


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("names"), TABLE)


def found(names: ReleaseNames, text: str) -> list[tuple[str, set[str]]]:
    return [(text[one.start : one.end], set(one.weights)) for one in names.find(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p53 is stable", [("p53", {"P04637"})]),
        ("Mouse p53, and human p53", [("p53", {"P02340"}), ("p53", {"P04637"})]),
        ("In mice.\nTumor necrosis factor", [("Tumor necrosis factor", {"P06804"})]),
        ("TNF-α, TNF alpha", [("TNF-α", {"P01375"}), ("TNF alpha", {"P01375"})]),
        ("Ste5 of yeast", [("Ste5", {"P32917"})]),
        ("Ste5", []),  # nothing says that it is of yeast
        ("it was p and WASP", [("WASP", {"P42768"})]),  # not "was p"
        ("TP53BP1, Xp53, tp", []),
        ("", []),
    ],
)
def test_names_have_the_species_of_the_text(release, text, expected):
    assert found(ReleaseNames(release), text) == expected


def test_the_organism_of_texts_that_name_none_is_a_setting(release: Path) -> None:
    assert found(ReleaseNames(release, default=559292), "Ste5, p53") == [("Ste5", {"P32917"})]
    with pytest.raises(BadInputError, match="no entry of taxon 7227"):
        ReleaseNames(release, default=7227)


def test_names_of_one_species_are_found_as_those_of_a_table(tmp_path: Path) -> None:
    head, *lines = SHIPPED_NAMES.read_text("utf-8").splitlines()
    table = [f"{head}\tOrganism (ID)", *(f"{line}\t9606" for line in lines)]
    names = ReleaseNames(built(tmp_path, "\n".join(table) + "\n"))
    known = Dictionary(read_proteins(SHIPPED_NAMES))
    for path in sorted((DEMO / "articles").glob("*.txt")):
        text = path.read_text("utf-8")
        assert names.find(text) == known.find(text), path


def test_threads_share_the_names(release: Path) -> None:
    names = ReleaseNames(release)
    answers: list[list[tuple[str, set[str]]]] = []
    threads = [
        threading.Thread(target=lambda: answers.append(found(names, "p53 of mice")))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [[("p53", {"P02340"})]] * 4


def test_a_release_without_names(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"no names\.sqlite; expected what metaserver"):
        ReleaseNames(built(tmp_path, TABLE, names=False))


@pytest.mark.parametrize(
    ("damage", "message"),
    [("format", "names of format 9; expected 2"), ("bytes", "cannot be read")],
)
def test_names_that_cannot_be_used(tmp_path: Path, damage: str, message: str) -> None:
    path = tmp_path / NAMES
    if damage == "format":
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA user_version = 9")
        connection.close()
    else:
        path.write_bytes(b"no database" * 1000)
    with pytest.raises(BadInputError, match=message):
        ReleaseNames(tmp_path)
