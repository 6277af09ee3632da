"""A small release with facts about real entries, and the source files to build others from."""

from pathlib import Path

from metaserver.uniprot import Release, build_release


def flat_entry(name, accessions, taxon, *, full=(), genes=""):
    """Return a flat-file entry; `accessions` as on its AC line, `genes` as on its GN line."""
    lines = [f"ID   {name}              Reviewed;         393 AA.", f"AC   {accessions}"]
    lines += [f"DE   RecName: Full={text};" for text in full]
    lines += [f"GN   {genes}"] if genes else []
    lines += [
        "OS   An organism.", f"OX   NCBI_TaxID={taxon};", "SQ   SEQUENCE   4 AA;", "     MEEP",
    ]  # fmt: skip
    return "\n".join([*lines, "//", ""])


P53 = "Cellular tumor antigen p53"
FLAT = "".join(
    [
        flat_entry("P53_HUMAN", "P04637; Q15086; Q15087;", 9606, full=[P53], genes="Name=TP53;"),
        flat_entry("P53_MOUSE", "P02340; Q9QUP3;", 10090, full=[P53], genes="Name=Tp53;"),
        flat_entry("P53_RAT", "P10361; O09168;", 10116, full=[P53], genes="Name=Tp53;"),
        flat_entry("1433B_BOVIN", "P68250; P29358;", 9913, full=["14-3-3 protein beta/alpha"]),
        flat_entry("1433B_SHEEP", "P68251; P29358;", 9940, full=["14-3-3 protein beta/alpha"]),
        flat_entry("RECA_ECOLI", "P0A7G6; P03017;", 83333, full=["Protein RecA"]),
        flat_entry("A0A023GPI8_CANGA", "A0A023GPI8;", 3828, full=["Lectin alpha chain"]),
    ]
)
DELETED = """\
----------------------------------------------------------------------------
Description: Deleted Swiss-Prot accession numbers (ACs)
Name:        delac_sp.txt
Release:     2025_04 of 15-Oct-2025
----------------------------------------------------------------------------

Deleted AC number
_________________
O00001
P04637
A0A023GPJ9
----------------------------------------------------------------------------
Copyrighted by the UniProt Consortium
"""
SECONDARY = """\
----------------------------------------------------------------------------
Name:        sec_ac.txt
----------------------------------------------------------------------------

Secondary AC  Primary AC
____________  __________
Q53GA5        P04637
Q00000        Q99999
"""
SPECLIST = """\
Description: Controlled vocabulary of species
Name:        speclist.txt

Code    Taxon    N=Official (scientific) name
_____ _ _______  ____________________________________________________________
BOVIN E    9913: N=Bos taurus
                 C=Bovine
ECOLI B   83333: N=Escherichia coli (strain K12)
ECO57 B   83334: N=Escherichia coli O157:H7
ECOLX B     562: N=Escherichia coli
HUMAN E    9606: N=Homo sapiens
                 C=Human
INAFW V  380342: N=Influenza A virus (strain A/Wilson-Smith/1933 H1N1)
STRSK B    1958: N=Streptomyces sp. (strain K15)
STRSQ B    1931: N=Streptomyces sp.

=======================================================================
(2) "Virtual" codes that regroup organisms at a certain taxonomic level
=======================================================================
9BACT B       2: N=Bacteria
"""
CLUSTERS = "".join(
    f"{accession}\tUniRef50_{cluster}\n"
    for accession, cluster in (
        ("P04637", "P04637"),
        ("P02340", "P04637"),
        ("P10361", "P04637"),
        ("P68250", "P31946"),
        ("P68251", "P31946"),
        ("P0A7G6", "P0A7G6-2"),
        ("A0A023GPI8", "UPI000013EAA0"),
    )
)
SOURCES = {
    "sprot.dat": FLAT, "delac_sp.txt": DELETED, "sec_ac.txt": SECONDARY, "speclist.txt": SPECLIST,
    "uniref50.tsv": CLUSTERS,
}  # fmt: skip


def write_sources(folder: Path, sources: dict[str, str] = SOURCES) -> list[Path]:
    """Write source files; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in sources.items():
        (folder / name).write_text(text, "utf-8")
    return [folder / name for name in sources]


def build(folder: Path, sources: dict[str, str], name: str = "2025_04") -> Release:
    """Build a release from source texts."""
    paths = write_sources(folder / f"sources of {name}", sources)
    return build_release(paths, name=name, out=folder / name)
