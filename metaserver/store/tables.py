"""The tables, in a schema that PostgreSQL could hold too; migrations are in `migrations/`.

Times are Unix seconds, UTC. A JSON column holds a `msgspec` struct from `records` or `plans`,
written and read by the `store` module named after the table.

There is no row per pending request: a request is implied by (lane, article). An attempt's key is
(phase, server, position, number) and an accepted answer's (phase, server, position), so that
neither can be stored twice, whatever the lanes deliver.
"""

from __future__ import annotations

import sqlalchemy as sa

NAMING = {
    "ix": "ix_%(column_0_label)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}

metadata = sa.MetaData(naming_convention=NAMING)

Large = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
"""64-bit integers, as all are in SQLite: log ids, counters that only grow, sizes."""

corpora = sa.Table(
    "corpora",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("checksum", sa.String(64), nullable=False, unique=True),  # of ids and texts, in order
    sa.Column("articles", sa.Integer, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
)

corpus_versions = sa.Table(
    "corpus_versions",
    metadata,
    sa.Column("name", sa.String, primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),  # 1, 2, ...
    sa.Column("corpus_id", sa.ForeignKey("corpora.id"), nullable=False),
    sa.Column("source", sa.String, nullable=False),  # the file it was imported from
    sa.Column("created_at", sa.Double, nullable=False),
)

articles = sa.Table(
    "articles",
    metadata,
    sa.Column("corpus_id", sa.ForeignKey("corpora.id"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),  # from 0, the order
    sa.Column("article_id", sa.String, nullable=False),
    sa.Column("title", sa.String, nullable=False),
    sa.Column("source", sa.String, nullable=False),
    sa.Column("text", sa.LargeBinary, nullable=False),  # zstd of UTF-8
    sa.Column("original", sa.LargeBinary),  # zstd of the XML that it was read from
    sa.Column("wire_bytes", Large, nullable=False),  # of the text as sent in a request
    sa.UniqueConstraint("corpus_id", "article_id"),
)

challenges = sa.Table(
    "challenges",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String, nullable=False, unique=True),
    sa.Column("title", sa.String, nullable=False),
    sa.Column("timezone", sa.String, nullable=False),  # IANA name: phases' dates are shown in it
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("announced_at", sa.Double),  # none: at once; before it organisers alone see it
    sa.Column("page", sa.LargeBinary),  # JSON of `challenges.ChallengePage`; none: an empty one
    sa.Column("code", sa.String(64)),  # SHA-256 of its invitation code
)

announcements = sa.Table(
    "announcements",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("challenge_id", sa.ForeignKey("challenges.id"), nullable=False, index=True),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("title", sa.String, nullable=False),
    sa.Column("text", sa.String, nullable=False),  # Markdown
)

challenge_pictures = sa.Table(
    "challenge_pictures",
    metadata,
    sa.Column("challenge_id", sa.ForeignKey("challenges.id"), primary_key=True),
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),  # PNG or JPEG
)

phases = sa.Table(
    "phases",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String, nullable=False, unique=True),  # in the hub
    sa.Column("own_name", sa.String, nullable=False),  # in its challenge, and in addresses
    sa.Column("challenge_id", sa.ForeignKey("challenges.id")),
    sa.Column("plan", sa.LargeBinary),  # JSON of `plans.PhasePlan`
    sa.Column("standing", sa.String(16)),  # the state reached, manually or by the clock
    sa.Column("moments", sa.LargeBinary),  # JSON of `plans.Moments`: what was done manually
    sa.Column("corpus_id", sa.ForeignKey("corpora.id"), nullable=False),
    sa.Column("release", sa.String, nullable=False),  # the UniProt release answers are checked by
    sa.Column("created_at", sa.Double, nullable=False),
    sa.UniqueConstraint("challenge_id", "own_name"),
)

gold = sa.Table(
    "gold",
    metadata,
    sa.Column("phase_id", sa.ForeignKey("phases.id"), primary_key=True),
    sa.Column("task", sa.String, primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),  # 1, 2, ...
    sa.Column("checksum", sa.String(64), nullable=False),  # of the content, keyed (`store.keys`)
    sa.Column("source", sa.String, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),  # zstd of the file
    sa.Column("created_at", sa.Double, nullable=False),
)

data_packages = sa.Table(
    "data_packages",
    metadata,
    sa.Column("phase_id", sa.ForeignKey("phases.id"), primary_key=True),
    sa.Column("package", sa.LargeBinary, nullable=False),  # JSON of `data_packages.DataPackage`
)

teams = sa.Table(
    "teams",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String, nullable=False, unique=True),
    sa.Column("title", sa.String, nullable=False),
    sa.Column("email", sa.String, nullable=False),
    sa.Column("notices", sa.LargeBinary),  # JSON of `plans.NoticePlan`; none: no notices
    sa.Column("host", sa.Boolean, nullable=False, server_default=sa.false()),  # runs baselines
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("retired_at", sa.Double),
)

sign_ups = sa.Table(
    "sign_ups",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("challenge_id", sa.ForeignKey("challenges.id"), nullable=False, index=True),
    sa.Column("state", sa.String(16), nullable=False),  # `challenges.SignUpState`
    sa.Column("team", sa.String, nullable=False),  # the name that was asked for
    sa.Column("people", sa.String, nullable=False),
    sa.Column("email", sa.String, nullable=False, index=True),
    sa.Column("affiliation", sa.String, nullable=False),
    sa.Column("terms_version", sa.String, nullable=False),  # of the terms that were accepted
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("origin", sa.String(64)),  # keyed digest of the network address (`store.keys`)
    sa.Column("code", sa.String(64)),  # SHA-256 of the invitation code that was given
    sa.Column("decided_at", sa.Double),
    sa.Column("automatic", sa.Boolean, nullable=False, server_default=sa.false()),  # so decided
    sa.Column("team_id", sa.ForeignKey("teams.id")),  # that it became
    sa.Column("mail_due", sa.Boolean, nullable=False),  # of its next link
    sa.Column("mail_at", sa.Double),  # not before then: an earlier delivery failed
    sa.Column("mailed_at", sa.Double),
    sa.Column("failures", sa.Integer, nullable=False),  # to send that mail
)

one_time_links = sa.Table(
    "one_time_links",
    metadata,
    sa.Column("digest", sa.String(64), primary_key=True),  # SHA-256; the link is not kept
    sa.Column("sign_up_id", sa.ForeignKey("sign_ups.id"), nullable=False, index=True),
    sa.Column("kind", sa.String(16), nullable=False),  # `challenges.LinkKind`
    sa.Column("expires_at", sa.Double, nullable=False),
    sa.Column("used_at", sa.Double),
    # Team names that were tried with it and are taken.
    sa.Column("tries", sa.Integer, nullable=False, server_default=sa.text("0")),
)

persons = sa.Table(
    "persons",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("email", sa.String, nullable=False),  # verified, as it was written; empty: none
    sa.Column("address", sa.String, unique=True),  # the same in small letters
    sa.Column("name", sa.String, nullable=False),
    sa.Column("orcid", sa.String(19), nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
)

identities = sa.Table(
    "identities",
    metadata,
    sa.Column("issuer", sa.String, primary_key=True),  # an OpenID Connect provider
    sa.Column("subject", sa.String, primary_key=True),
    sa.Column("person_id", sa.ForeignKey("persons.id"), nullable=False, index=True),
    sa.Column("created_at", sa.Double, nullable=False),
)

person_links = sa.Table(
    "person_links",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("kind", sa.String(16), nullable=False),  # `people.PersonLinkKind`
    sa.Column("email", sa.String, nullable=False),  # empty: the link is handed out
    sa.Column("mailbox", sa.String, nullable=False, index=True),  # `mail.canonical` of it
    sa.Column("digest", sa.String(64), unique=True),  # SHA-256; none: not made yet
    sa.Column("code", sa.String(64)),  # SHA-256 of the code that may be typed instead
    sa.Column("browser", sa.String(64), index=True),  # SHA-256 of the cookie that it is bound to
    sa.Column("role", sa.String(16)),  # that an invitation gives
    sa.Column("team_id", sa.ForeignKey("teams.id"), index=True),
    sa.Column("challenge", sa.String),  # that an invited organiser organises; none: the hub
    sa.Column("owner", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("person_id", sa.ForeignKey("persons.id"), index=True),  # who adds a provider
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("expires_at", sa.Double, nullable=False),
    sa.Column("used_at", sa.Double),
    sa.Column("tries", sa.Integer, nullable=False, server_default=sa.text("0")),  # wrong codes
    sa.Column("mail_due", sa.Boolean, nullable=False),
    sa.Column("mail_at", sa.Double),  # not before then: an earlier delivery failed
    sa.Column("failures", sa.Integer, nullable=False, server_default=sa.text("0")),
)

tokens = sa.Table(
    "tokens",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column(
        "digest", sa.String(64), nullable=False, unique=True
    ),  # SHA-256; the token is not kept
    sa.Column("role", sa.String(16), nullable=False),
    sa.Column("team_id", sa.ForeignKey("teams.id")),
    sa.Column("challenge", sa.String),  # that an organiser organises; none: the hub
    sa.Column("label", sa.String, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("expires_at", sa.Double),
    sa.Column("used_at", sa.Double),
    sa.Column("revoked_at", sa.Double),
    sa.Column("parent_id", sa.ForeignKey("tokens.id"), index=True),  # it was made with this one
    sa.Column("person_id", sa.ForeignKey("persons.id"), index=True),  # whose membership it is
    sa.Column("owner", sa.Boolean, nullable=False, server_default=sa.false()),  # of its team
)

hub_keys = sa.Table(
    "hub_keys",
    metadata,
    sa.Column("name", sa.String(32), primary_key=True),
    sa.Column("value", sa.String(64), nullable=False),  # hexadecimal
)

channels = sa.Table(
    "channels",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("kind", sa.String(16), nullable=False),  # "email", "webhook"
    sa.Column("address", sa.String, nullable=False),
    sa.Column("secret", sa.String, nullable=False),  # signs what is posted to a webhook
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("sent_up_to", Large, nullable=False),  # the id of the last alert sent
    sa.Column("failures", sa.Integer, nullable=False),  # since the last message that was sent
    sa.Column("error", sa.String, nullable=False),
    sa.UniqueConstraint("kind", "address"),
)

alerts = sa.Table(
    "alerts",
    metadata,
    sa.Column("id", Large, primary_key=True),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("kind", sa.String(32), nullable=False),
    sa.Column("phase", sa.String, nullable=False),  # empty: of the hub
    sa.Column("subject", sa.String, nullable=False),
    sa.Column("message", sa.String, nullable=False),
    sa.Column("over", sa.Boolean, nullable=False),  # the condition of an earlier one has ended
)

sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("digest", sa.String(64), primary_key=True),  # SHA-256 of the cookie's value
    # None: a person who acts by no membership.
    sa.Column("token_id", sa.ForeignKey("tokens.id")),
    sa.Column("person_id", sa.ForeignKey("persons.id"), index=True),
    sa.Column("csrf", sa.String(64), nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("expires_at", sa.Double, nullable=False),
)

audit = sa.Table(
    "audit",
    metadata,
    sa.Column("id", Large, primary_key=True),
    sa.Column("at", sa.Double, nullable=False, index=True),
    sa.Column("actor", sa.String, nullable=False),  # "team blue", "organiser ana", "clock", ...
    sa.Column("action", sa.String, nullable=False),  # the operation's name
    sa.Column("subject", sa.String, nullable=False),  # the thing that was changed
    sa.Column("detail", sa.LargeBinary),  # JSON: the request, without secrets
    sa.Column("request_id", sa.String, nullable=False),
)

servers = sa.Table(
    "servers",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String, nullable=False, unique=True),
    sa.Column("team_id", sa.ForeignKey("teams.id")),  # none: named by `metaserver run`
    sa.Column("created_at", sa.Double),
    sa.Column("retired_at", sa.Double),
    sa.Column("url", sa.String, nullable=False),
    sa.Column("method", sa.String, nullable=False),
    sa.Column("parameters", sa.String, nullable=False),
    sa.Column("tasks", sa.JSON, nullable=False),
    sa.Column("concurrency", sa.Integer, nullable=False),
    sa.Column("protocol", sa.String(32), nullable=False, server_default="xmlrpc"),
    sa.Column("encoding", sa.String(16), nullable=False, server_default="utf-8"),
    sa.Column("options", sa.String, nullable=False, server_default=""),  # JSON, of the protocol
    sa.Column("auth", sa.String(16), nullable=False, server_default="none"),  # `access.AuthKind`
    sa.Column("auth_name", sa.String, nullable=False, server_default=""),
    sa.Column("secret", sa.String),  # encrypted with the key in the hub's key file; none: not set
    sa.Column("certificate", sa.String(64), nullable=False, server_default=""),  # its SHA-256
    # Its team agrees that curators' requests are sent to it.
    sa.Column("serves_curators", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("version", sa.String, nullable=False, server_default=""),  # that it reported last
    sa.Column("callback_key", sa.String(64), index=True),  # the digest of its callbacks' key
)

conformance_runs = sa.Table(
    "trials",  # the name of the first release that had them
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("server_id", sa.ForeignKey("servers.id"), nullable=False),
    sa.Column("phase_id", sa.ForeignKey("phases.id")),  # none: before there was a phase
    sa.Column("verdict", sa.LargeBinary, nullable=False),  # JSON: `ConformanceVerdict`
    sa.Column("report", sa.LargeBinary, nullable=False),  # JSON: `Conformance`
    sa.Index("ix_trials_server_phase", "server_id", "phase_id", unique=True),
)

lanes = sa.Table(
    "lanes",
    metadata,
    sa.Column("phase_id", sa.ForeignKey("phases.id"), primary_key=True),
    sa.Column("server_id", sa.ForeignKey("servers.id"), primary_key=True),
    sa.Column("epoch", Large, nullable=False),  # raised whenever a hub takes the lane
    sa.Column("cursor", sa.Integer, nullable=False),  # every article before it is finished
    sa.Column("serial", Large, nullable=False, server_default=sa.text("0")),  # of its log
    # Raised when stored attempts are changed: what was computed from the log before is void.
    sa.Column("revision", Large, nullable=False, server_default=sa.text("0")),
    # The desired state, set by the team or the organiser: `states.Control`.
    sa.Column("control", sa.String(16), nullable=False, server_default="running"),
    sa.Column("control_note", sa.String, nullable=False, server_default=""),
    # Whether it should be at work: it is desired, its phase is open, its server in use.
    sa.Column("due", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("allowance", sa.Integer),  # requests until it pauses; none: to the end of its queue
    sa.Column("cancel_by", sa.String, nullable=False, server_default=""),  # who cancels its calls
    # The last order to the lane, and the last one that was carried out to its end.
    sa.Column("order_no", Large, nullable=False, server_default=sa.text("0")),
    sa.Column("order_done", Large, nullable=False, server_default=sa.text("0")),
    sa.Column("worker", sa.String),  # the process that holds it: `workers.id`; none: free
    # What its holder reported last, for the other processes; `ended` is a `lanes.events.LaneEnd`.
    sa.Column("in_flight", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("down", sa.String, nullable=False, server_default=""),
    sa.Column("ended", sa.String(16), nullable=False, server_default=""),
    sa.Index("ix_lanes_worker", "worker"),
)

workers = sa.Table(
    "workers",
    metadata,
    sa.Column("id", sa.String, primary_key=True),  # new at each start of a process
    sa.Column("host", sa.String, nullable=False),
    sa.Column("role", sa.String(16), nullable=False),  # `processes.ProcessRole`
    sa.Column("version", sa.String, nullable=False),
    sa.Column("capacity", sa.Integer, nullable=False),  # lanes that it holds at most
    sa.Column("lanes", sa.Integer, nullable=False),  # that it held when it was seen last
    sa.Column("started_at", sa.Double, nullable=False),  # by the clock of the database
    sa.Column("seen", sa.Double, nullable=False),  # so too
    # What it counts since it was started: `leases.LeaseCounts`.
    sa.Column("taken_over", Large, nullable=False, server_default=sa.text("0")),
    sa.Column("turns", Large, nullable=False, server_default=sa.text("0")),
    sa.Column("refused", Large, nullable=False, server_default=sa.text("0")),
    sa.Column("missed", Large, nullable=False, server_default=sa.text("0")),
    sa.Column("blocked", sa.String, nullable=False, server_default=""),  # why it stores nothing
    sa.Column("lacks", sa.String, nullable=False, server_default=""),  # what keeps it from lanes
    sa.Column("key", sa.String(16), nullable=False, server_default=""),  # `Keyring.digest`
)

leader = sa.Table(
    "leader",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),  # 1: the only row
    sa.Column("process", sa.String, nullable=False),  # `workers.id`; empty: nobody
    sa.Column("epoch", Large, nullable=False),  # raised whenever another process leads
    sa.Column("seen", sa.Double, nullable=False),  # by the clock of the database
)

jobs = sa.Table(
    "jobs",  # of the processes of a hub that has several
    metadata,
    sa.Column("id", sa.String(16), primary_key=True),
    sa.Column("process", sa.String, nullable=False),  # `workers.id` of the one that does it
    sa.Column("kind", sa.String, nullable=False),  # the operation that began it
    sa.Column("subject", sa.String, nullable=False),
    sa.Column("asked_by", sa.String, nullable=False),
    sa.Column("team", sa.String, nullable=False),  # that it belongs to; empty: organisers
    sa.Column("state", sa.String(16), nullable=False),  # `states.JobState`
    sa.Column("step", sa.String, nullable=False),
    sa.Column("done", Large, nullable=False),
    sa.Column("total", Large, nullable=False),
    sa.Column("fixed", sa.Boolean, nullable=False),  # it can be cancelled no longer
    sa.Column("to_cancel", sa.Boolean, nullable=False),  # another process was asked to
    sa.Column("began_at", sa.Double, nullable=False),
    sa.Column("ended_at", sa.Double),
    sa.Column("error", sa.String, nullable=False),
    sa.Column("report", sa.LargeBinary),  # zstd of JSON; none: it is not done
    sa.Index("ix_jobs_team_began_at", "team", "began_at"),
)

kept_files = sa.Table(
    "kept_files",  # that jobs have made, for all processes of a hub that has several
    metadata,
    sa.Column("id", sa.String(16), primary_key=True),
    sa.Column("name", sa.String, nullable=False, index=True),  # the newest whole one is meant
    sa.Column("size", Large, nullable=False),  # in bytes
    sa.Column("made_at", sa.Double, nullable=False),
    sa.Column("whole", sa.Boolean, nullable=False),  # all its parts are there
)

kept_parts = sa.Table(
    "kept_parts",
    metadata,
    sa.Column("file_id", sa.ForeignKey("kept_files.id"), primary_key=True),
    sa.Column("part", sa.Integer, primary_key=True, autoincrement=False),  # from 0, without gaps
    sa.Column("content", sa.LargeBinary, nullable=False),
)


def _lane_key() -> tuple[sa.Column[int], sa.Column[int], sa.ForeignKeyConstraint]:
    return (
        sa.Column("phase_id", sa.Integer, primary_key=True),
        sa.Column("server_id", sa.Integer, primary_key=True),
        sa.ForeignKeyConstraint(["phase_id", "server_id"], ["lanes.phase_id", "lanes.server_id"]),
    )


attempts = sa.Table(
    "attempts",
    metadata,
    *_lane_key(),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    # The place in the lane's log, from 1 in the order of commits, without gaps.
    sa.Column("serial", Large, nullable=False, server_default=sa.text("0")),
    sa.Column("epoch", Large, nullable=False),
    sa.Column("started_at", sa.Double, nullable=False),
    sa.Column("outcome", sa.String(16), nullable=False),
    sa.Column("message", sa.String, nullable=False),
    *(sa.Column(phase, sa.Double) for phase in ("queue", "dns", "connect", "send", "wait")),
    *(sa.Column(phase, sa.Double) for phase in ("transfer", "parse")),
    sa.Column("total", sa.Double, nullable=False),
    sa.Column("bytes_out", Large, nullable=False),
    sa.Column("bytes_in", Large, nullable=False),
    sa.Column("problems", sa.LargeBinary),  # JSON: [[path, message], ...]
    sa.Column("problem_count", sa.Integer, nullable=False),
    sa.Column("usage", sa.LargeBinary),  # JSON of `usage.DeclaredUsage`; none: not declared
    sa.Column("final", sa.Boolean, nullable=False),  # the article is finished for the lane
    # Put in the queue again by an organiser: no longer charged to the team.
    sa.Column("forgiven", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Index("ix_attempts_lane_serial", "phase_id", "server_id", "serial", unique=True),
)

raw_answers = sa.Table(
    "raw_answers",
    metadata,
    *_lane_key(),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("body", sa.LargeBinary, nullable=False),  # zstd of the bytes as received
)

answers = sa.Table(
    "answers",
    metadata,
    *_lane_key(),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("number", sa.Integer, nullable=False),  # of the attempt that brought it
    sa.Column("payloads", sa.LargeBinary, nullable=False),  # zstd of JSON: {task: payload}
    sa.Column("hits_kept", sa.Integer, nullable=False),
    sa.Column("hits_dropped", sa.Integer, nullable=False),
    sa.Column("asides", sa.LargeBinary),  # zstd of JSON: `lanes.Asides`; none: it has none
)

checkpoints = sa.Table(
    "checkpoints",
    metadata,
    *_lane_key(),
    sa.Column("serial", Large, nullable=False),  # the last one of the log that it covers
    sa.Column("revision", Large, nullable=False),  # of the lane when it was made
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),  # zstd of msgpack: `phases.checkpoints`
)

state_changes = sa.Table(
    "state_changes",
    metadata,
    sa.Column("id", Large, primary_key=True),
    sa.Column("phase_id", sa.Integer, nullable=False),
    sa.Column("server_id", sa.Integer, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),  # `states.ServerState`
    sa.Column("note", sa.String, nullable=False),
    sa.ForeignKeyConstraint(["phase_id", "server_id"], ["lanes.phase_id", "lanes.server_id"]),
    sa.Index("ix_state_changes_lane_at", "phase_id", "server_id", "at"),
)

offline_runs = sa.Table(
    "offline_runs",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("phase_id", sa.ForeignKey("phases.id"), nullable=False),
    sa.Column("team_id", sa.ForeignKey("teams.id"), nullable=False),
    sa.Column("task", sa.String, nullable=False),
    sa.Column("name", sa.String, nullable=False),  # the run's name on the boards
    sa.Column("own_name", sa.String, nullable=False),  # that its team uses for it, in this task
    sa.Column("content", sa.LargeBinary, nullable=False),  # zstd of the file as uploaded
    sa.Column("payloads", sa.LargeBinary, nullable=False),  # zstd of JSON: {article id: payload}
    sa.Column("asides", sa.LargeBinary),  # zstd of JSON: {article id: [[evidence, taxon], ...]}
    sa.Column("problems", sa.LargeBinary),  # JSON: [[place, message], ...]
    sa.Column("created_at", sa.Double, nullable=False),
    sa.UniqueConstraint("phase_id", "name"),
    sa.UniqueConstraint("phase_id", "team_id", "task", "own_name"),
)

uploads = sa.Table(
    "uploads",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("phase_id", sa.ForeignKey("phases.id"), nullable=False),
    sa.Column("team_id", sa.ForeignKey("teams.id"), nullable=False),
    sa.Column("task", sa.String, nullable=False),
    sa.Column("run", sa.String, nullable=False),  # that it became; deleted or replaced since
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("articles", sa.Integer, nullable=False),  # with an answer
    # Fewest articles that it answers differently than an earlier one of the team with digests.
    sa.Column("changed", sa.Integer),
    sa.Column("score", sa.Double),  # by the task's first measure, for organisers
    sa.Column("digests", sa.LargeBinary),  # zstd of JSON: {article id: digest}; none if like those
    sa.Index("ix_uploads_phase_team_task", "phase_id", "team_id", "task"),
)

methods = sa.Table(
    "methods",
    metadata,
    sa.Column("phase_id", sa.ForeignKey("phases.id"), primary_key=True),
    sa.Column("run", sa.String, primary_key=True),  # a server's name, or that of an uploaded run
    sa.Column("description", sa.LargeBinary, nullable=False),  # JSON: `methods.MethodDescription`
)

frozen_boards = sa.Table(
    "frozen_boards",
    metadata,
    sa.Column("id", sa.String(32), primary_key=True),  # of its permanent link
    sa.Column("phase_id", sa.ForeignKey("phases.id"), nullable=False),
    sa.Column("task", sa.String, nullable=False),
    sa.Column("gold_version", sa.Integer, nullable=False),
    sa.Column("reason", sa.String, nullable=False),  # "frozen", "gold version 2 replaced 1", ...
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("document", sa.LargeBinary, nullable=False),  # zstd of JSON
    # A digest of the answers, runs and ranking it was made from: `boards.basis_of`.
    sa.Column("basis", sa.String, nullable=False, server_default=""),
)

notices = sa.Table(
    "notices",
    metadata,
    sa.Column("id", Large, primary_key=True),
    sa.Column("team_id", sa.ForeignKey("teams.id"), nullable=False),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("subject", sa.String, nullable=False),  # the server
    sa.Column("event", sa.String(16), nullable=False),  # "down", "up", "finished"
    sa.Column("message", sa.String, nullable=False),
    sa.Column("sent_at", sa.Double),
    sa.Column("failures", sa.Integer, nullable=False),
)

consensus_models = sa.Table(
    "consensus_models",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("task", sa.String, nullable=False),
    sa.Column("method", sa.String, nullable=False),
    sa.Column("made_at", sa.Double, nullable=False),
    sa.Column("made_by", sa.String, nullable=False),
    sa.Column("active", sa.Boolean, nullable=False),  # one of each task at most
    sa.Column("golds", sa.LargeBinary, nullable=False),  # JSON of `consensus.ModelGold`
    sa.Column("members", sa.LargeBinary, nullable=False),  # JSON of `consensus.ModelMember`
    sa.Column("report", sa.LargeBinary, nullable=False),  # zstd of JSON: `TrainingReport`
    sa.Column("content", sa.LargeBinary, nullable=False),  # zstd of the model file
)

requests = sa.Table(
    "requests",
    metadata,
    sa.Column("id", sa.String(16), primary_key=True),
    sa.Column("token_id", sa.ForeignKey("tokens.id"), nullable=False),
    sa.Column("caller", sa.String, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("deadline_at", sa.Double),  # none: no server was asked yet
    sa.Column("state", sa.String(16), nullable=False),  # `requests.RequestState`
    sa.Column("message", sa.String, nullable=False),
    sa.Column("version", Large, nullable=False),  # grows with each change
    sa.Column("article", sa.String, nullable=False),  # its id; empty: a text without one
    sa.Column("title", sa.String, nullable=False),
    sa.Column("length", sa.Integer, nullable=False),  # of the text, in characters
    sa.Column("text", sa.LargeBinary),  # zstd; none: forgotten
    sa.Column("options", sa.LargeBinary, nullable=False),  # JSON: `requests.RequestOptions`
    sa.Column("uploaded", sa.LargeBinary),  # zstd of JSON: `uploaded.StoredVoice`; none: no voice
    sa.Column("servers", sa.LargeBinary),  # JSON of `requests.AskedServer` when it ended
    sa.Column("release", sa.String, nullable=False),  # that answers are checked by
    sa.Column("expires_at", sa.Double, nullable=False, index=True),
    sa.Index("ix_requests_token_at", "token_id", "at"),
)

request_answers = sa.Table(
    "request_answers",
    metadata,
    sa.Column("request_id", sa.ForeignKey("requests.id"), primary_key=True),
    sa.Column("server_id", sa.ForeignKey("servers.id"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),  # of the attempt
    sa.Column("started_at", sa.Double, nullable=False),
    sa.Column("ended_at", sa.Double, nullable=False),
    sa.Column("outcome", sa.String(16), nullable=False),
    sa.Column("message", sa.String, nullable=False),
    sa.Column("hits", sa.Integer, nullable=False),
    sa.Column("payloads", sa.LargeBinary),  # zstd of JSON: {task: payload}, its first hits
    sa.Column("asides", sa.LargeBinary),  # zstd of JSON: `lanes.Asides`
    sa.Column("raw", sa.LargeBinary),  # zstd of the bytes as received, of short answers
    sa.Column("version", Large, nullable=False),  # of the request with which it came
    sa.Column("late", sa.Boolean, nullable=False),
)

communications = sa.Table(
    "communications",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),  # random, 31 bits
    sa.Column("server_id", sa.ForeignKey("servers.id"), nullable=False),
    sa.Column("scope", sa.String(40), nullable=False),  # `communications.Exchanged`
    sa.Column("article", sa.String, nullable=False),
    sa.Column("number", sa.Integer, nullable=False),  # of the attempt
    sa.Column("opened_at", sa.Double, nullable=False),
    sa.Column("expires_at", sa.Double, nullable=False, index=True),
    sa.Column("acknowledged_at", sa.Double),  # none: the server may not have the request
    sa.Column("answered_at", sa.Double),  # none: no callback was accepted yet
    sa.Column("closed_at", sa.Double),  # none: the hub waits, or it was answered
    sa.Column("format", sa.String(8)),  # of the callback
    sa.Column("body", sa.LargeBinary),  # zstd of it, until its attempt is stored
    sa.Column("document", sa.LargeBinary),  # zstd of what its server fetches, while it is open
    sa.Index("ix_communications_server_article", "server_id", "scope", "article"),
)

curations = sa.Table(
    "curations",
    metadata,
    sa.Column("id", sa.String(16), primary_key=True),
    sa.Column("token_id", sa.ForeignKey("tokens.id"), nullable=False),
    sa.Column("curator", sa.String, nullable=False),
    sa.Column("request", sa.String(16)),  # the id of its request, which is deleted before it
    sa.Column("state", sa.String(16), nullable=False),  # `curations.CurationStanding`
    sa.Column("article", sa.String, nullable=False),  # its id; empty: a text without one
    sa.Column("title", sa.String, nullable=False),
    sa.Column("length", sa.Integer, nullable=False),  # of the text, in characters
    sa.Column("text", sa.LargeBinary, nullable=False),  # zstd
    sa.Column("basis", sa.LargeBinary, nullable=False),  # zstd of JSON: `basis.CurationBasis`
    sa.Column("additions", sa.LargeBinary),  # JSON: `basis.Additions`
    sa.Column("events", sa.Integer, nullable=False),  # their number
    sa.Column("accepted", sa.Integer, nullable=False),  # items, after all events
    sa.Column("rejected", sa.Integer, nullable=False),  # items
    sa.Column("undecided", sa.Integer, nullable=False),  # candidates
    sa.Column("bytes", Large, nullable=False),  # of all events
    sa.Column("active_ms", Large, nullable=False),  # that the curator was at work
    sa.Column("opened_at", sa.Double, nullable=False),
    sa.Column("changed_at", sa.Double, nullable=False),
    sa.Column("submitted_at", sa.Double),  # last; none: never
    sa.UniqueConstraint("token_id", "request"),
    sa.Index("ix_curations_token_changed", "token_id", "changed_at"),
)

curation_events = sa.Table(
    "curation_events",
    metadata,
    sa.Column("curation_id", sa.ForeignKey("curations.id"), primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),  # from 0, without gaps
    sa.Column("key", sa.String(64), nullable=False),  # that its page made
    sa.Column("at", sa.Double, nullable=False),  # when it was received
    sa.Column("event", sa.LargeBinary, nullable=False),  # JSON: `decisions.CurationEvent`
    sa.UniqueConstraint("curation_id", "key"),
)

curation_sets = sa.Table(
    "curation_sets",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String, nullable=False, unique=True),
    sa.Column("title", sa.String, nullable=False),
    sa.Column("phase_id", sa.ForeignKey("phases.id"), nullable=False),  # whose gold it makes
    sa.Column("plan", sa.LargeBinary, nullable=False),  # JSON: `curations.SetPlan`
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("closed_at", sa.Double),
)

curation_seats = sa.Table(
    "curation_seats",
    metadata,
    sa.Column("set_id", sa.ForeignKey("curation_sets.id"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),  # of the article, in the phase's corpus
    sa.Column("token_id", sa.ForeignKey("tokens.id"), primary_key=True),  # its curator's
    sa.Column("seat", sa.Integer, nullable=False),  # from 1; the first two make the gold
    sa.Column("place", sa.Integer, nullable=False),  # from 0, in the curator's order
    sa.Column("curation_id", sa.ForeignKey("curations.id"), unique=True),  # none: not opened yet
    sa.Index("ix_curation_seats_token_id", "token_id"),
)

curation_rulings = sa.Table(
    "curation_rulings",
    metadata,
    sa.Column("set_id", sa.ForeignKey("curation_sets.id"), primary_key=True),
    sa.Column("task", sa.String, primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("item", sa.String, primary_key=True),  # accessions, with a blank between two
    sa.Column("choice", sa.String, nullable=False),  # and its outcome, with a blank between
    sa.Column("adjudicator", sa.String, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
)
