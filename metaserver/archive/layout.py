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

from metaserver.curation.basis import Additions, CurationBasis
from metaserver.curation.decisions import CurationEvent
from metaserver.model.challenges import ChallengePage
from metaserver.model.conformance import Conformance, ConformanceVerdict
from metaserver.model.curations import SetPlan
from metaserver.model.methods import MethodDescription
from metaserver.model.plans import PhasePlan
from metaserver.model.states import Role
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
    have when they are imported. `where` is the condition on its rows, and `restored` returns a row
    as it is stored by an import.
    """

    table: sa.Table
    forms: Mapping[str, ColumnForm] = field(default_factory=dict)
    file: Callable[[Mapping[str, Any], Names], str] = lambda row, names: ""
    records: Records | None = None
    types: Mapping[str, Any] = field(default_factory=dict)
    where: sa.ColumnElement[bool] | None = None
    restored: Callable[[dict[str, Any]], dict[str, Any]] = lambda row: row

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


def _curation(row: Mapping[str, Any], names: Names) -> str:
    return f"curations/{row['id']}.txt"


def _ended_token(row: dict[str, Any]) -> dict[str, Any]:
    """Return a curator's token that opens nothing: no secret has its digest, and it is revoked."""
    opens_nothing = {"digest": f"archived {row['id']}", "role": Role.CURATOR.value}
    return row | opens_nothing | {"revoked_at": row["created_at"]}


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
    ArchivedTable(
        table=t.tokens,
        forms=dict.fromkeys(
            ("digest", "role", "team_id", "expires_at", "used_at", "revoked_at", "parent_id"),
            ColumnForm.LEFT_OUT,
        ),
        where=sa.or_(
            t.tokens.c.role == Role.CURATOR.value,
            t.tokens.c.id.in_(sa.select(t.curations.c.token_id)),
        ),
        restored=_ended_token,
    ),
    ArchivedTable(
        table=t.curations,
        forms={
            "text": ColumnForm.FILE,
            "basis": ColumnForm.PACKED_JSON,
            "additions": ColumnForm.JSON,
        },
        file=_curation,
        types={"basis": CurationBasis, "additions": Additions},
    ),
    ArchivedTable(
        table=t.curation_events,
        forms={"event": ColumnForm.JSON},
        types={"event": CurationEvent},
    ),
    ArchivedTable(table=t.curation_sets, forms={"plan": ColumnForm.JSON}, types={"plan": SetPlan}),
    ArchivedTable(table=t.curation_seats),
    ArchivedTable(table=t.curation_rulings),
)
"""The archived tables, in the order in which rows refer to each other.

Tokens, one-time links and sessions are left out, because a reader of the archive could try them: of
curators' tokens it has the ids and labels, which say whose curations are whose. Left out are also
notices, alerts and channels, requests with their texts and answers, communications that servers
have to answer, and what is made from the rest: checkpoints, consensus models, and the data packages
of phases, whose files are beside the store. The processes of a hub are its own.
"""

LEFT_OUT = frozenset(
    {
        t.channels.name,
        t.alerts.name,
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
    }
)


def of_phases(archived: ArchivedTable, phases: Mapping[int, int]) -> Iterator[Any]:
    """Yield the conditions on a table's rows where some phases (id to corpus id) are archived.

    Of curations these are the phases' sets alone: others belong to no phase.
    """
    columns = archived.table.c
    sets = sa.select(t.curation_sets.c.id).where(t.curation_sets.c.phase_id.in_(list(phases)))
    seated = sa.select(t.curation_seats.c.curation_id).where(t.curation_seats.c.set_id.in_(sets))
    if archived.table is t.phases:
        yield columns.id.in_(list(phases))
    elif archived.table in (t.audit, t.sign_ups):
        yield sa.false()
    elif archived.table is t.tokens:
        yield sa.exists(sets)  # all: ids of adjudicators must not be another's later
    elif archived.table is t.curations:
        yield columns.id.in_(seated)
    elif archived.table is t.curation_events:
        yield columns.curation_id.in_(seated)
    elif "set_id" in columns:
        yield columns.set_id.in_(sets)
    elif "phase_id" in columns:
        yield columns.phase_id.in_(list(phases))
    elif archived.table is t.corpora:
        yield columns.id.in_(list(phases.values()))
    elif "corpus_id" in columns:
        yield columns.corpus_id.in_(list(phases.values()))
