"""Interactions as CSV for spreadsheets: a line per experiment of an accepted pair, RFC 4180."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metaserver.curation import psi_mi
from metaserver.curation.experiments import Feature, Participant
from metaserver.curation.exports.characters import date, one_line
from metaserver.curation.exports.finished import FinishedCuration, Observation
from metaserver.curation.exports.mitab import in_twos
from metaserver.curation.psi_mi import (
    BIOLOGICAL_ROLE,
    EXPERIMENTAL_ROLE,
    IDENTIFICATION,
    METHOD,
    TYPE,
)
from scoring.tables import Cell, csv_table

OF_SIDE = (
    "protein", "entry", "symbol", "taxon", "experimental_role", "biological_role",
    "identification", "features",
)  # fmt: skip
COLUMNS = (
    "article", "pmid", "pmcid", "doi", "author", "journal", "year", "title", "interaction",
    *(f"{name}_a" for name in OF_SIDE), *(f"{name}_b" for name in OF_SIDE),
    "participants", "method", "type", "host", "figure", "negative", "evidence",
    "experiment_note", "note", "probability", "curator", "decided",
)  # fmt: skip
BETWEEN = " | "
"""What stands between two passages of evidence, and between two features."""


def write_csv(curations: Sequence[FinishedCuration]) -> bytes:
    """Return the experiments of accepted pairs with a header line; what was not said is empty.

    An experiment of more than two participants has the lines that it has in MITAB.
    """
    rows: list[Sequence[Cell]] = [COLUMNS]
    for curation in curations:
        for observation in curation.observations():
            for two in in_twos(observation):
                cells = _cells(curation, observation, two)
                rows.append([_plain(cells[name]) for name in COLUMNS])
    return f"{csv_table(rows)}\n".encode()


def _cells(
    curation: FinishedCuration, observation: Observation, two: tuple[Participant, Participant]
) -> Mapping[str, Cell]:
    item, experiment = observation.pair, observation.experiment
    article, publication = curation.article, curation.article.publication
    cells: dict[str, Cell] = {
        "article": article.id,
        "pmid": publication.pmid,
        "pmcid": publication.pmcid,
        "doi": publication.doi,
        "author": publication.author,
        "journal": publication.journal,
        "year": publication.year,
        "title": article.title,
        "interaction": f"{curation.id}-{observation.number}",
        "participants": len(experiment.taking_part(item.item)),
        "method": _term(METHOD, experiment.method),
        "type": _term(TYPE, experiment.type),
        "host": experiment.host,
        "figure": experiment.figure,
        "negative": "yes" if experiment.negative else "no",
        "evidence": BETWEEN.join(map(one_line, curation.evidence_of(item, experiment))),
        "experiment_note": experiment.note,
        "note": item.note,
        "probability": item.probability,
        "curator": item.curator or curation.curator,
        "decided": date(item.decided_at or curation.submitted_at, "%Y-%m-%d"),
    }
    for side, one in zip("ab", two, strict=True):
        protein = curation.protein(one.accession)
        values: tuple[Cell, ...] = (
            protein.accession,
            protein.entry_name,
            next(iter(protein.symbols), ""),
            protein.taxid,
            _term(EXPERIMENTAL_ROLE, one.experimental_role),
            _term(BIOLOGICAL_ROLE, one.biological_role),
            _term(IDENTIFICATION, one.identification),
            BETWEEN.join(map(_feature, one.features)),
        )
        cells |= {f"{name}_{side}": value for name, value in zip(OF_SIDE, values, strict=True)}
    return cells


def _term(root: str, key: str) -> str:
    term = psi_mi.terms().under(root).get(key)
    return "" if term is None else f"{term.id} {term.name}"


def _feature(one: Feature) -> str:
    return " ".join(filter(None, (*one.term, one.name, one.range)))


def _plain(cell: Cell) -> Cell:
    return one_line(cell) if isinstance(cell, str) else cell
