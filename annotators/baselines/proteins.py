"""The names of a dictionary, read from a UniProt table."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from annotators.errors import BadInputError
from annotators.matching import Protein

SHIPPED_NAMES = Path(str(files("annotators"))) / "data" / "uniprot_names.tsv"

HEADINGS = {"entry": "Entry", "protein names": "Protein names", "gene names": "Gene names"}

# "[Cleaved into: ...]" and "[Includes: ...]" name parts of the protein, not the protein.
PARTS = re.compile(r" \[(?:Cleaved into|Includes):.*")
ENZYME_CODE = re.compile(r"EC \d[\d.\-n]*$")


def read_proteins(path: Path) -> list[Protein]:
    r"""Read a tab-separated UniProt table; columns are found by their headings.

    Needs the columns Entry, Protein names and Gene names, in any order and case; `BadInputError`
    names what is missing, or the line that is short of a column.

    >>> table = "Entry\tProtein names\tGene names\nP04637\tCellular tumor antigen p53\tTP53 P53\n"
    >>> _ = Path("proteins.tsv").write_text(table)
    >>> read_proteins(Path("proteins.tsv"))
    [Protein(accession='P04637', names=('Cellular tumor antigen p53',), symbols=('TP53', 'P53'))]
    """
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
            return list(_proteins(path, rows))
    except OSError as error:
        raise BadInputError(path, f"cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadInputError(path, f"not a UTF-8 table of tab-separated columns: {error}") from error


def _proteins(path: Path, rows: Iterator[list[str]]) -> Iterator[Protein]:
    found = {heading.strip().lower(): place for place, heading in enumerate(next(rows, []))}
    if missing := [shown for heading, shown in HEADINGS.items() if heading not in found]:
        raise BadInputError(path, f"no column {missing[0]!r}; expected a UniProt table", line=1)
    entry, names, genes = (found[heading] for heading in HEADINGS)
    for number, row in enumerate(rows, start=2):
        if len(row) <= max(entry, names, genes):
            message = f"{len(row)} columns; expected {len(found)}"
            raise BadInputError(path, message, line=number)
        yield Protein(
            accession=row[entry],
            names=tuple(split_names(row[names])),
            symbols=tuple(row[genes].replace(";", " ").split()),
        )


def split_names(cell: str) -> Iterator[str]:
    """Yield the names of a `Protein names` cell: `Full name (Other name) (EC 1.2.3.4)`.

    Enzyme codes and the names of a protein's parts are left out.
    """
    depth, start = 0, 0
    cell = PARTS.sub("", cell)
    for place, character in enumerate(cell):
        if character == "(" and (depth or cell[place - 1 : place] == " "):
            if not depth:
                yield from _name(cell[start:place])
                start = place + 1
            depth += 1
        elif character == ")" and depth:
            depth -= 1
            if not depth:
                yield from _name(cell[start:place])
                start = place + 1
    yield from _name(cell[start:])


def _name(text: str) -> Iterator[str]:
    name = text.strip()
    if name and not ENZYME_CODE.match(name):
        yield name
