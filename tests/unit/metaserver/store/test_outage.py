"""One line per outage of the store; a fault keeps its traceback."""

import logging

import asyncpg
import pytest

from metaserver.base.errors import UnavailableError
from metaserver.store.outage import PATIENT, Outage
from metaserver.store.postgres import LIBRARIES, drop_reports_of_outages

AWAY = UnavailableError("no route to host")
log = logging.getLogger(__name__)


class Store:
    blocked: str | None = None


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def outage(store: Store) -> Outage:
    return Outage(log, lambda: store.blocked, "it fails", "it goes on")


def test_nothing_is_added_to_what_the_writer_says(store, outage, caplog):
    outage.failed(AWAY)  # the writer has not noticed
    store.blocked = "no route to host"
    for _ in range(3 * PATIENT):
        outage.failed(AWAY)
    store.blocked = None  # it has noticed first that it is over
    outage.failed(AWAY)
    outage.ended()
    assert not caplog.records


def test_what_fails_though_the_store_is_there_is_said_once(outage, caplog):
    for _ in range(3 * PATIENT):
        outage.failed(AWAY)
    outage.ended()
    outage.ended()
    assert caplog.messages == ["it fails: no route to host", "it goes on"]


def test_a_fault_has_its_traceback_also_while_the_store_is_away(store, outage, caplog):
    store.blocked = "no route to host"
    outage.failed(AWAY)
    for _ in range(3):
        outage.failed(ValueError("a fault"))
    [record] = caplog.records
    assert record.exc_info is not None
    assert str(record.exc_info[1]) == "a fault"


def test_libraries_do_not_report_outages_with_tracebacks(caplog):
    drop_reports_of_outages()
    for name in LIBRARIES:
        library = logging.getLogger(name)
        for error in (asyncpg.InterfaceError("connection is closed"), AWAY, OSError("away")):
            library.error("a task failed", exc_info=error)
        library.error("a task failed", exc_info=asyncpg.InterfaceError("in progress"))
        library.warning("Shutdown flush failed, %d items remaining", 1)
        library.error("something else")
    assert caplog.messages == ["a task failed", "something else"] * len(LIBRARIES)
