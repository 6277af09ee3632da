"""A reader of PSI-MI XML by its schemas, for the tests of the writer: interactions, resolved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree as ET

LEVELS = {"http://psi.hupo.org/mi/mif": "2", "http://psi.hupo.org/mi/mif300": "3"}


class ReadParticipant(NamedTuple):
    """A participant with the accession of the interactor that it refers to."""

    accession: str
    taxon: str
    experimental_role: str
    biological_role: str
    identification: str


class ReadInteraction(NamedTuple):
    """An interaction with what its experiment says."""

    id: str
    publications: tuple[tuple[str, str], ...]
    attributes: dict[str, str]
    method: str
    host: str
    type: str
    negative: bool
    notes: tuple[tuple[str, str], ...]
    participants: tuple[ReadParticipant, ...]


def read_psi_xml(data: bytes) -> list[ReadInteraction]:
    """Read a file of the compact form; `AssertionError` if a reference leads nowhere."""
    root = ET.fromstring(data)
    namespace, _, tag = root.tag[1:].partition("}")
    assert (tag, root.get("level")) == ("entrySet", LEVELS[namespace])
    reader = _Reader({"": namespace})
    return [found for entry in root for found in reader.entry(entry)]


class _Reader:
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def entry(self, entry: ET.Element) -> Iterator[ReadInteraction]:
        experiments = self.by_id(entry, "experimentList/experimentDescription")
        interactors = self.by_id(entry, "interactorList/interactor")
        for one in entry.findall("interactionList/interaction", self.names):
            [reference] = one.findall("experimentList/experimentRef", self.names)
            experiment = experiments[reference.text or ""]
            host = experiment.find("hostOrganismList/hostOrganism", self.names)
            notes = one.findall("attributeList/attribute", self.names)
            yield ReadInteraction(
                id=self.primary(one)[1],
                publications=self.references(experiment.find("bibref", self.names)),
                attributes={
                    part.get("name", ""): part.text or ""
                    for part in experiment.findall("attributeList/attribute", self.names)
                },
                method=self.term(experiment, "interactionDetectionMethod"),
                host="" if host is None else host.get("ncbiTaxId", ""),
                type=self.term(one, "interactionType"),
                negative=one.findtext("negative", "", self.names) == "true",
                notes=tuple((part.get("name", ""), part.text or "") for part in notes),
                participants=tuple(
                    self.participant(part, interactors)
                    for part in one.findall("participantList/participant", self.names)
                ),
            )

    def by_id(self, entry: ET.Element, path: str) -> dict[str, ET.Element]:
        found = entry.findall(path, self.names)
        result = {one.get("id", ""): one for one in found}
        assert len(result) == len(found)
        return result

    def participant(self, part: ET.Element, known: dict[str, ET.Element]) -> ReadParticipant:
        interactor = known[part.findtext("interactorRef", "", self.names)]
        database, accession = self.primary(interactor)
        assert database == "uniprotkb"
        organism = interactor.find("organism", self.names)
        method = "participantIdentificationMethodList/participantIdentificationMethod"
        return ReadParticipant(
            accession=accession,
            taxon="" if organism is None else organism.get("ncbiTaxId", ""),
            experimental_role=self.term(part, "experimentalRoleList/experimentalRole"),
            biological_role=self.term(part, "biologicalRole"),
            identification=self.term(part, method),
        )

    def term(self, parent: ET.Element, path: str) -> str:
        """Return the id of PSI-MI at a path; "" if there is none."""
        found = parent.find(path, self.names)
        if found is None:
            return ""
        database, key = self.primary(found)
        assert database == "psi-mi"
        return key

    def primary(self, parent: ET.Element) -> tuple[str, str]:
        return self.references(parent)[0]

    def references(self, parent: ET.Element | None) -> tuple[tuple[str, str], ...]:
        found = () if parent is None else parent.findall("xref/*", self.names)
        return tuple((one.get("db", ""), one.get("id", "")) for one in found)
