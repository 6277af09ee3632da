"""Real files: a release's entries compared with those of Biopython's parser."""

import re
from pathlib import Path

import pytest
from Bio import SeqIO, SwissProt

from metaserver.uniprot import Release, Status, build_release
from metaserver.uniprot.sources import SourceFile, recognise
from metaserver.uniprot.sources.entries import read_flatfile
from tests.shared import shared


def flat_files() -> list[Path]:
    return sorted(shared("data/uniprot/flat").glob("*.txt"))


@pytest.fixture(scope="module")
def records() -> list[SwissProt.Record]:
    found = []
    for path in flat_files():
        with path.open() as file:
            found += SwissProt.parse(file)
    assert len(found) >= 24
    return found


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    out = tmp_path_factory.mktemp("flat") / "release"
    return build_release(flat_files(), name="flat", out=out)


def test_every_entry_is_read_as_biopython_reads_it(records):
    entries = []
    for path in flat_files():
        with SourceFile(path) as source:
            entries += read_flatfile(source)
    assert len(entries) == len(records)
    for entry, record in zip(entries, records, strict=True):
        assert entry.entry_name == record.entry_name
        assert [entry.accession, *entry.secondaries] == record.accessions
        assert [str(entry.taxon)] == record.taxonomy_id
        genes = {name for gene in record.gene_name for name in named(gene)}
        own_part = re.split(r"(?:Contains|Includes):", record.description)[0]
        full = re.findall(r"(?:Full|Short|INN|CD_antigen)=([^;]+)", own_part)
        described = {re.sub(r"\s*\{[^}]*\}", "", name) for name in full}
        assert set(entry.names) == genes | described


def named(gene: dict) -> list[str]:
    names = [gene.get("Name", ""), *gene.get("Synonyms", [])]
    return [re.sub(r"\s*\{[^}]*\}", "", name).strip() for name in names if name]


def test_every_accession_gets_the_verdict_that_its_entries_imply(records, release):
    primary = {record.accessions[0] for record in records}
    successors: dict[str, set[str]] = {}
    for record in records:
        for old in record.accessions[1:]:
            successors.setdefault(old, set()).add(record.accessions[0])
    assert release.meta.counts.primary == len(primary)
    for verdict in release.lookup(sorted(primary)):
        assert verdict.status is Status.PRIMARY
    for verdict in release.lookup(sorted(successors.keys() - primary)):
        assert verdict.status is Status.SECONDARY
        assert set(verdict.accessions) == successors[verdict.text]


def test_every_entry_has_biopythons_taxon_and_name(records, release):
    accessions = [record.accessions[0] for record in records]
    taxa = [int(record.taxonomy_id[0]) for record in records]
    assert release.entries.taxa(accessions, strains=True) == taxa
    reviewed = [record for record in records if record.data_class == "Reviewed"]
    for verdict, record in zip(
        release.lookup([record.entry_name for record in reviewed]), reviewed, strict=True
    ):
        assert verdict.accessions == (record.accessions[0],)


def test_an_xml_entry_is_read_as_biopython_reads_it():
    path = shared("data/uniprot/flat/P84001.xml")
    with path.open("rb") as file:
        [record] = SeqIO.parse(file, "uniprot-xml")
    with SourceFile(path) as source:
        [entry] = recognise(source).read(source)
    assert [entry.accession, *entry.secondaries] == record.annotations["accessions"]
    assert entry.entry_name == record.name
    assert f"NCBI Taxonomy:{entry.taxon}" in record.dbxrefs
    described = [
        name
        for key in ("recommendedName_fullName", "recommendedName_shortName")
        for name in record.annotations[key]
    ]
    assert entry.names == [*described, *record.annotations["alternativeName_fullName"]]


@pytest.mark.slow
def test_all_human_entries_of_swiss_prot_are_primary(tmp_path):
    table = shared("data/uniprot/human_reviewed.tsv")
    species = shared("data/uniprot/speclist.txt")
    release = build_release([table, species], name="human", out=tmp_path / "human")
    rows = [line.split("\t") for line in table.read_text("utf-8").splitlines()[1:]]
    accessions = [row[0] for row in rows]
    assert release.meta.counts.primary == len(set(accessions)) == 20_366
    assert not release.judge(accessions).any()
    assert set(release.entries.taxa(accessions)) == {9606}
    named = release.lookup([row[1] for row in rows])
    assert [verdict.accessions for verdict in named] == [(accession,) for accession in accessions]
