"""What is in an archive: which tables, which of their columns, where the large ones are.

`tables/NAME.jsonl` has a row a line, by primary key; JSON blobs are part of their row. Tables that
grow with articles and answers have their texts and raw answers in `Records`: an entry a corpus or a
lane, so that an archive has few entries however much it holds. A blob of another table that people
may want to read is a file of its own. The rest (result files, boards, attempts as a table) is made
from these, for people, and is not read back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

import sqlalchemy as sa

from metaserver.conformance.steps import Conformance, ConformanceVerdict
from metaserver.model.plans import PhasePlan
from metaserver.store import tables as t

FORMAT = 2
"""Raised when an archive of an earlier format can no longer be read as it is."""

MANIFEST = "manifest.json"
CHECKSUMS = "checksums.tsv"


class Kept(Enum):
    """How a column is kept in the store, where that is not as it is in a row's JSON."""

    JSON = auto()  # the bytes of a JSON value
    PACKED_JSON = auto()  # the same, compressed
    FILE = auto()  # compressed; a file of the archive
    RECORD = auto()  # compressed; the bytes of a record
    LEFT_OUT = auto()  # a secret: it is null


@dataclass(frozen=True, kw_only=True, slots=True)
class Names:
    """What phases and servers are called, by id: files are named after them."""

    phases: Mapping[int, str]
    servers: Mapping[int, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Records:
    """How rows are grouped into entries: `keys` are the tables' leading key columns, by group.

    `source` selects the keys of all groups there may be, and `name` names a group's entry.
    """

    keys: tuple[str, ...]
    source: sa.Select[Any]
    name: Callable[[Mapping[str, Any], Names], str]


@dataclass(frozen=True, kw_only=True, slots=True)
class ArchivedTable:
    """A table as it is archived: `file` names the file of a row's `Kept.FILE` column.

    One with `records` has no `tables/NAME.jsonl`. `types` are what JSON values must be when they
    are read back.
    """

    table: sa.Table
    kept: Mapping[str, Kept] = field(default_factory=dict)
    file: Callable[[Mapping[str, Any], Names], str] = lambda row, names: ""
    records: Records | None = None
    types: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of its entry."""
        return f"tables/{self.table.name}.jsonl"

    @property
    def file_column(self) -> str | None:
        """The column that is a file for each row."""
        return self._kept_as(Kept.FILE)

    @property
    def record_column(self) -> str | None:
        """The column that is the bytes of each record."""
        return self._kept_as(Kept.RECORD)

    def _kept_as(self, wanted: Kept) -> str | None:
        return next((name for name, kept in self.kept.items() if kept is wanted), None)

    @property
    def key(self) -> list[sa.Column[Any]]:
        """The columns that its rows are ordered by."""
        return list(self.table.primary_key.columns)


def _articles(key: Mapping[str, Any], names: Names) -> str:
    return f"corpora/{key['corpus_id']}.records"


def _raw_answers(key: Mapping[str, Any], names: Names) -> str:
    return f"phases/{names.phases[key['phase_id']]}/raw/{names.servers[key['server_id']]}.records"


def _gold(row: Mapping[str, Any], names: Names) -> str:
    return f"phases/{names.phases[row['phase_id']]}/gold/{row['task']}.{row['version']}"


def _offline_run(row: Mapping[str, Any], names: Names) -> str:
    return f"phases/{names.phases[row['phase_id']]}/offline/{row['name']}.{row['task']}.tsv"


def _frozen_board(row: Mapping[str, Any], names: Names) -> str:
    return f"phases/{names.phases[row['phase_id']]}/frozen/{row['id']}.json"


ARTICLES = Records(
    keys=("corpus_id",),
    source=sa.select(t.corpora.c.id.label("corpus_id")).order_by(t.corpora.c.id),
    name=_articles,
)
RAW_ANSWERS = Records(
    keys=("phase_id", "server_id"),
    source=sa.select(t.lanes.c.phase_id, t.lanes.c.server_id).order_by(
        t.lanes.c.phase_id, t.lanes.c.server_id
    ),
    name=_raw_answers,
)

TABLES = (
    ArchivedTable(table=t.hub_keys),
    ArchivedTable(table=t.challenges),
    ArchivedTable(table=t.teams, kept={"notices": Kept.LEFT_OUT}),
    ArchivedTable(table=t.servers),
    ArchivedTable(table=t.corpora),
    ArchivedTable(table=t.corpus_versions),
    ArchivedTable(table=t.articles, kept={"text": Kept.RECORD}, records=ARTICLES),
    ArchivedTable(table=t.phases, kept={"plan": Kept.JSON}, types={"plan": PhasePlan}),
    ArchivedTable(table=t.gold, kept={"content": Kept.FILE}, file=_gold),
    ArchivedTable(
        table=t.trials,
        kept={"verdict": Kept.JSON, "report": Kept.JSON},
        types={"verdict": ConformanceVerdict, "report": Conformance},
    ),
    ArchivedTable(table=t.lanes),
    ArchivedTable(table=t.attempts, kept={"problems": Kept.JSON}),
    ArchivedTable(table=t.raw_answers, kept={"body": Kept.RECORD}, records=RAW_ANSWERS),
    ArchivedTable(table=t.answers, kept={"payloads": Kept.PACKED_JSON}),
    ArchivedTable(table=t.state_changes),
    ArchivedTable(
        table=t.offline_runs,
        kept={"content": Kept.FILE, "payloads": Kept.PACKED_JSON, "problems": Kept.JSON},
        file=_offline_run,
    ),
    ArchivedTable(table=t.frozen_boards, kept={"document": Kept.FILE}, file=_frozen_board),
    ArchivedTable(table=t.audit, kept={"detail": Kept.JSON}),
)
"""What is archived, in the order in which rows refer to each other.

Tokens and sessions are not: who reads an archive could try them. Neither are notices.
"""

LEFT_OUT = frozenset({t.tokens.name, t.sessions.name, t.notices.name})


def of_phases(archived: ArchivedTable, phases: Mapping[int, int]) -> Iterator[Any]:
    """Yield the conditions on a table's rows where some phases (id to corpus id) are archived."""
    columns = archived.table.c
    if archived.table is t.phases:
        yield columns.id.in_(list(phases))
    elif archived.table is t.audit:
        yield sa.false()
    elif "phase_id" in columns:
        yield columns.phase_id.in_(list(phases))
    elif archived.table is t.corpora:
        yield columns.id.in_(list(phases.values()))
    elif "corpus_id" in columns:
        yield columns.corpus_id.in_(list(phases.values()))
