"""Names of a whole release: start, memory and speed, and how well the species are chosen.

python -m benchmarks species               a made release of 570,000 entries
python -m benchmarks.species INDRA CRAFT   the choice, on BC6PM (../shared/data) and CRAFT

INDRA and CRAFT are folders with files of github.com/sorgerlab/indra (`mgi_entries.tsv`,
`rgd_entries.tsv`: symbols of mouse and rat) and github.com/UCDenver-ccp/CRAFT (`articles/txt`,
`concept-annotation/*/*/knowtator`).
"""

from __future__ import annotations

import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

from annotators.baselines.articles import read_articles
from annotators.baselines.dictionary import normalizations, protein_scores
from annotators.baselines.proteins import read_proteins
from annotators.matching import Dictionary, Found, ProteinNames
from annotators.organisms import SpeciesOfText
from annotators.release_names import ReleaseNames
from annotators.run_files import write_result_files
from benchmarks import sized
from metaserver.uniprot.build import build_release
from scoring import ItemScorecard, evaluate_files

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
BC6PM = DATA / "bc6pm"
HUMAN_TABLE = DATA / "uniprot" / "human_reviewed.tsv"
ENTRIES = sized(570_000, 1_000)
TAXA = sized(14_000, 20)
MOUSE, HUMAN, RAT = 10090, 9606, 10116
SPECIES_OF_GENUS = {10088: MOUSE, 10114: RAT}  # CRAFT annotates "mice" as the genus Mus
HEAD = "Entry\tEntry Name\tProtein names\tGene Names\tOrganism (ID)\tOrganism\n"
RODENTS = (
    ("mgi_entries.tsv", "MOUSE", f"{MOUSE}\tMus musculus (Mouse)\n"),
    ("rgd_entries.tsv", "RAT", f"{RAT}\tRattus norvegicus (Rat)\n"),
)
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
CODE = "0123456789" + LETTERS

CHILD = """
import sys, time
from pathlib import Path
start = time.process_time()
from annotators.release_names import ReleaseNames
names = ReleaseNames(Path(sys.argv[1]))
opened = time.process_time() - start
texts = Path(sys.argv[2]).read_text("utf-8").split("\\0")
started = time.process_time()
found = sum(len(names.find(text)) for text in texts)
spent = time.process_time() - started
peak = Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]
print(f"{opened:.2f} s of processor time until it is open, {int(peak) // 1024} MB at most")
print(f"{len(texts)} texts, {found} names, {1000 * spent / len(texts):.1f} ms a text")
"""


def mixed_table(path: Path, indra: Path) -> None:
    """Write a UniProt table of human, mouse and rat proteins.

    Those of mouse and rat are the genes whose symbol a human protein has: with their own symbols
    and synonyms, the human names, and accessions that are made.
    """
    with HUMAN_TABLE.open(encoding="utf-8") as lines:
        next(lines)
        human = [line.rstrip("\n").split("\t") for line in lines]
    names = {row[4].replace(";", " ").split()[0].upper(): row[3] for row in human if row[4].strip()}
    with path.open("w", encoding="utf-8") as out:
        out.write(HEAD)
        for row in human:
            out.write("\t".join((row[0], row[1], row[3], row[4], "9606\tHomo sapiens (Human)\n")))
        number = 0
        for database, mnemonic, organism in RODENTS:
            for line in (indra / database).read_text("utf-8").splitlines()[1:]:
                _, symbol, synonyms, ensembl = line.split("\t")
                if ensembl and symbol.upper() in names:
                    short = [one for one in synonyms.replace("|", ";").split(";") if " " not in one]
                    entry_name = f"{_base36(number, 4)}_{mnemonic}"
                    symbols = " ".join((symbol, *short))
                    cells = (made_accession(number), entry_name, names[symbol.upper()], symbols)
                    out.write("\t".join((*cells, organism)))
                    number += 1


def made_table(path: Path, entries: int) -> None:
    """Write a UniProt table of `entries` with the symbols and names of real human ones.

    The entries of 14,000 organisms share them, as those of orthologs do.
    """
    chance = random.Random(1)
    with HUMAN_TABLE.open(encoding="utf-8") as lines:
        next(lines)
        real = [line.rstrip("\n").split("\t") for line in lines]
    weights = [1 / (rank + 1) for rank in range(TAXA)]
    taxa = chance.choices(range(TAXA), weights, k=entries)
    with path.open("w", encoding="utf-8") as out:
        out.write(HEAD)
        for number, place in enumerate(taxa):
            row = real[number % len(real)]
            accession = made_accession(number)
            entry_name = f"{_base36(number, 4)}_{_base36(place, 3)}"
            taxon = HUMAN if place == 0 else 100_000 + place
            organism = "Homo sapiens (Human)" if place == 0 else f"Genus{place} species{place}"
            out.write(f"{accession}\t{entry_name}\t{row[3]}\t{row[4]}\t{taxon}\t{organism}\n")


def made_accession(number: int) -> str:
    """Return an accession of ten characters for each number below 3,369,600."""
    number, digit = divmod(number, 10)
    number, last = divmod(number, 36**2)
    number, letter = divmod(number, 26)
    return f"A0A00{number}{LETTERS[letter]}{_base36(last, 2)}{digit}"


def _base36(number: int, width: int) -> str:
    code = ""
    for _ in range(width):
        number, digit = divmod(number, 36)
        code = CODE[digit] + code
    return code


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        table, release = Path(folder) / "made.tsv", Path(folder) / "release"
        made_table(table, ENTRIES)
        started = time.process_time()
        build_release([table], name="made", out=release, names=True)
        size = (release / "names.sqlite").stat().st_size
        print(
            f"{ENTRIES:,} entries: built in {time.process_time() - started:.0f} s"
            f" of processor time, names.sqlite {size / 2**20:.0f} MB,"
            f" {size / ENTRIES:.0f} bytes an entry"
        )
        texts = Path(folder) / "texts"
        articles = read_articles([BC6PM / "PMtask_Relations_TestSet.json"])
        texts.write_text("\0".join(articles.values()), "utf-8")
        subprocess.run([sys.executable, "-c", CHILD, str(release), str(texts)], check=True)


class OfTaxon(SpeciesOfText):
    """Mentions of one species, whatever the text says."""

    def __init__(self, taxon: int) -> None:
        super().__init__([], [0], taxon)

    def choose(self, start: int, taxa: Mapping[int, object]) -> int:
        """Return this species where it has the name."""
        return self.taxa[0] if self.taxa[0] in taxa else 0


class AnySpecies(ReleaseNames):
    """The same names without a choice: each stands for the proteins of all species."""

    def _found(self, text: str, start: int, end: int, species: SpeciesOfText) -> Found | None:
        weights: dict[str, float] = {}
        for taxon in (HUMAN, MOUSE, RAT):
            if found := super()._found(text, start, end, OfTaxon(taxon)):
                weights |= found.weights
        return Found(start, end, weights) if weights else None


class OneSpecies(ReleaseNames):
    """Human names alone."""

    def _found(self, text: str, start: int, end: int, species: SpeciesOfText) -> Found | None:
        return super()._found(text, start, end, OfTaxon(HUMAN))


def measure(indra: Path, craft: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        table, release = Path(folder) / "mixed.tsv", Path(folder) / "release"
        mixed_table(table, indra)
        build_release([table], name="mixed", out=release, names=True)
        on_bc6pm(release)
        on_craft(release, craft)


def on_bc6pm(release: Path) -> None:
    finders: dict[str, Callable[[], ProteinNames]] = {
        "human table": lambda: Dictionary(read_proteins(HUMAN_TABLE)),
        "release, human alone": lambda: OneSpecies(release),
        "release, all species": lambda: AnySpecies(release),
        "release, species chosen": lambda: ReleaseNames(release),
    }
    texts = read_articles(
        [BC6PM / f"PMtask_Relations_{part}Set.json" for part in ("Training", "Test")]
    )
    gold = BC6PM / "gold_int.tsv"
    articles = {line.split("\t")[0] for line in gold.read_text("utf-8").splitlines()}
    print("BC6PM, INT: human gold")
    for name, make in finders.items():
        names = make()
        answers = {
            one: {
                "normalizations": normalizations(protein_scores(texts[one], names.find(texts[one])))
            }
            for one in sorted(articles)
        }
        with tempfile.TemporaryDirectory() as folder:
            (path,) = write_result_files(Path(folder), answers)
            card = evaluate_files("INT", gold, path, articles="all")
        assert isinstance(card, ItemScorecard)
        print(f"{name:26}", {key: round(getattr(card.macro, key), 3) for key in FIGURES})


FIGURES = ("precision", "recall", "f_score", "auc_ipr")


def on_craft(release: Path, craft: Path) -> None:
    names = ReleaseNames(release)
    with closing(sqlite3.connect(release / "names.sqlite")) as connection:
        taxa = dict(connection.execute("SELECT accession, taxon FROM entry"))
    organisms: Counter[str] = Counter()
    species: Counter[int] = Counter()
    for path in sorted((craft / "articles" / "txt").glob("*.txt")):
        text = path.read_text("utf-8")
        told = {
            (start, end): SPECIES_OF_GENUS.get(taxon, taxon)
            for start, end, taxon in annotated(craft, "NCBITaxon", path.stem)
        }
        gold = {place for place, taxon in told.items() if taxon in (HUMAN, MOUSE, RAT)}
        found = {(one.start, one.end): one.taxon for one in names.organisms.find(text)}
        organisms["gold"] += len(gold)
        organisms["found"] += len(found)
        organisms["right"] += sum(found.get(place) == told[place] for place in gold)
        proteins = {(start, end) for start, end, _ in annotated(craft, "PR", path.stem)}
        for one in names.find(text):
            if (one.start, one.end) in proteins:
                species.update({taxa[accession] for accession in one.weights})
    print("CRAFT, words for human, mouse, rat:", dict(organisms))
    print("  precision", round(organisms["right"] / organisms["found"], 3), end=", ")
    print("recall", round(organisms["right"] / organisms["gold"], 3))
    print("CRAFT, names of proteins by the taxon that is chosen:", dict(species))


def annotated(craft: Path, kind: str, article: str) -> Iterator[tuple[int, int, int]]:
    """Yield the annotations of an article: start, end, and the number in the concept's id."""
    path = craft / "concept-annotation" / kind / kind / "knowtator" / f"{article}.txt.knowtator.xml"
    text = path.read_text("utf-8")
    classes = dict(
        re.findall(r'<classMention id="([^"]+)">\s*<mentionClass id="[A-Z][A-Za-z]+:0*(\d+)"', text)
    )
    for body in re.findall(r"<annotation>(.*?)</annotation>", text, re.DOTALL):
        mention = re.search(r'<mention id="([^"]+)"', body)
        spans = re.findall(r'<span start="(\d+)" end="(\d+)"', body)
        if mention and len(spans) == 1 and mention[1] in classes:
            yield int(spans[0][0]), int(spans[0][1]), int(classes[mention[1]])


if __name__ == "__main__":
    if len(sys.argv) == 3:
        measure(Path(sys.argv[1]), Path(sys.argv[2]))
    else:
        main()
