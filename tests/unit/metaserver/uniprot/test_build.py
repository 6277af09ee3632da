import os
import subprocess
from itertools import permutations

import numpy as np
import pytest

from metaserver.base.errors import InputError
from metaserver.uniprot import Release, build_release
from metaserver.uniprot.build import WRITING, VerificationError, place, verify
from metaserver.uniprot.release import use
from tests.unit.metaserver.uniprot.samples import (
    CLUSTERS,
    FLAT,
    P53,
    SOURCES,
    SPECLIST,
    build,
    flat_entry,
    write_sources,
)


def contents(release: Release) -> dict[str, bytes]:
    paths = release.directory.iterdir()
    return {path.name: path.read_bytes() for path in paths if path.name != "META.json"}


@pytest.mark.slow
def test_the_order_of_the_sources_has_no_effect(tmp_path):
    paths = write_sources(tmp_path / "in", SOURCES)
    built = [
        build_release(order, name="x", out=tmp_path / str(number))
        for number, order in enumerate(list(permutations(paths))[::17])
    ]
    assert len(built) > 5
    assert all(contents(release) == contents(built[0]) for release in built)


def test_counts_are_of_what_the_sources_hold(release):
    counts = release.meta.counts
    assert (counts.primary, counts.secondary, counts.deleted) == (7, 8, 2)
    assert (counts.with_taxon, counts.with_cluster, counts.entry_names) == (7, 7, 6)
    assert [source.records for source in release.meta.sources] == [10, 7, 3, 2, 7]
    assert {len(source.sha256) for source in release.meta.sources} == {64}


def test_an_accession_said_to_be_several_things_is_the_best_of_them(release):
    """P04637 is in the deleted list too; an entry takes precedence, as a successor would."""
    assert release.lookup(["P04637"])[0].status.label == "primary"


def test_a_release_is_never_written_over(tmp_path):
    release = build(tmp_path, {"sprot.dat": FLAT})
    before = contents(release)
    with pytest.raises(InputError, match="exists already"):
        build(tmp_path, {"list": "P04637\n"})
    assert contents(release) == before


def test_sources_without_entries_make_no_release(tmp_path):
    with pytest.raises(InputError, match="no entries"):
        build(tmp_path, {"speclist.txt": SPECLIST})
    assert not (tmp_path / "2025_04").exists()


def test_a_missing_source_is_named(tmp_path):
    with pytest.raises(InputError, match="cannot be read") as caught:
        build_release([tmp_path / "none.dat"], name="x", out=tmp_path / "out")
    assert caught.value.place == str(tmp_path / "none.dat")
    with pytest.raises(InputError, match="Is a directory"):
        build_release([tmp_path], name="x", out=tmp_path / "out")


def test_a_pipe_is_no_source(tmp_path):
    """Its beginning could not be read again once its kind is known."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="a pipe; expected a file"):
        build_release([tmp_path / "pipe"], name="x", out=tmp_path / "out")


@pytest.mark.parametrize("name", ["", "2025 04", "2025|04", "2025_04+map", "a\nb"])
def test_a_release_has_a_name_that_scores_can_be_signed_with(tmp_path, name):
    with pytest.raises(InputError, match="scores are signed with it"):
        build_release(write_sources(tmp_path / "in"), name=name, out=tmp_path / "out")


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    paths = write_sources(tmp_path / "in", {"list": "P04637\n"})
    with pytest.raises(InputError, match="cannot be written"):
        build_release(paths, name="x", out=tmp_path / "file" / "out")


def test_accessions_too_scattered_to_be_uniprots_are_refused(tmp_path):
    from metaserver.uniprot.codec import PAGE, TEN, decode

    scattered = decode(TEN + np.arange(0, 200_001) * 300 * PAGE)
    with pytest.raises(InputError, match="these are not UniProt's"):
        build(tmp_path, {"list": "".join(f"{accession}\n" for accession in scattered)})


def test_progress_counts_every_byte_of_every_source(tmp_path):
    paths = write_sources(tmp_path / "in", SOURCES)
    read: dict[str, int] = {}

    def begun(stage: str):
        def advance(size: int) -> None:
            read[stage] += size

        read[stage] = 0
        return advance

    build_release(paths, name="x", out=tmp_path / "out", on_stage=begun)
    assert [*read][-1] == WRITING
    assert read.pop(WRITING) == 0
    assert read == {path.name: path.stat().st_size for path in paths}


def test_the_remains_of_a_killed_build_are_removed_by_the_next(tmp_path):
    ended = subprocess.Popen(["true"])
    ended.wait()
    dead = tmp_path / f".new.{ended.pid}.building"
    others = [
        tmp_path / f".new.{os.getppid()}.building",  # that build goes on
        tmp_path / f".old.{ended.pid}.building",
        tmp_path / f".new.{ended.pid}.building.txt",
        tmp_path / ".new.x.building",
    ]
    for path in (dead, *others):
        path.mkdir()
        (path / "live.spill").write_bytes(b"")
    build(tmp_path, {"list": "P04637\n"}, name="new")
    assert not dead.exists()
    assert all((path / "live.spill").exists() for path in others)


def test_homonym_orthologs_share_a_name_and_a_cluster_but_no_organism(release):
    entries = release.entries
    found = entries.orthologs(["P04637", "P02340", "P68250", "P0A7G6"])
    assert found == [["P02340", "P10361"], ["P04637", "P10361"], ["P68251"], []]
    assert entries.orthologs(["Q15086", "P99999", "x"]) == [[], [], []]


def test_homonym_sets_are_not_chained(tmp_path):
    """A and B share one name, B and C another: A and C share none."""
    flat = "".join(
        [
            flat_entry("A_HUMAN", "P00001;", 9606, full=["alpha"]),
            flat_entry("B_MOUSE", "P00002;", 10090, full=["ALPHA", "beta"]),
            flat_entry("C_RAT", "P00003;", 10116, full=["Beta"]),
        ]
    )
    clusters = "".join(f"P0000{i}\tUniRef50_P00001\n" for i in (1, 2, 3))
    entries = build(tmp_path, {"a.dat": flat, "c.tsv": clusters}).entries
    found = entries.orthologs(["P00001", "P00002", "P00003"])
    assert found == [["P00002"], ["P00001", "P00003"], ["P00002"]]


@pytest.mark.parametrize(
    ("name", "cluster", "taxon", "found"),
    [
        (P53.upper(), "P04637", 10090, ["P00002"]),  # case does not count
        (P53, "P99999", 10090, []),  # another cluster
        (P53, "P04637", 9606, []),  # the same organism
        (P53, "P04637", 0, []),  # an organism that is not known
        ("p", "P04637", 10090, []),  # one letter
        ("53", "P04637", 10090, []),  # a number
        ("Another name", "P04637", 10090, []),
    ],
)
def test_the_conditions_of_homonym_orthologs(tmp_path, name, cluster, taxon, found):
    flat = flat_entry("A_HUMAN", "P00001;", 9606, full=[P53, "P", "53"])
    flat += flat_entry("B_MOUSE", "P00002;", taxon, full=[name])
    clusters = f"P00001\tUniRef50_P04637\nP00002\tUniRef50_{cluster}\n"
    release = build(tmp_path, {"a.dat": flat, "c.tsv": clusters})
    assert release.entries.orthologs(["P00001"]) == [found]


def test_a_link_is_swapped_while_an_open_release_keeps_its_files(tmp_path):
    old = build(tmp_path, {"sprot.dat": FLAT}, name="old")
    new = build(tmp_path, {"list": "P02340\n"}, name="new")
    link = tmp_path / "releases" / "current"
    assert use(old.directory, link).name == "old"
    under_way = Release.open(link)
    assert use(new.directory, link).name == "new"
    assert under_way.lookup(["P04637"])[0].status.label == "primary"
    assert Release.open(link).lookup(["P04637"])[0].status.label == "unknown"
    assert not link.readlink().is_absolute()
    assert [path.name for path in link.parent.iterdir()] == ["current"]


def test_use_refuses_other_files_and_folders(tmp_path):
    release = build(tmp_path, {"sprot.dat": FLAT})
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="is not a symbolic link"):
        use(release.directory, tmp_path / "folder")
    with pytest.raises(InputError, match="not a UniProt release"):
        use(tmp_path / "folder", tmp_path / "current")
    assert not (tmp_path / "current").is_symlink()


def test_verification_finds_a_bit_that_was_lost(tmp_path):
    """The check of every build, applied to a release whose bitmap lost one entry."""
    from metaserver.uniprot.intake import Intake
    from metaserver.uniprot.layout import FORMAT, Meta, write_meta
    from metaserver.uniprot.sources import SourceFile, recognise

    [path] = write_sources(tmp_path / "in", {"sprot.dat": FLAT})
    home = tmp_path / "release"
    home.mkdir()
    intake = Intake(home)
    with SourceFile(path) as source:
        intake.take(source, recognise(source).read(source))
    counts = place(home, intake)
    write_meta(home, Meta(format=FORMAT, name="x", counts=counts, sources=[]))
    verify(Release.open(home), intake)
    bits = np.memmap(home / "live.bits", np.uint8, "r+")
    lost = int(np.flatnonzero(bits)[0])
    bits[lost] = 0
    with pytest.raises(VerificationError, match="found 6, expected 7"):
        verify(Release.open(home), intake)
    bits[0] = 1  # the count is right again, the accession is another
    with pytest.raises(VerificationError, match="found unknown, expected primary"):
        verify(Release.open(home), intake)
    intake.close()


def test_clusters_alone_make_no_entries(tmp_path):
    release = build(tmp_path, {"list": "P04637\n", "c.tsv": CLUSTERS})
    assert release.lookup(["P02340"])[0].status.label == "unknown"
    assert release.meta.counts.with_cluster == 1
