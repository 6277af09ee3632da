"""A command that begins a background job follows it to its end."""

import argparse
import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from aiohttp.test_utils import TestClient

from metaserver.base.errors import InputError, Refusal, RefusedError
from metaserver.cli.remote import commands
from metaserver.operations.caller import Caller
from metaserver.operations.jobs import JobDetail
from metaserver.operations.reference import outlines, to_markdown
from metaserver.operations.table import Operation, operation
from tests.unit.metaserver.web import small
from tests.unit.metaserver.web.small import OneBox, small_site


class Weighed(msgspec.Struct, frozen=True, kw_only=True):
    """What a box weighs."""

    box: str
    weight: float


class Asked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A job."""

    job: str
    wait: float = 0.0


@dataclass
class Scale:
    """The jobs of weighing; each is asked for a few times until it ends."""

    end: str = "done"
    asked: int = 0
    waits: list[float] = field(default_factory=list)

    def job(self) -> JobDetail:
        over = self.asked >= 3
        report = {"box": "a", "weight": 2.5} if over and self.end == "done" else None
        return JobDetail(
            job="0123456789abcdef", kind="boxes.weigh", subject="a", asked_by="team blue",
            state=self.end if over else "running",  # type: ignore[arg-type]
            step="weighing", done=self.asked, total=3, began_at=1.0, ended_at=None,
            error="the scale broke" if over and self.end == "failed" else "", report=report,
        )  # fmt: skip


TABLE: dict[str, Operation] = {}
SCALE = Scale()


@operation("Boxes.weigh", "POST /boxes/{box}/weigh", None, report=Weighed, table=TABLE)
async def weigh(service: Any, caller: Caller, given: OneBox) -> JobDetail:
    """Begin to weigh a box."""
    return SCALE.job()


@operation("Jobs.get", "GET /jobs/{job}", None, table=TABLE)
async def get(service: Any, caller: Caller, given: Asked) -> JobDetail:
    """Return a job."""
    SCALE.asked += 1
    SCALE.waits.append(given.wait)
    if SCALE.end == "gone":
        raise RefusedError(Refusal.UNKNOWN, "there is no such job", field="job")
    return SCALE.job()


@pytest.fixture
async def site(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[TestClient[Any, Any]]:
    monkeypatch.setattr(small, "SMALL", TABLE)
    monkeypatch.setitem(SCALE.__dict__, "asked", 0)
    monkeypatch.setitem(SCALE.__dict__, "waits", [])
    async with small_site() as client:
        monkeypatch.setenv("METASERVER_URL", str(client.make_url("/")))
        monkeypatch.setenv("METASERVER_TOKEN", "blue")
        yield client


async def ask(*words: str) -> int:
    parser = argparse.ArgumentParser(prog="metaserver")
    commands.add_nouns(parser.add_subparsers(), outlines(TABLE))
    args = parser.parse_args(words)
    return await asyncio.to_thread(args.run, args)


@pytest.mark.parametrize(
    ("options", "printed"), [([], "box     a\nweight  2.5\n"), (["--only", "weight"], "2.5\n")]
)
async def test_it_shows_the_report(site, capsys, options, printed):
    assert await ask("boxes", "weigh", "a", *options) == 0
    told = capsys.readouterr()
    assert (told.out, told.err) == (printed, "")
    assert SCALE.waits == [10.0] * 3  # the hub holds the answer back: it is not asked in a circle


async def test_it_shows_the_job_where_it_is_not_to_wait(site, capsys):
    assert await ask("boxes", "weigh", "a", "--no-wait", "--json") == 0
    assert json.loads(capsys.readouterr().out)["state"] == "running"
    assert SCALE.asked == 0
    with pytest.raises(InputError, match="'weight' is no field"):
        await ask("boxes", "weigh", "a", "--no-wait", "--only", "weight")


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("failed", "metaserver: the scale broke"),
        ("cancelled", "metaserver: the job was cancelled"),
        ("gone", "metaserver: job: there is no such job (404)"),
    ],
)
async def test_it_says_why_there_is_no_report(site, capsys, monkeypatch, end, told):
    monkeypatch.setitem(SCALE.__dict__, "end", end)
    assert await ask("boxes", "weigh", "a") == 1
    assert capsys.readouterr().err.splitlines()[0] == told


async def test_a_hub_that_goes_away_is_told_with_the_job(site, capsys, monkeypatch):
    from metaserver.cli.remote.client import RemoteHub, followed

    job = {"job": "0123456789abcdef", "state": "running", "step": "", "done": 0, "total": 0}
    with pytest.raises(InputError, match="no hub answers"):
        await asyncio.to_thread(followed, RemoteHub(url="http://127.0.0.1:1"), job)
    assert "metaserver jobs get 0123456789abcdef" in capsys.readouterr().err


def test_the_reference_tells_of_the_report() -> None:
    text = to_markdown(TABLE)
    assert "metaserver boxes weigh BOX [--no-wait]" in text
    assert "The job's report is [Weighed](#weighed)." in text
    assert "Fields: `box` (text), `weight` (number)." in text
