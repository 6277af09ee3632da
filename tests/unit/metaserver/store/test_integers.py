"""Integers of the store: 64 bits for all that could come to more than 32."""

import sqlalchemy as sa
from msgspec.structs import replace

from metaserver.base.lanes import LaneKey
from metaserver.store import audit
from metaserver.store.store import Store
from metaserver.store.tables import attempts, lanes, metadata
from metaserver.store.tables import audit as audit_table
from tests.unit.metaserver.store.test_writer import record, taken

MANY = 2**33
BOUNDED = {
    "what people register, or ask for one by one": {
        "corpora.id", "challenges.id", "announcements.id", "phases.id", "teams.id", "sign_ups.id",
        "persons.id", "person_links.id",
        "tokens.id", "channels.id", "servers.id", "trials.id", "offline_runs.id", "uploads.id",
        "consensus_models.id", "curation_sets.id", "corpus_versions.version", "gold.version",
        "frozen_boards.gold_version", "servers.concurrency", "lanes.allowance",
    },
    "keys of such rows": {
        f"{table}.{column}"
        for table in ("attempts", "raw_answers", "answers", "checkpoints", "state_changes")
        for column in ("phase_id", "server_id")
    },
    "places and numbers of articles, which a corpus has in memory": {
        "corpora.articles", "articles.position", "lanes.cursor", "attempts.position",
        "raw_answers.position", "answers.position", "uploads.articles", "uploads.changed",
        "curation_seats.position", "curation_seats.place", "curation_seats.seat",
        "curation_rulings.position",
    },
    "attempts of one article, or to send one mail": {
        "attempts.number", "raw_answers.number", "answers.number", "request_answers.number",
        "communications.number", "sign_ups.failures", "one_time_links.tries", "channels.failures",
        "notices.failures", "person_links.tries", "person_links.failures",
    },
    "counts within one answer, one text or one curation": {
        "attempts.problem_count", "answers.hits_kept", "answers.hits_dropped",
        "request_answers.hits", "requests.length", "curations.length", "curations.events",
        "curations.accepted", "curations.rejected", "curations.undecided",
        "curation_events.seq", "kept_parts.part",
    },
    "what one process has at a time": {"workers.capacity", "workers.lanes", "lanes.in_flight"},
    "one row, and random numbers of 31 bits": {"leader.id", "communications.id"},
}  # fmt: skip
"""The columns of 32 bits, by the reason why none of them comes to more."""


def test_what_could_come_to_more_has_64_bits() -> None:
    short = {
        str(column)
        for table in metadata.sorted_tables
        for column in table.columns
        if isinstance(column.type, sa.Integer)
        and not isinstance(column.type, sa.BigInteger)
        and not column.foreign_keys
    }
    named = set().union(*BOUNDED.values())
    assert short - named == set()
    assert named - short - {name for name in named if name.endswith("_id")} == set()


async def test_great_numbers_of_attempts_are_stored(store: Store) -> None:
    key = await taken(store, "test", "peer")
    async with store.writing() as connection:
        await connection.execute(sa.update(lanes).values(epoch=MANY, serial=MANY))
    entry = record(key, 0, epoch=MANY)
    attempt = replace(entry.attempt, bytes_in=MANY, bytes_out=MANY + 1)
    await store.record(replace(entry, attempt=attempt))
    async with store.reading() as connection:
        row = (await connection.execute(sa.select(attempts))).one()
        standing = (await connection.execute(sa.select(lanes))).one()
    assert (row.serial, row.epoch, row.bytes_in, row.bytes_out) == (MANY + 1, MANY, MANY, MANY + 1)
    assert (standing.serial, LaneKey(row.phase_id, row.server_id)) == (MANY + 1, key)


async def test_logs_go_on_beyond_32_bits(store: Store) -> None:
    async with store.writing() as connection:
        await audit.add(connection, actor="ana", action="first", subject="")
        await connection.execute(sa.update(audit_table).values(id=MANY))
        if connection.dialect.name == "postgresql":
            await connection.execute(sa.text(f"SELECT setval('audit_id_seq', {MANY})"))
        await audit.add(connection, actor="ana", action="second", subject="")
    async with store.reading() as connection:
        assert await audit.last(connection) == MANY + 1
        [before] = await audit.entries(connection, before=MANY + 1)
    assert before.id == MANY
