"""The format table: what a curation can be exported as."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from metaserver.curation.exports import bioc, csv_lines, finished, mitab, psi_xml, tsv
from metaserver.curation.exports.finished import FinishedCuration
from scoring import Task

_TEXT = "text/tab-separated-values; charset=utf-8"
_JSON = "application/json"
_XML = "application/xml"


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportFormat:
    """A format: its title for readers, its files' suffix and media type, and its writer.

    The work of `write` grows with the articles: call it in a thread. It raises `RefusedError` for
    curations that the format cannot hold.
    """

    title: str
    suffix: str
    media_type: str
    write: Callable[[Sequence[FinishedCuration]], bytes]


def _tsv(task: Task, *, gold: bool) -> ExportFormat:
    writer = tsv.gold_tsv if gold else tsv.run_tsv
    kind = "gold" if gold else "run"
    return ExportFormat(
        title=f"{task} {kind} of BioCreative II.5",
        suffix=f".{task}.{kind}.tsv",
        media_type=_TEXT,
        write=lambda curations: writer(curations, task).encode(),
    )


FORMATS: Mapping[str, ExportFormat] = {
    "json": ExportFormat(
        title="JSON, all that is known", suffix=".json", media_type=_JSON, write=finished.write_json
    ),
    **{f"gold-{task.lower()}": _tsv(task, gold=True) for task in Task},
    **{f"run-{task.lower()}": _tsv(task, gold=False) for task in Task},
    "bioc-xml": ExportFormat(
        title="BioC XML", suffix=".bioc.xml", media_type=_XML, write=bioc.write_bioc_xml
    ),
    "bioc-json": ExportFormat(
        title="BioC JSON", suffix=".bioc.json", media_type=_JSON, write=bioc.write_bioc_json
    ),
    "pubannotation": ExportFormat(
        title="PubAnnotation JSON",
        suffix=".pubannotation.json",
        media_type=_JSON,
        write=bioc.write_pubannotation,
    ),
    "mitab": ExportFormat(
        title="PSI-MI TAB 2.7", suffix=".mitab.tsv", media_type=_TEXT, write=mitab.write_mitab
    ),
    "psi-xml": ExportFormat(
        title="PSI-MI XML 2.5.4", suffix=".psi.xml", media_type=_XML, write=psi_xml.write_psi_xml
    ),
    "psi-xml-3": ExportFormat(
        title="PSI-MI XML 3.0",
        suffix=".psi30.xml",
        media_type=_XML,
        write=lambda curations: psi_xml.write_psi_xml(curations, psi_xml.PSI_30),
    ),
    "csv": ExportFormat(
        title="CSV for spreadsheets",
        suffix=".csv",
        media_type="text/csv; charset=utf-8",
        write=csv_lines.write_csv,
    ),
    "sda": ExportFormat(
        title="Structured Digital Abstract",
        suffix=".sda.txt",
        media_type="text/plain; charset=utf-8",
        write=mitab.write_sda,
    ),
}
