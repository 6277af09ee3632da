"""Versions of servers: what was reported and is not stored yet."""

from metaserver.base.records import ServerName
from metaserver.exchange.http.client import ReportedVersions

A, B = ServerName("a"), ServerName("b")


def test_what_is_reported_while_it_is_stored_is_stored_next() -> None:
    versions = ReportedVersions()
    versions.report(A, "1")
    versions.report(B, "")
    taken = versions.changed()
    assert taken == {A: "1"}
    versions.report(A, "2")
    versions.stored(taken)
    assert versions.changed() == {A: "2"}
    versions.stored({A: "2"})
    versions.report(A, "2")
    assert versions.changed() == {}
