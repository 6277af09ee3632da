"""Layout of an archive: its tables, their columns, and the places of large ones.

`tables/NAME.jsonl` has a row a line, by primary key; JSON blobs are part of their row. Tables that
grow with articles and answers have their texts and raw answers in `Records`: one entry for each
corpus or lane, so that even a large archive has few entries. A blob of another table that people
may want to read is a file of its own. The rest (result files, boards, attempts as a table) is
derived from these for readers, and is not imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

import sqlalchemy as sa

from metaserver.model.challenges import ChallengePage
from metaserver.model.conformance import Conformance, ConformanceVerdict
from metaserver.model.methods import MethodDescription
from metaserver.model.plans import PhasePlan
from metaserver.model.usage import DeclaredUsage
from metaserver.store import tables as t

FORMAT = 3
"""The version of the format; it is raised when earlier archives can no longer be read."""

MANIFEST = "manifest.json"
CHECKSUMS = "checksums.tsv"


class ColumnForm(Enum):
    """The form of a column in the store, where it differs from that in a row's JSON."""

    JSON = auto()  # the bytes of a JSON value
    PACKED_JSON = auto()  # the same, compressed
    FILE = auto()  # compressed; a file of the archive
    RECORD = auto()  # compressed; the bytes of a record
    LEFT_OUT = auto()  # a secret, or of this hub alone: it is null


@dataclass(frozen=True, kw_only=True, slots=True)
class Names:
    """The names of phases and servers, by id: files are named after them."""

    phases: Mapping[int, str]
    servers: Mapping[int, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Records:
    """The grouping of rows into entries: `keys` are a table's leading key columns, by group.

    `source` selects the keys of all possible groups, and `name` returns the name of a group's
    entry.
    """

    keys: tuple[str, ...]
    source: sa.Select[Any]
    name: Callable[[Mapping[str, Any], Names], str]


@dataclass(frozen=True, kw_only=True, slots=True)
class ArchivedTable:
    """An archived table; `file` returns the name of the file of a row's `ColumnForm.FILE` column.

    A table with `records` has no `tables/NAME.jsonl`. `types` are the types that JSON values must
    have when they are imported.
    """

    table: sa.Table
    forms: Mapping[str, ColumnForm] = field(default_factory=dict)
    file: Callable[[Mapping[str, Any], Names], str] = lambda row, names: ""
    records: Records | None = None
    types: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of its entry."""
        return f"tables/{self.table.name}.jsonl"

    @property
    def file_column(self) -> str | None:
        """The column with a file for each row, or None."""
        return self._column_of(ColumnForm.FILE)

    @property
    def record_column(self) -> str | None:
        """The column with the bytes of each record, or None."""
        return self._column_of(ColumnForm.RECORD)

    def _column_of(self, form: ColumnForm) -> str | None:
        return next((name for name, found in self.forms.items() if found is form), None)

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
    ArchivedTable(
        table=t.challenges,
        forms={"page": ColumnForm.JSON, "code": ColumnForm.LEFT_OUT},
        types={"page": ChallengePage},
    ),
    ArchivedTable(table=t.announcements),
    ArchivedTable(table=t.teams, forms={"notices": ColumnForm.LEFT_OUT}),
    ArchivedTable(
        table=t.sign_ups,
        forms={"origin": ColumnForm.LEFT_OUT, "code": ColumnForm.LEFT_OUT},
    ),
    ArchivedTable(
        table=t.servers,
        forms={"secret": ColumnForm.LEFT_OUT, "callback_key": ColumnForm.LEFT_OUT},
    ),
    ArchivedTable(table=t.corpora),
    ArchivedTable(table=t.corpus_versions),
    ArchivedTable(table=t.articles, forms={"text": ColumnForm.RECORD}, records=ARTICLES),
    ArchivedTable(table=t.phases, forms={"plan": ColumnForm.JSON}, types={"plan": PhasePlan}),
    ArchivedTable(table=t.gold, forms={"content": ColumnForm.FILE}, file=_gold),
    ArchivedTable(
        table=t.conformance_runs,
        forms={"verdict": ColumnForm.JSON, "report": ColumnForm.JSON},
        types={"verdict": ConformanceVerdict, "report": Conformance},
    ),
    ArchivedTable(table=t.lanes, forms={"worker": ColumnForm.LEFT_OUT}),
    ArchivedTable(
        table=t.attempts,
        forms={"problems": ColumnForm.JSON, "usage": ColumnForm.JSON},
        types={"usage": DeclaredUsage},
    ),
    ArchivedTable(table=t.raw_answers, forms={"body": ColumnForm.RECORD}, records=RAW_ANSWERS),
    ArchivedTable(table=t.answers, forms={"payloads": ColumnForm.PACKED_JSON}),
    ArchivedTable(table=t.state_changes),
    ArchivedTable(
        table=t.offline_runs,
        forms={
            "content": ColumnForm.FILE,
            "payloads": ColumnForm.PACKED_JSON,
            "problems": ColumnForm.JSON,
        },
        file=_offline_run,
    ),
    ArchivedTable(table=t.uploads, forms={"prints": ColumnForm.PACKED_JSON}),
    ArchivedTable(
        table=t.methods,
        forms={"description": ColumnForm.JSON},
        types={"description": MethodDescription},
    ),
    ArchivedTable(table=t.frozen_boards, forms={"document": ColumnForm.FILE}, file=_frozen_board),
    ArchivedTable(table=t.audit, forms={"detail": ColumnForm.JSON}),
)
"""The archived tables, in the order in which rows refer to each other.

Tokens, one-time links and sessions are left out, because a reader of the archive could try them; so
are notices, alerts and channels, requests and curations with their texts, communications that
servers have to answer, and what is made from the rest: checkpoints, consensus models, and the data
packages of phases, whose files are beside the store. The processes of a hub are its own.
"""

LEFT_OUT = frozenset(
    {
        t.channels.name,
        t.alerts.name,
        t.tokens.name,
        t.one_time_links.name,
        t.sessions.name,
        t.notices.name,
        t.checkpoints.name,
        t.data_packages.name,
        t.requests.name,
        t.request_answers.name,
        t.consensus_models.name,
        t.communications.name,
        t.workers.name,
        t.leader.name,
        t.jobs.name,
        t.kept_files.name,
        t.kept_parts.name,
        t.curations.name,
        t.curation_events.name,
        t.curation_sets.name,
        t.curation_seats.name,
        t.curation_rulings.name,
    }
)


def of_phases(archived: ArchivedTable, phases: Mapping[int, int]) -> Iterator[Any]:
    """Yield the conditions on a table's rows where some phases (id to corpus id) are archived."""
    columns = archived.table.c
    if archived.table is t.phases:
        yield columns.id.in_(list(phases))
    elif archived.table in (t.audit, t.sign_ups):
        yield sa.false()
    elif "phase_id" in columns:
        yield columns.phase_id.in_(list(phases))
    elif archived.table is t.corpora:
        yield columns.id.in_(list(phases.values()))
    elif "corpus_id" in columns:
        yield columns.corpus_id.in_(list(phases.values()))
