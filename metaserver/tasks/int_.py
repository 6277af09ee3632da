"""INT: the proteins whose interactions an article reports, as ranked UniProt accessions."""

from metaserver.base.records import TaskName
from metaserver.tasks.ranked import RankedTask

INT = RankedTask(
    name=TaskName("INT"),
    title="Interactor normalization",
    key="normalizations",
    fields=("dbid",),
    optional={"dbname": str, "taxid": int, "evidence": str},
)
