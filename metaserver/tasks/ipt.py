"""IPT: the pairs of proteins that an article reports to interact, as ranked accession pairs."""

from metaserver.base.records import TaskName
from metaserver.tasks.ranked import RankedTask

IPT = RankedTask(
    name=TaskName("IPT"),
    title="Interaction pairs",
    key="pairs",
    fields=("dbid_a", "dbid_b"),
    optional={"evidence": str},
)
