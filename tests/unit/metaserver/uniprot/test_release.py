import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from metaserver.base.errors import InputError
from metaserver.uniprot import Release, Status, bits
from metaserver.uniprot.codec import MALFORMED, encode
from tests.shared import ROOT
from tests.unit.metaserver.uniprot.samples import FLAT, build

GOLDEN = ROOT / "tests" / "golden" / "uniprot_verdicts.tsv"
CASES = [line.split("\t") for line in GOLDEN.read_text("utf-8").splitlines()]


@pytest.mark.parametrize(("text", "status", "reason", "accessions"), CASES)
def test_each_string_gets_its_verdict_and_its_sentence(release, text, status, reason, accessions):
    [verdict] = release.lookup([text])
    assert (verdict.text, verdict.status.label, verdict.reason) == (text, status, reason)
    assert ",".join(verdict.accessions) == accessions


def test_a_verdict_does_not_depend_on_company(release):
    texts = [text for text, *_ in CASES]
    together = release.lookup(texts)
    assert together == [release.lookup([text])[0] for text in texts]
    assert release.judge(texts).tolist() == [verdict.status for verdict in together]


def test_a_line_end_inside_a_string_shifts_no_verdict(release):
    statuses = release.judge(["P04637\n", "P04637", "P04637\nP02340", "P02340", "\n"])
    assert statuses.tolist() == [Status.MALFORMED, 0, Status.MALFORMED, 0, Status.MALFORMED]
    for texts in (["P04637\nP04637", ""], ["P04637\nP02340\nP04637"]):
        assert encode(texts).tolist() == [MALFORMED] * len(texts)


def test_a_string_of_any_length_is_judged_by_its_shape(release):
    for text in ("P04637-2" + " " * 60, "x" * 1_000_000, "9" * 100):
        assert release.lookup([text])[0].reason.startswith("is not an accession")


def test_ranks_number_the_entries_and_lead_back(release):
    count = release.meta.counts.primary
    ranks = np.arange(count)
    codes = release.bits.codes(ranks)
    assert release.bits.ranks(codes).tolist() == ranks.tolist()
    assert np.concatenate(list(release.bits.scan())).tolist() == codes.tolist()
    assert release.bits.ranks(encode(["Q15086", "O00001", "P99999", "x"])).tolist() == [-1] * 4


def test_a_scan_in_blocks_yields_each_entry_once(monkeypatch):
    class Pages:
        def codes(self, addresses):
            return addresses

    live = np.array([0b11, 0xFF, 0, 0b10000000, 0b1, 0xFF, 0xFF, 0b1], np.uint8)
    whole = bits.EntryBits(pages=Pages(), live=live, rank64=np.zeros(1, np.uint32))
    expected = np.flatnonzero(np.unpackbits(live, bitorder="little")).tolist()
    for size in range(1, len(live) + 1):
        monkeypatch.setattr(bits, "_SCAN", size)
        assert np.concatenate(list(whole.scan())).tolist() == expected
        assert whole.count == len(expected)


def test_an_entry_has_its_species_strain_and_cluster(release):
    accessions = ["P04637", "P0A7G6", "A0A023GPI8", "Q15086"]
    assert release.entries.taxa(accessions) == [9606, 562, 3828, 0]
    assert release.entries.taxa(accessions, strains=True) == [9606, 83333, 3828, 0]
    assert release.entries.clusters(accessions) == [
        "UniRef50_P04637", "UniRef50_P0A7G6-2", "UniRef50_UPI000013EAA0", "",
    ]  # fmt: skip


def test_an_open_release_outlives_its_directory(tmp_path):
    release = build(tmp_path, {"sprot.dat": FLAT})
    shutil.rmtree(release.directory)
    assert [verdict.status.label for verdict in release.lookup(["P04637", "Q15086", "P99999"])] == [
        "primary", "secondary", "unknown",
    ]  # fmt: skip


def copied(release: Release, folder: Path) -> Path:
    return Path(shutil.copytree(release.directory, folder / "copy"))


def test_a_folder_that_is_no_release_is_named(tmp_path):
    for path in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(InputError, match="not a UniProt release directory") as caught:
            Release.open(path)
        assert caught.value.place == str(path)


@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_another_format_version_is_refused(release, tmp_path, version):
    path = copied(release, tmp_path)
    meta = json.loads((path / "META.json").read_text())
    (path / "META.json").write_text(json.dumps({**meta, "format": version}))
    with pytest.raises(InputError, match=r"release of format .*, expected 1") as caught:
        Release.open(path)
    assert caught.value.place == str(path)


@pytest.mark.parametrize("name", ["live.bits", "sec_to.i8", "taxon.u4", "set_member.u4"])
def test_a_damaged_file_is_named(release, tmp_path, name):
    path = copied(release, tmp_path)
    with (path / name).open("ab") as file:
        file.write(b"\0")
    with pytest.raises(InputError, match="damaged release") as caught:
        Release.open(path)
    assert caught.value.place == str(path / name)
    (path / name).unlink()
    with pytest.raises(InputError, match="cannot be read"):
        Release.open(path)


def test_a_meta_file_without_its_parts_is_damaged(release, tmp_path):
    path = copied(release, tmp_path)
    (path / "META.json").write_text('{"format": 1, "name": "x"}')
    with pytest.raises(InputError, match="damaged"):
        Release.open(path)
