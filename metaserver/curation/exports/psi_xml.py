"""PSI-MI XML 2.5.4 and 3.0, compact: experiments and interactors once, then interactions.

Kerrien et al. 2007, doi:10.1186/1741-7007-5-44; the schemas are MIF254.xsd and MIF300.xsd
(HUPO-PSI/miXML).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import count
from typing import NamedTuple, TypeAlias, cast

from lxml import etree
from lxml.etree import _Element

from metaserver.base.errors import Refusal, RefusedError
from metaserver.curation import psi_mi
from metaserver.curation.experiments import HOSTS, Experiment, Feature, Participant
from metaserver.curation.exports.characters import date, one_line, xml_text
from metaserver.curation.exports.finished import (
    CuratedArticle,
    CuratedItem,
    CuratedProtein,
    FinishedCuration,
)
from metaserver.curation.exports.mitab import HOMO_OLIGOMER, comments
from metaserver.curation.psi_mi import (
    AUTHORS,
    BIOLOGICAL_ROLE,
    CERTAIN,
    COMMENT,
    EXPERIMENTAL_ROLE,
    FIGURE,
    GENE_NAME,
    GENE_SYNONYM,
    IDENTIFICATION,
    IDENTITY,
    JOURNAL,
    PRIMARY_REFERENCE,
    PROTEIN,
    PSI_MI,
    UNDETERMINED,
    UNIPROT,
    YEAR,
    Term,
)

_NAMESPACE = "http://psi.hupo.org/mi/mif"

_MOST_TAXON = 2**31 - 1


class Form(NamedTuple):
    """A version of the format: its namespace and its level."""

    namespace: str
    level: Mapping[str, str]


PSI_25 = Form("http://psi.hupo.org/mi/mif", {"level": "2", "version": "5", "minorVersion": "4"})
PSI_30 = Form("http://psi.hupo.org/mi/mif300", {"level": "3", "version": "0", "minorVersion": "0"})
_Setting: TypeAlias = tuple[Term, int | None]
"""What an experiment's description says: its detection method, and its host organism."""


def write_psi_xml(curations: Sequence[FinishedCuration], form: Form = PSI_25) -> bytes:
    """Return the experiments of accepted pairs, an entry per article that has any.

    Raises `RefusedError` if no pair is accepted: the schema requires an interaction.
    """
    root = etree.Element(
        _name("entrySet"),
        dict(form.level),
        nsmap=cast("dict[str, str]", {None: _NAMESPACE}),  # the stubs know no default namespace
    )
    numbers = count(1)
    for curation in curations:
        if curation.pairs():
            _add_entry(root, curation, form, lambda: str(next(numbers)))
    if not len(root):
        raise RefusedError(Refusal.STATE, "no pair is accepted; PSI-MI XML requires one")
    etree.indent(root)
    written: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8")
    return written.replace(_NAMESPACE.encode(), form.namespace.encode(), 1) + b"\n"


def _add_entry(
    root: _Element, curation: FinishedCuration, form: Form, number: Callable[[], str]
) -> None:
    entry = _add(root, "entry")
    _add_source(entry, curation)
    observations = curation.observations()
    settings = dict.fromkeys(_setting(accession.experiment) for accession in observations)
    experiments = {setting: number() for setting in settings}
    listed = _add(entry, "experimentList")
    for setting, identifier in experiments.items():
        _add_experiment(listed, curation.article, setting, identifier)
    taking_part = {one.number: one.experiment.taking_part(one.pair.item) for one in observations}
    accessions = dict.fromkeys(one.accession for result in taking_part.values() for one in result)
    interactors = {accession: number() for accession in accessions}
    listed = _add(entry, "interactorList")
    for accession, identifier in interactors.items():
        _add_interactor(listed, curation.protein(accession), identifier)
    listed = _add(entry, "interactionList")
    for place, item, observed in observations:
        interaction = _add(listed, "interaction", id=number())
        participants = taking_part[place]
        names = [_label(curation.protein(one.accession)) for one in participants]
        _add_names(interaction, "-".join(names).lower())
        hub = Term("", one_line(curation.origin.hub) or "metaserver")
        _add_reference(interaction, hub, f"{curation.id}-{place}", IDENTITY)
        referred = _add(interaction, "experimentList")
        _add(referred, "experimentRef", experiments[_setting(observed)])
        _add_participants(interaction, participants, interactors, form, number)
        _add_term(interaction, "interactionType", observed.interaction)
        if observed.negative:  # some readers take any element for one that says so
            _add(interaction, "negative", "true")
        _add_confidence(interaction, item)
        attributes = _add_attributes(interaction, comments(curation, item, observed))
        if observed.figure:
            _add(attributes, "attribute", observed.figure, name=FIGURE.name, nameAc=FIGURE.id)


def _setting(experiment: Experiment) -> _Setting:
    return experiment.detection, experiment.host


def _add_source(entry: _Element, curation: FinishedCuration) -> None:
    origin = curation.origin
    source = _add(entry, "source", releaseDate=date(curation.submitted_at, "%Y-%m-%d"))
    _add_names(source, origin.source or origin.hub or "metaserver")
    if origin.source_id:
        _add_reference(source, PSI_MI, origin.source_id, IDENTITY)


def _add_experiment(
    listed: _Element, article: CuratedArticle, setting: _Setting, identifier: str
) -> None:
    method, host = setting
    experiment = _add(listed, "experimentDescription", id=identifier)
    _add_names(experiment, article.id, article.title)
    published = _add(experiment, "bibref")
    references = article.references()
    if references:
        (database, value), *rest = references
        reference = _add_reference(published, database, value, PRIMARY_REFERENCE)
        for other, value in rest:
            attributes = {"db": other.name, "dbAc": other.id, "id": value}
            _add(reference, "secondaryRef", **attributes)
    else:
        _add_attributes(published, [f"article {article.id}"])
    if host is not None:
        organism = _add(_add(experiment, "hostOrganismList"), "hostOrganism", ncbiTaxId=str(host))
        _add_names(organism, HOSTS.get(host, str(host)))
    _add_term(experiment, "interactionDetectionMethod", method)
    publication = article.publication
    terms = {
        AUTHORS: publication.author,
        JOURNAL: publication.journal,
        YEAR: str(publication.year or ""),
    }
    if any(terms.values()):
        listed = _add(experiment, "attributeList")
        for term, text in terms.items():
            if text:
                _add(listed, "attribute", text, name=term.name, nameAc=term.id)


def _add_interactor(listed: _Element, protein: CuratedProtein, identifier: str) -> None:
    interactor = _add(listed, "interactor", id=identifier)
    names = _add_names(interactor, protein.entry_name.lower() or protein.accession, protein.name)
    for place, symbol in enumerate(protein.symbols):
        kind = GENE_SYNONYM if place else GENE_NAME
        _add(names, "alias", symbol, type=kind.name, typeAc=kind.id)
    _add_reference(interactor, UNIPROT, protein.accession, IDENTITY)
    _add_term(interactor, "interactorType", PROTEIN)
    if protein.taxid is not None and abs(protein.taxid) <= _MOST_TAXON:
        organism = _add(interactor, "organism", ncbiTaxId=str(protein.taxid))
        if protein.organism:
            _add_names(organism, protein.organism)


def _add_participants(
    interaction: _Element,
    taking_part: Collection[Participant],
    interactors: Mapping[str, str],
    form: Form,
    number: Callable[[], str],
) -> None:
    """Add all participants; a protein that meets copies of itself takes part twice."""
    participants = _add(interaction, "participantList")
    are_same = len({one.accession for one in taking_part}) == 1
    for one in taking_part:
        participant = _add(participants, "participant", id=number())
        _add(participant, "interactorRef", interactors[one.accession])
        for wrapper, tag, root, key in (
            (
                "participantIdentificationMethodList",
                "participantIdentificationMethod",
                IDENTIFICATION,
                one.identification,
            ),
            ("", "biologicalRole", BIOLOGICAL_ROLE, one.biological_role),
            ("experimentalRoleList", "experimentalRole", EXPERIMENTAL_ROLE, one.experimental_role),
        ):
            term = psi_mi.terms().under(root).get(key)
            if term is not None:
                parent = _add(participant, wrapper) if wrapper else participant
                _add_term(parent, tag, term)
        if one.features:
            listed = _add(participant, "featureList")
            for feature in one.features:
                _add_feature(listed, feature, number())
        if are_same and form is PSI_30:
            _add(participant, "stoichiometry", value=HOMO_OLIGOMER)


def _add_feature(listed: _Element, one: Feature, identifier: str) -> None:
    feature = _add(listed, "feature", id=identifier)
    if one.name:
        _add_names(feature, one.name)
    if one.term.id:
        _add_term(feature, "featureType", one.term)
    found = _add(_add(feature, "featureRangeList"), "featureRange")
    for status, tag, position in (
        ("startStatus", "begin", one.start),
        ("endStatus", "end", one.end),
    ):
        _add_term(found, status, UNDETERMINED if position is None else CERTAIN)
        if position is not None:
            _add(found, tag, position=str(position))


def _add_confidence(interaction: _Element, item: CuratedItem) -> None:
    if item.probability is not None:
        confidence = _add(_add(interaction, "confidenceList"), "confidence")
        _add_names(_add(confidence, "unit"), "metaserver-consensus")
        _add(confidence, "value", f"{item.probability:.2f}")


def _add_attributes(parent: _Element, texts: Iterable[str]) -> _Element:
    listed = _add(parent, "attributeList")
    for text in texts:
        _add(listed, "attribute", text, name=COMMENT.name, nameAc=COMMENT.id)
    return listed


def _add_names(parent: _Element, short: str, full: str = "") -> _Element:
    names = _add(parent, "names")
    _add(names, "shortLabel", one_line(short) or "-")
    if one_line(full):
        _add(names, "fullName", one_line(full))
    return names


def _add_term(parent: _Element, tag: str, term: Term) -> None:
    described = _add(parent, tag)
    _add_names(described, term.name)
    _add_reference(described, PSI_MI, term.id, IDENTITY)


def _add_reference(parent: _Element, database: Term, value: str, kind: Term) -> _Element:
    reference = _add(parent, "xref")
    attributes = {"db": database.name, "dbAc": database.id, "id": value}
    attributes |= {"refType": kind.name, "refTypeAc": kind.id}
    _add(reference, "primaryRef", **{name: text for name, text in attributes.items() if text})
    return reference


def _label(protein: CuratedProtein) -> str:
    return next(iter(protein.symbols), "") or protein.accession


def _add(parent: _Element, tag: str, text: str = "", **attributes: str) -> _Element:
    values = {name: one_line(xml_text(value)) or "-" for name, value in attributes.items()}
    element = etree.SubElement(parent, _name(tag), values)
    if text:
        element.text = xml_text(text)
    return element


def _name(tag: str) -> str:
    return f"{{{_NAMESPACE}}}{tag}"
