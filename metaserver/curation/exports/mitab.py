"""Interactions in lines of text: PSI-MI TAB 2.7 (MITAB), and Structured Digital Abstracts.

MITAB has a line per experiment of an accepted pair, of 42 columns. A column has fields between
bars, each `database:value(text)`; a part with a reserved character is in quotes (HUPO-PSI/miTab,
PSI-MITAB27Format). An abstract has sentences with identifiers, as FEBS Letters printed them (Ceol
et al. 2008, doi:10.1016/j.febslet.2008.02.065).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from metaserver.base.curations import is_uploaded
from metaserver.base.publications import Publication
from metaserver.curation import psi_mi
from metaserver.curation.experiments import HOSTS, Experiment, Participant
from metaserver.curation.exports.characters import date, one_line
from metaserver.curation.exports.finished import (
    CuratedItem,
    CuratedProtein,
    FinishedCuration,
    Observation,
)
from metaserver.curation.psi_mi import (
    BAIT,
    BIOLOGICAL_ROLE,
    ENZYME,
    EXPERIMENTAL_ROLE,
    IDENTIFICATION,
    PROTEIN,
    SPOKE,
    Term,
)

COLUMNS = (
    "ID(s) interactor A", "ID(s) interactor B",
    "Alt. ID(s) interactor A", "Alt. ID(s) interactor B",
    "Alias(es) interactor A", "Alias(es) interactor B",
    "Interaction detection method(s)", "Publication 1st author(s)", "Publication Identifier(s)",
    "Taxid interactor A", "Taxid interactor B", "Interaction type(s)", "Source database(s)",
    "Interaction identifier(s)", "Confidence value(s)", "Expansion method(s)",
    "Biological role(s) interactor A", "Biological role(s) interactor B",
    "Experimental role(s) interactor A", "Experimental role(s) interactor B",
    "Type(s) interactor A", "Type(s) interactor B",
    "Xref(s) interactor A", "Xref(s) interactor B", "Interaction Xref(s)",
    "Annotation(s) interactor A", "Annotation(s) interactor B", "Interaction annotation(s)",
    "Host organism(s)", "Interaction parameter(s)", "Creation date", "Update date",
    "Checksum(s) interactor A", "Checksum(s) interactor B", "Interaction Checksum(s)",
    "Negative", "Feature(s) interactor A", "Feature(s) interactor B",
    "Stoichiometry(s) interactor A", "Stoichiometry(s) interactor B",
    "Identification method participant A", "Identification method participant B",
)  # fmt: skip
EMPTY = "-"
HOMO_OLIGOMER = "0"
"""The stoichiometry of both sides if a protein meets copies of itself, of unknown number."""

_RESERVED = re.compile(r"[|():\"\t]|^-$")
_COMMON_NAME = re.compile(r"(.+) \(([^()]+)\)")


def write_mitab(curations: Sequence[FinishedCuration]) -> bytes:
    """Return the experiments of accepted pairs, with a header line.

    An experiment of more than two participants is written as its bait's pairs, else of its first
    participant, with each other participant (spoke expansion).
    """
    lines = ["#" + "\t".join(COLUMNS)]
    for curation in curations:
        for observation in curation.observations():
            for sides in in_twos(observation):
                columns = _columns(curation, observation, sides)
                lines.append("\t".join(columns.get(name, EMPTY) or EMPTY for name in COLUMNS))
    return "".join(f"{line}\n" for line in lines).encode()


def in_twos(observation: Observation) -> Iterator[tuple[Participant, Participant]]:
    """Yield an experiment's participants in twos, its bait first in each, else its first."""
    taking_part = observation.experiment.taking_part(observation.pair.item)
    roles = [one.experimental_role for one in taking_part]
    hub = roles.index(BAIT.id) if len(taking_part) > 2 and BAIT.id in roles else 0
    for place, other in enumerate(taking_part):
        if place != hub:
            yield taking_part[hub], other


def field(database: str, value: str, text: str = "") -> str:
    """Return `database:value(text)`, each part quoted if it has a reserved character."""
    return f"{_part(database)}:{_part(value)}" + (f"({_part(text)})" if text else "")


def _part(text: str) -> str:
    text = one_line(text) or "?"
    if not _RESERVED.search(text):
        return text
    escaped = text.replace('"', '\\"')
    return f'"{escaped} "' if escaped.endswith("\\") else f'"{escaped}"'


def _term(term: Term) -> str:
    return field("psi-mi", term.id, term.name)


def _chosen(root: str, key: str) -> str:
    term = psi_mi.terms().under(root).get(key)
    return "" if term is None else _term(term)


def _host(taxon: int | None) -> str:
    return "" if taxon is None else field("taxid", str(taxon), HOSTS.get(taxon, ""))


def _columns(
    curation: FinishedCuration, observation: Observation, sides: tuple[Participant, Participant]
) -> Mapping[str, str]:
    item, experiment = observation.pair, observation.experiment
    several = len(experiment.participants) > 2
    same = HOMO_OLIGOMER if sides[0].accession == sides[1].accession else ""
    origin = curation.origin
    identifier = f"{curation.id}-{observation.number}"
    source = field("metaserver", origin.source, origin.source) if origin.source else ""
    if origin.source and origin.source_id:
        source = field("psi-mi", origin.source_id, origin.source)
    article = curation.article
    published = [field(database.name, value) for database, value in article.references()]
    texts = list(comments(curation, item, experiment))
    if not published:
        texts.append(f"article {article.id}")
    columns: dict[str, str] = {}
    for side, participant in zip("AB", sides, strict=True):
        protein = curation.protein(participant.accession)
        of_side = {
            "ID(s)": field("uniprotkb", protein.accession),
            "Alias(es)": "|".join(_aliases(protein)),
            "Taxid": "|".join(_taxa(protein)),
            "Biological role(s)": _chosen(BIOLOGICAL_ROLE, participant.biological_role),
            "Experimental role(s)": _chosen(EXPERIMENTAL_ROLE, participant.experimental_role),
            "Type(s)": _term(PROTEIN),
            "Feature(s)": "|".join(
                field(one.term.name, one.range, one.name) for one in participant.features
            ),
            "Stoichiometry(s)": same,
        }
        columns |= {f"{name} interactor {side}": text for name, text in of_side.items()}
        columns[f"Identification method participant {side}"] = _chosen(
            IDENTIFICATION, participant.identification
        )
    return columns | {
        "Interaction detection method(s)": _term(experiment.detection),
        "Publication 1st author(s)": _first_author(article.publication),
        "Publication Identifier(s)": "|".join(published),
        "Interaction type(s)": _term(experiment.interaction),
        "Source database(s)": source,
        "Interaction identifier(s)": field(origin.hub or "metaserver", identifier),
        "Confidence value(s)": ""
        if item.probability is None
        else field("metaserver-consensus", f"{item.probability:.2f}"),
        "Interaction annotation(s)": "|".join(field("comment", text) for text in texts),
        "Creation date": date(item.decided_at or curation.submitted_at, "%Y/%m/%d"),
        "Update date": date(curation.submitted_at, "%Y/%m/%d"),
        "Negative": str(experiment.negative).lower(),
        "Host organism(s)": _host(experiment.host),
        "Expansion method(s)": _term(SPOKE) if several else "",
    }


def comments(
    curation: FinishedCuration, item: CuratedItem, experiment: Experiment
) -> Iterator[str]:
    """Yield what a reader must know of an interaction that has no column."""
    yield from curation.evidence_of(item, experiment)
    if experiment.figure:
        yield f"figure: {experiment.figure}"
    if experiment.note:
        yield experiment.note
    if item.note:
        yield item.note
    if experiment.type_is_by_rule:
        yield "type by rule"
    if all(is_uploaded(one.server) for one in item.servers):
        file = "".join(one.server for one in item.servers)
        yield f"proposed by {file}, by no server" if file else "proposed by no server"
    yield f"curator {item.curator or curation.curator}"


def _first_author(publication: Publication) -> str:
    """Return `Smith et al.(2006)`, without what is not known."""
    if not publication.author:
        return ""
    year = f"({publication.year})" if publication.year else ""
    return f"{_part(f'{publication.author} et al.')}{year}"


def _aliases(protein: CuratedProtein) -> Iterator[str]:
    if protein.entry_name:
        yield field("psi-mi", protein.entry_name.lower(), "display_long")
    for place, symbol in enumerate(protein.symbols):
        yield field("uniprotkb", symbol, "gene name synonym" if place else "gene name")
    if protein.symbols:
        yield field("psi-mi", protein.symbols[0], "display_short")


def _taxa(protein: CuratedProtein) -> Iterator[str]:
    """Yield the taxon with its common and its scientific name, `Homo sapiens (Human)` as both."""
    if protein.taxid is not None:
        match = _COMMON_NAME.fullmatch(protein.organism)
        names = (match[2].lower(), match[1]) if match else (protein.organism,)
        for name in names:
            yield field("taxid", str(protein.taxid), name)


_VERBS = {
    "MI:0915": "physically interacts ({}) with",
    "MI:0407": "binds ({}) to",
    "MI:0914": "associates ({}) with",
    "MI:0403": "colocalizes ({}) with",
}
_BRACKETS = re.compile(r"[()]+")


def write_sda(curations: Sequence[FinishedCuration]) -> bytes:
    """Return the accepted pairs as sentences, sorted, each once; several articles have headings.

    Experiments that showed no interaction are left out.

    Example: `MDM2 (uniprotkb:Q00987) binds to TP53 (uniprotkb:P04637) by two hybrid (MI:0018)`.
    """
    parts = []
    for curation in curations:
        lines = sorted(
            {
                _sentence(curation, result.pair, result.experiment)
                for result in curation.observations()
                if not result.experiment.negative
            }
        )
        if len(curations) > 1:
            lines.insert(0, f"# {one_line(curation.article.id)}")
        parts.append("".join(f"{line}\n" for line in lines))
    return "\n".join(parts).encode()


def _sentence(curation: FinishedCuration, item: CuratedItem, experiment: Experiment) -> str:
    """Return a sentence of a pair in the order of its roles: a bait, an enzyme first."""
    term, method = experiment.interaction, experiment.detection
    verb = _VERBS.get(term.id, f"takes part in a {term.name} ({{}}) with").format(term.id)
    sides = sorted(experiment.taking_part(item.item), key=lambda one: not _acts(one))
    first, *others = (_protein(curation, one.accession) for one in sides)
    others = ["itself" if other == first else other for other in others]
    return f"{first} {verb} {' and '.join(others)} by {method.name} ({method.id})"


def _acts(participant: Participant) -> bool:
    return participant.experimental_role == BAIT.id or participant.biological_role == ENZYME.id


def _protein(curation: FinishedCuration, accession: str) -> str:
    protein = curation.protein(accession)
    names = (*protein.symbols[:1], protein.entry_name, protein.name, accession)
    shown_names = (_BRACKETS.sub(" ", one_line(name)).strip() for name in names)
    return f"{next(filter(None, shown_names), 'unnamed')} (uniprotkb:{_identifier(accession)})"


def _identifier(accession: str) -> str:
    return _BRACKETS.sub("", one_line(accession))
