"""Dates in time zones: skipped and repeated hours, far years, unknown zones."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from metaserver.base.plans import PhasePlan
from metaserver.base.zones import in_zone, known_zone, read_moment, readings, shown_name


@pytest.mark.parametrize(
    ("text", "zone", "message"),
    [
        ("2026-03-29T02:30", "Europe/Madrid", "2026-03-29 02:30 does not exist in Europe/Madrid"),
        ("2026-03-29T02:00", "Europe/Madrid", "29T01:00\\+01:00 or 2026-03-29T03:00\\+02:00"),
        ("2026-03-08T02:59", "America/New_York", "08T01:59-05:00 or 2026-03-08T03:59-04:00"),
        ("2026-10-04T02:15", "Australia/Lord_Howe", "T01:45\\+10:30 or 2026-10-04T02:45\\+11:00"),
        ("2026-04-24", "Africa/Cairo", "2026-04-24 00:00 does not exist"),  # midnight itself
        ("2011-12-30T12:00", "Pacific/Apia", "2011-12-30 12:00 does not exist"),  # a whole day
        *((text, "UTC", "is not a date such as")
          for text in ("tomorrow", "", "2026-13-01", "2026-02-30", "٢٠٢٦-01-01", "\ud800")),
        *((text, zone, "is not from 1970 to 2999")
          for zone in ("UTC", "Pacific/Kiritimati", "Etc/GMT+12")
          for text in ("0001-01-01", "0001-01-01T00:00+14:00", "9999-12-31T23:59",
                       "9999-12-31T23:59-23:59", "1969-12-31T23:59Z", "3000-01-01T00:00Z")),
    ],
)  # fmt: skip
def test_a_time_that_does_not_exist_or_is_far_away_is_refused(text, zone, message):
    with pytest.raises(ValueError, match=message):
        read_moment(text, zone)


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("2026-07-01T09:00", "Europe/Madrid"),
        ("2026-10-25T02:30+01:00", "Europe/Madrid"),
        ("2026-10-25T02:30", "Mars/North"),
        ("soon", "Europe/Madrid"),
    ],
    ids=["plain", "offset", "unknown zone", "no date"],
)
def test_what_has_one_meaning_has_no_readings(text: str, zone: str) -> None:
    assert readings(text, zone) == ()


@pytest.mark.parametrize("local", ["2026-03-29T01:59:59", "2026-03-29T03:00"])
def test_the_edges_of_the_skipped_hour_exist(local: str) -> None:
    moment = read_moment(local, "Europe/Madrid")
    assert moment.astimezone(UTC).replace(microsecond=0) in {
        datetime(2026, 3, 29, 0, 59, 59, tzinfo=UTC),
        datetime(2026, 3, 29, 1, 0, tzinfo=UTC),
    }


def test_a_repeated_local_time_is_refused_and_its_moments_are_shown_with_offsets() -> None:
    told = "comes twice in Europe/Madrid.*2026-10-25T02:30\\+02:00 or 2026-10-25T02:30\\+01:00"
    with pytest.raises(ValueError, match=told):
        read_moment("2026-10-25T02:30", "Europe/Madrid")
    first, last = readings("2026-10-25T02:30", "Europe/Madrid")
    assert last == read_moment("2026-10-25T02:30+01:00", "UTC").astimezone(last.tzinfo)
    assert first.astimezone(UTC) == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    second = read_moment("2026-10-25T02:30+01:00", "Europe/Madrid")
    assert second - first.astimezone(UTC) == timedelta(hours=1)
    assert in_zone(first, "Europe/Madrid") == "2026-10-25 02:30 Europe/Madrid, UTC+02:00"
    assert in_zone(second, "Europe/Madrid") == "2026-10-25 02:30 Europe/Madrid, UTC+01:00"
    assert in_zone(second + timedelta(hours=1), "Europe/Madrid") == "2026-10-25 03:30 Europe/Madrid"


@pytest.mark.parametrize(
    "text", ["1970-01-01T00:00+23:59", "2999-12-31T23:59-23:59", "1970-01-01", "2999-12-31T23:59"]
)
@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Etc/GMT+12", "Europe/Madrid"])
def test_every_date_that_is_read_can_be_planned_and_shown(text: str, zone: str) -> None:
    plan = PhasePlan(opens=read_moment(text, zone))
    kept = msgspec.json.decode(msgspec.json.encode(plan), type=PhasePlan)
    assert kept.opens == plan.opens
    assert plan.opens is not None
    for name in ("UTC", "Pacific/Kiritimati", "Etc/GMT+12", "Mars/Base"):
        assert in_zone(plan.opens, name)


NO_ZONES = [
    "", "Mars/Base", "../../etc/passwd", "/etc/passwd", "Europe", "a\0b", "\ud800", "x" * 99,
]  # fmt: skip


@pytest.mark.parametrize("name", NO_ZONES)
def test_a_zone_that_is_not_known_is_shown_as_utc_and_needs_an_offset(name: str) -> None:
    assert known_zone(name) is None
    assert shown_name(name) == "UTC"
    assert in_zone(datetime(2026, 10, 25, 1, 30, tzinfo=UTC), name) == "2026-10-25 01:30 UTC"
    with pytest.raises(ValueError, match="write an offset, such as 2026-10-25T02:30Z"):
        read_moment("2026-10-25T02:30", name)
    assert read_moment("2026-10-25T02:30+02:00", name).timestamp() == 1_792_888_200


def test_a_machine_without_any_zone_still_has_utc() -> None:
    script = (
        "import sys; sys.modules['tzdata'] = None\n"
        "from metaserver.base.zones import known_zone, in_zone, read_moment\n"
        "assert known_zone('Europe/Madrid') is None\n"
        "print(in_zone(read_moment('2026-10-25T02:30', 'UTC'), 'Europe/Madrid'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=os.environ | {"PYTHONTZPATH": ""}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.stdout == "2026-10-25 02:30 UTC\n", done.stderr
