import gzip
import re
import zlib
from hashlib import sha256
from io import DEFAULT_BUFFER_SIZE
from pathlib import Path

import pytest

from metaserver.base.errors import InputError
from metaserver.uniprot import Release, build_release
from metaserver.uniprot.sources import SourceFile, recognise
from metaserver.uniprot.sources.reader import ProteinEntry, gene_names, protein_names
from metaserver.uniprot.sources.taxonomy import Organism, Taxonomy
from tests.shared import shared
from tests.unit.metaserver.uniprot.samples import (
    CLUSTERS,
    DELETED,
    FLAT,
    SECONDARY,
    SPECLIST,
    build,
    write_sources,
)

FASTA = """\
>sp|P04637|P53_HUMAN Cellular tumor antigen p53 OS=Homo sapiens OX=9606 GN=TP53 PE=1 SV=4
MEEPQSDPSVEPPLSQ
ETFSDLWKLL
>tr|A0A023GPI8|A0A023GPI8_CANGA Lectin alpha chain (Fragment) OS=Canavalia OX=232301 PE=1
MADTIVAVELDTYPNTDIGDPSYPHIGIDIKSVRSK
>sp|Q00001|NAME_ECOLI With OS=in its name OS=Escherichia coli (strain K12)
M
"""
IDMAPPING = "".join(
    "\t".join([accession, name, *[""] * 7, cluster, "UPI000002ED67", "", taxon, *[""] * 9]) + "\n"
    for accession, name, cluster, taxon in (
        ("P04637", "P53_HUMAN", "UniRef50_P04637", "9606"),
        ("P02340", "P53_MOUSE", "UniRef50_P04637", "10090"),
    )
)
IDMAPPING_DAT = """\
P04637\tUniProtKB-ID\tP53_HUMAN
P04637\tUniRef50\tUniRef50_P04637
P04637-2\tUniRef50\tUniRef50_P04637
"""
UNIREF = """\
<?xml version="1.0" encoding="ISO-8859-1" ?>
<UniRef50 xmlns="http://uniprot.org/uniref">
<entry id="UniRef50_P04637" updated="2025-10-15">
  <representativeMember>
    <dbReference type="UniProtKB ID" id="P53_HUMAN">
      <property type="UniProtKB accession" value="P04637"/>
      <property type="UniProtKB accession" value="Q15086"/>
    </dbReference>
  </representativeMember>
  <member>
    <dbReference type="UniParc ID" id="UPI000002ED67">
      <property type="length" value="393"/>
    </dbReference>
  </member>
  <member>
    <dbReference type="UniProtKB ID" id="P53_MOUSE">
      <property type="UniProtKB accession" value="P02340"/>
    </dbReference>
  </member>
</entry>
</UniRef50>
"""
XML = """\
<?xml version="1.0" encoding="UTF-8"?>
<uniprot xmlns="https://uniprot.org/uniprot">
<entry dataset="Swiss-Prot">
  <accession>P04637</accession>
  <accession>Q15086</accession>
  <name>P53_HUMAN</name>
  <protein>
    <recommendedName><fullName evidence="1">Cellular tumor antigen p53</fullName></recommendedName>
    <alternativeName><fullName>p53 &amp; more</fullName><shortName>p53</shortName></alternativeName>
    <cdAntigenName>CD0</cdAntigenName>
    <component><recommendedName><fullName>A part</fullName></recommendedName></component>
  </protein>
  <gene>
    <name type="primary">TP53</name>
    <name type="ORF">ORF1</name>
    <name type="synonym">P53</name>
  </gene>
  <organism>
    <name type="scientific">Homo sapiens</name>
    <dbReference type="NCBI Taxonomy" id="9606"/>
  </organism>
  <organismHost><dbReference type="NCBI Taxonomy" id="1"/></organismHost>
  <comment type="alternative products"><isoform><name>2</name></isoform></comment>
</entry>
<entry dataset="TrEMBL">
  <accession>A0A023GPI8</accession>
  <name>A0A023GPI8_CANGA</name>
  <organism><dbReference type="NCBI Taxonomy" id="232301"/></organism>
</entry>
</uniprot>
"""
TSV = """\
Entry\tEntry Name\tReviewed\tProtein names\tGene Names\tOrganism\tOrganism (ID)
P04637\tP53_HUMAN\treviewed\tTumor antigen p53 (Antigen NY-CO-13)\tTP53\tHomo sapiens (Human)\t9606
"""
MAPPING = "From\tCluster ID\tSize\nP04637\tUniRef50_P04637\t12\n"
NODES = "".join(
    f"{taxon}\t|\t{parent}\t|\t{rank}\t|\t\t|\n"
    for taxon, parent, rank in (
        (1, 1, "no rank"),
        (561, 1, "genus"),
        (562, 561, "species"),
        (83333, 562, "strain"),
        (316407, 83333, "no rank"),
    )
)
LIST = "P04637\nA0A023GPI8\nP02340\n"

KINDS = {
    "flat file": FLAT, "FASTA": FASTA, "XML": XML, "idmapping_selected.tab": IDMAPPING,
    "UniRef50 membership": CLUSTERS, "UniRef XML": UNIREF, "TSV": TSV, "nodes.dmp": NODES,
    "list": LIST, "sec_ac.txt": SECONDARY, "delac": DELETED, "speclist.txt": SPECLIST,
}  # fmt: skip


def read(path: Path) -> list:
    with SourceFile(path) as source:
        return list(recognise(source).read(source))


def written(folder: Path, text: str) -> Path:
    [path] = write_sources(folder, {"source": text})
    return path


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_source_is_recognised_by_its_contents(tmp_path, kind, end, packed):
    expected = read(written(tmp_path / "plain", KINDS[kind]))
    data = KINDS[kind].replace("\n", end).encode()
    path = tmp_path / "source.bin"
    path.write_bytes(gzip.compress(data) if packed else data)
    with SourceFile(path) as source:
        found = recognise(source)
        assert found.name == kind
        assert list(map(str, found.read(source))) == list(map(str, expected))
        assert expected
        assert source.sha256 == sha256(path.read_bytes()).hexdigest()


def test_a_byte_order_mark_is_passed_over(tmp_path):
    path = tmp_path / "table.tsv"
    path.write_text(TSV, "utf-8-sig")
    assert [entry.accession for entry in read(path)] == ["P04637"]


def test_xml_and_flat_files_give_the_same_entries(tmp_path):
    human, other = read(written(tmp_path, XML))
    assert human == ProteinEntry(
        line=3,
        accession="P04637",
        entry_name="P53_HUMAN",
        taxon=9606,
        organism="Homo sapiens",
        names=["Cellular tumor antigen p53", "p53 & more", "p53", "CD0", "TP53", "P53"],
        secondaries=["Q15086"],
        symbols=["TP53", "P53"],
    )
    assert (other.accession, other.taxon, other.names) == ("A0A023GPI8", 232301, [])


def test_flat_files_give_names_genes_taxon_and_secondaries(tmp_path):
    text = """\
ID   P53_HUMAN               Reviewed;         393 AA.
AC   P04637; Q15086;
AC   Q15087;
DE   RecName: Full=Cellular tumor antigen p53 {ECO:0000305};
DE            Short=p53;
DE            EC=1.2.3.4;
DE   AltName: Full=Antigen NY-CO-13;
DE   AltName: CD_antigen=CD0;
DE   Contains:
DE     RecName: Full=A part;
DE   Flags: Precursor;
GN   Name=TP53 {ECO:0000312|HGNC:HGNC:11998}; Synonyms=P53, LFS1;
GN   OrderedLocusNames=b0001; ORFNames=X1;
GN   and
GN   Name=TP53B;
OX   NCBI_TaxID=9606 {ECO:1};
SQ   SEQUENCE   4 AA;
     MEEP
//
"""
    [entry] = read(written(tmp_path, text))
    assert entry == ProteinEntry(
        line=2,
        accession="P04637",
        entry_name="P53_HUMAN",
        taxon=9606,
        names=["Cellular tumor antigen p53", "p53", "Antigen NY-CO-13", "CD0",
               "TP53", "P53", "LFS1", "TP53B"],
        secondaries=["Q15086", "Q15087"],
        symbols=["TP53", "P53", "LFS1", "TP53B"],
    )  # fmt: skip


def test_fasta_headers_give_names_and_organism(tmp_path):
    first, second, third = read(written(tmp_path, FASTA))
    assert first == ProteinEntry(
        line=1, accession="P04637", entry_name="P53_HUMAN", taxon=9606, organism="Homo sapiens",
        names=["Cellular tumor antigen p53", "TP53"], symbols=["TP53"],
    )  # fmt: skip
    assert (second.accession, second.names, second.line) == (
        "A0A023GPI8", ["Lectin alpha chain"], 4,
    )  # fmt: skip
    assert (third.taxon, third.organism) == (0, "Escherichia coli (strain K12)")


def test_names_are_taken_out_of_their_brackets():
    text = "Beta-catenin (Protein (B)) (EC 1.2.3.4) (p35(x)) (Fragment) [Cleaved into: Part (P)]"
    assert protein_names(text) == ["Beta-catenin", "Protein (B)", "p35(x)"]
    found = protein_names("All-trans-retinol dehydrogenase [NAD(+)] ADH1B")
    assert found == ["All-trans-retinol dehydrogenase [NAD(+)] ADH1B"]
    assert list(gene_names("Name=A; Synonyms=B, C; ORFNames=D;")) == ["A", "B", "C"]


def test_a_table_names_its_organism_by_the_species_list(tmp_path):
    table = "Entry\tOrganism\nP04637\tHomo sapiens (Human)\nP0A7G6\tEscherichia coli (strain K12)\n"
    release = build(tmp_path, {"a.tsv": table, "speclist.txt": SPECLIST})
    assert release.entries.taxa(["P04637", "P0A7G6"], strains=True) == [9606, 83333]


@pytest.mark.parametrize("tree", [{}, {"nodes.dmp": NODES}], ids=["by name", "by the NCBI tree"])
def test_strains_roll_up(tmp_path, tree):
    entries = build(tmp_path, {"list": LIST, "speclist.txt": SPECLIST} | tree).entries
    pairs = dict(zip(entries.strain.tolist(), entries.species.tolist(), strict=True))
    assert pairs == {83333: 562, 83334: 562} | ({316407: 562} if tree else {})


@pytest.mark.parametrize(
    ("kingdom", "name", "above"),
    [
        ("B", "Escherichia coli O26:H11 (strain 11368 / EHEC)", 562),
        ("E", "Homo sapiens neanderthalensis", 9606),
        ("E", "Homo sapiens x Bos taurus", 7),
        ("B", "Homo sapiens gut symbiont", 7),  # not of its host's kingdom
        ("B", "Streptomyces sp. (strain K15)", 7),  # no named species
        ("V", "Influenza A virus (strain A/Wilson-Smith/1933 H1N1)", 11320),
        ("V", "Influenza A virus of a duck", 7),
        ("E", "Candida", 7),
    ],
)
def test_a_name_rolls_up_to_the_species_it_extends(kingdom, name, above):
    taxonomy = Taxonomy()
    taxonomy.add(
        Organism(taxon, listed, True, letter)
        for taxon, listed, letter in (
            (562, "Escherichia coli", "B"),
            (9606, "Homo sapiens", "E"),
            (11320, "Influenza A virus", "V"),
            (1931, "Streptomyces sp.", "B"),
            (7, name, kingdom),
        )
    )
    assert taxonomy.strains().tolist() == ([[7, above]] if above != 7 else [])


@pytest.mark.slow
def test_clusters_come_from_any_of_their_sources(tmp_path):
    for number, text in enumerate((UNIREF, IDMAPPING_DAT, CLUSTERS, IDMAPPING, MAPPING)):
        release = build(tmp_path, {"list": LIST, "clusters": text}, name=str(number))
        assert release.entries.clusters(["P04637"]) == ["UniRef50_P04637"]


BROKEN = {
    "not UniProt's": ("Hello\nworld\n", 1, "not a file a release is built from"),
    "empty": ("", 1, "not a file a release is built from"),
    "cut flat file": (FLAT[: FLAT.index("OX   NCBI_TaxID=10090")], 14, "truncated"),
    "no end of an entry": (FLAT.replace("//\n", "", 1), 9, "not ended by '//'"),
    "no AC line": ("ID   X_HUMAN   Reviewed;\n//\n", 2, "has no AC line"),
    "junk between entries": (FLAT.replace("//\n", "//\njunk\n", 1), 10, "expected a line 'ID"),
    "wrong AC line": (FLAT.replace("P02340;", "P0234;"), 11, "expected an accession, got 'P0234'"),
    "wrong secondary": (FLAT.replace("Q9QUP3;", "q9qup3;"), 11, "got 'q9qup3'"),
    "no ID line": (FLAT.replace("ID   P53_MOUSE", "AC   P53_MOUSE"), 10, "expected a line 'ID"),
    "nameless ID line": (FLAT.replace("ID   P53_MOUSE", "ID P53_MOUSE"), 10, "expected 'ID   NAME"),
    "cut FASTA": (FASTA[: FASTA.rindex("M\n")], 6, "truncated"),
    "FASTA of others": (">NP_000537.3 p53\nMEEP\n", 1, "expected '>sp|ACCESSION|NAME"),
    "FASTA without sequence": (">sp|P04637|P53_HUMAN\n>sp|P02340|P53_MOUSE\nM\n", 2, "no sequence"),
    "FASTA with numbers": (">sp|P04637|P53_HUMAN\nMEEP\n12\n", 3, "expected a sequence"),
    "list with a wrong line": (LIST + "P0463\n", 4, "expected an accession, got 'P0463'"),
    "list with an empty line": ("P04637\n\nP02340\n", 2, "expected an accession, got ''"),
    "cut table": (TSV[: TSV.rindex("\t")] + "\n", 2, "6 columns, expected 7"),
    "table with a wrong taxon": (TSV.replace("9606", "human"), 2, "expected a taxon number"),
    "cut idmapping": (IDMAPPING[:-16], 2, "columns, expected 22"),
    "idmapping with a wrong taxon": (IDMAPPING.replace("10090", "x"), 2, "in column 13"),
    "wrong cluster": (CLUSTERS.replace("50_P31946", "90_P31946", 1), 4, "expected a UniRef50"),
    "mapping to others": (MAPPING.replace("Cluster ID", "To"), 1, "a mapping to something else"),
    "mapping to UniRef90": (MAPPING.replace("50_", "90_"), 2, "expected a UniRef50 cluster"),
    "cluster of an entry": (IDMAPPING.replace("UniRef50_", "UniRef90_"), 1, "expected a UniRef50"),
    "table without rows": (TSV[: TSV.index("P04637")], 1, "no records; the TSV ends"),
    "UniRef90 without UniRef50": (UNIREF.replace("UniRef50_", "UniRef90_"), 8, "no UniRef50"),
    "four columns": (CLUSTERS + "P04637\ta\tb\tc\n", 8, "4 columns"),
    "cut UniRef": (UNIREF[: UNIREF.rindex("</entry>")], 19, "truncated"),
    "cut XML": (XML[: XML.rindex("</entry>")], 29, "truncated XML"),
    "XML of no organism": (XML.replace("Taxonomy", "Taxon"), 3, "without an accession or a taxon"),
    "XML with a wrong accession": (XML.replace("Q15086", "Q1508"), 3, "got 'Q1508'"),
    "cut secondary list": (SECONDARY[: SECONDARY.index("____")], 5, "truncated"),
    "secondary list with one word": (SECONDARY.replace("Q99999", ""), 8, "expected secondary and"),
    "deleted list with two words": (DELETED.replace("O00001", "O00001 x"), 9, "expected one"),
    "cut species list": (SPECLIST[: SPECLIST.index("=====")], 16, "truncated"),
    "odd species list": (SPECLIST.replace("C=Human", "Human"), 12, "expected an organism"),
    "odd nodes": (NODES + "x\n", 6, "as in nodes.dmp"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_wrong_or_cut_file_stops_at_its_line_and_leaves_nothing(tmp_path, case):
    text, line, message = BROKEN[case]
    paths = [*write_sources(tmp_path / "in", {"good": LIST}), written(tmp_path / "bad", text)]
    out = tmp_path / "releases" / "new"
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        build_release(paths, name="x", out=out)
    assert caught.value.place == f"{paths[1]}:{line}"
    assert [*out.parent.glob("*"), *out.parent.glob(".*")] == []


@pytest.mark.parametrize("keep", [0.003, 0.3, 0.999])
def test_a_cut_gzip_file_stops_the_build_near_the_cut(tmp_path, keep):
    """At most the piece that was being unpacked is lost of the text before the cut."""
    packed = gzip.compress(FLAT.encode() * 500)
    cut = packed[: int(len(packed) * keep)]
    path = tmp_path / "sprot.dat.gz"
    path.write_bytes(cut)
    with pytest.raises(InputError, match="truncated") as caught:
        build_release([path], name="x", out=tmp_path / "out")
    line = int(caught.value.place.rpartition(":")[2])
    before = zlib.decompressobj(wbits=31).decompress(cut).splitlines(keepends=True)
    assert 0 <= len(b"".join(before[line:])) <= DEFAULT_BUFFER_SIZE


def test_a_damaged_gzip_file_stops_the_build(tmp_path):
    packed = bytearray(gzip.compress(FLAT.encode() * 50))
    packed[200:220] = b"\xff" * 20
    path = tmp_path / "sprot.dat.gz"
    path.write_bytes(packed)
    with pytest.raises(InputError, match=r"sprot\.dat\.gz"):
        build_release([path], name="x", out=tmp_path / "out")


def test_the_species_list_of_the_site_is_read_whole():
    found = read(shared("data/uniprot/speclist.txt"))
    official = {organism.taxon: organism.name for organism in found if organism.official}
    assert official[9606] == "Homo sapiens"
    assert official[654920] == "Campoletis sonorensis ichnovirus (strain Texas A&M)"
    assert len(official) > 25_000


def test_a_uniref90_file_names_uniref50_clusters(tmp_path):
    uniref = shared("data/uniprot/flat/UniRef90_P99999.xml")
    listed = written(tmp_path, "P99999\nQ6WUX8\nP99998\n")
    release: Release = build_release([listed, uniref], name="x", out=tmp_path / "x")
    assert set(release.entries.clusters(["P99999", "Q6WUX8", "P99998"])) == {"UniRef50_P99999"}
