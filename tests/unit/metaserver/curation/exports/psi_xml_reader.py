"""Readers of PSI-MI XML by its schemas, for the tests of the writer: interactions, resolved.

The package pymex, of a database of IMEx, ships the schemas and reads files (`.ci/peers`).
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

from lxml import etree

from tests.conformance.foreign import CACHE, missing

LEVELS = {"http://psi.hupo.org/mi/mif": "2", "http://psi.hupo.org/mi/mif300": "3"}


class ReadParticipant(NamedTuple):
    """A participant with the accession of the interactor that it refers to."""

    accession: str
    taxon: str
    experimental_role: str
    biological_role: str
    identification: str
    features: tuple[tuple[str, str, str], ...]
    """The type, the name and the range of each."""


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


SCHEMAS = {"2": "MIF254.xsd", "3": "MIF300.xsd"}
BY_PYMEX = """
import json, sys
from contextlib import redirect_stdout
with redirect_stdout(sys.stderr):
    import pymex.mif
    record = pymex.mif.Record()
    record.parseMif(sys.argv[1], sys.argv[2])
print(json.dumps(record.root["entrySet"]["entry"]))
"""


@cache
def schema(level: str) -> etree.XMLSchema:
    return etree.XMLSchema(etree.parse(_pymex("mif", SCHEMAS[level])))


def read_by_pymex(path: Path, level: str) -> list[dict[str, Any]]:
    """Read a file's interactions by pymex, in a process of its own."""
    version = SCHEMAS[level].removesuffix(".xsd").lower()
    process = subprocess.run(
        [sys.executable, "-c", BY_PYMEX, path, version],
        env={**os.environ, "PYTHONPATH": str(_pymex().parent)},
        capture_output=True,
        check=True,
    )
    entries = json.loads(process.stdout)
    return [one for entry in entries for one in entry["interaction"]]


def _pymex(*parts: str) -> Path:
    path = CACHE.joinpath("python", "pymex", *parts)
    if not path.exists():
        missing(path.name)
    return path


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
            features=tuple(
                self.feature(one) for one in part.findall("featureList/feature", self.names)
            ),
        )

    def feature(self, feature: ET.Element) -> tuple[str, str, str]:
        [found] = feature.findall("featureRangeList/featureRange", self.names)
        ends = []
        for status, tag in (("startStatus", "begin"), ("endStatus", "end")):
            place = found.find(tag, self.names)
            assert self.term(found, status) == ("MI:0339" if place is None else "MI:0335")
            ends.append("?" if place is None else place.get("position", ""))
        name = feature.findtext("names/shortLabel", "", self.names)
        return self.term(feature, "featureType"), name, "-".join(ends)

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
