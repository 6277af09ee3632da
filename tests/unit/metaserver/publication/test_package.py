"""A package that a hub sent: verified, and written nowhere but into its folder."""

import json
import zipfile
from pathlib import Path

import pytest

from metaserver.base.errors import HubError, InputError
from metaserver.base.zips import CHECKSUMS
from metaserver.cli.package import unpack
from metaserver.publication.folder import METADATA, NO_LICENCE, PackageFolder, write_crate
from metaserver.publication.packing import zip_folder
from tests.unit.metaserver.cli.test_unzipping import written


def test_a_package_is_the_same_after_its_way(tmp_path: Path) -> None:
    folder = PackageFolder(tmp_path / "made")
    folder.table("tables/INT/raw", [["run", "F"], ["=a&b", 0.5], ["c_d", 0.25]], "INT: $ & %")
    folder.write("report.html", "<p>", "a page")
    folder.finish()
    zip_folder(tmp_path / "made", tmp_path / "package.zip", "results-test")
    with zipfile.ZipFile(tmp_path / "package.zip") as package:
        assert {name.partition("/")[0] for name in package.namelist()} == {"results-test"}
    assert unpack(tmp_path / "package.zip", tmp_path / "out") == 4
    for path in (tmp_path / "made").rglob("*.*"):
        name = path.relative_to(tmp_path / "made")
        assert (tmp_path / "out" / name).read_bytes() == path.read_bytes()
        assert (tmp_path / "out" / name).stat().st_mode & 0o077 == 0
    assert "'=a&b,0.5" in (tmp_path / "out/tables/INT/raw.csv").read_text()
    assert r"c\_d" in (tmp_path / "out/tables/INT/raw.tex").read_text()
    assert r"\caption{INT: \$ \& \%}" in (tmp_path / "out/tables/INT/raw.tex").read_text()


@pytest.mark.parametrize("name", ["../out.txt", "/etc/x", "a/../../b", ".hidden", "a\\b", "a b"])
def test_no_file_is_written_beside_the_folder(tmp_path: Path, name: str) -> None:
    place = written(tmp_path / "package.zip", {"good.txt": b"1", name: b"2"})
    with pytest.raises(InputError, match="nothing is written"):
        unpack(place, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_another_file_than_was_sent_is_refused(tmp_path: Path) -> None:
    written(tmp_path / "package.zip", {"a.txt": b"12345"})
    with zipfile.ZipFile(tmp_path / "package.zip") as package:
        sums = package.read(f"top/{CHECKSUMS}")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as other:
        other.writestr("top/a.txt", b"54321")
        other.writestr(f"top/{CHECKSUMS}", sums)
    with pytest.raises(InputError, match="checksum"):
        unpack(tmp_path / "other.zip", tmp_path / "out")


@pytest.mark.parametrize("url", ["https://creativecommons.org/licenses/by/4.0/", ""])
def test_its_metadata_state_the_licence_that_was_chosen_and_no_other(
    tmp_path: Path, url: str
) -> None:
    folder = PackageFolder(tmp_path / "made")
    folder.write("tables/a.csv", "1\n", "a table")
    write_crate(
        folder, name="bc: Test", description="It.", published="2026-11-27", license_url=url,
        authors=["Ana", "Bob"], keywords=[],
    )  # fmt: skip
    document = json.loads((folder.place / METADATA).read_bytes())
    graph = {entity["@id"]: entity for entity in document["@graph"]}
    root = graph[graph[METADATA]["about"]["@id"]]
    assert root.keys() >= {"name", "description", "datePublished", "license"}  # RO-Crate's MUST
    assert root["license"] == ({"@id": url} if url else NO_LICENCE)
    assert [graph[one["@id"]]["name"] for one in root["author"]] == ["Ana", "Bob"]
    licences = [one for one in graph.values() if one["@id"].startswith("http")]
    assert [one["@id"] for one in licences] == [url] * bool(url)
    assert all(one["name"] and one["description"] for one in licences)


def test_a_package_is_bounded(tmp_path: Path) -> None:
    folder = PackageFolder(tmp_path / "made", limit=100)
    folder.write("a.txt", "x" * 60, "one")
    with pytest.raises(HubError, match="more than 100 bytes"):
        folder.write("b.txt", "x" * 60, "two")
