"""The organiser console's pages and forms, as a browser without scripts uses them."""

import asyncio
import html
import math
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from metaserver.base.plans import ArticlePolicy, Ranking
from metaserver.operations.gold import NewGold
from metaserver.web.organise import OrganiserPages
from metaserver.web.organise.gold import MOST_DRAFTS, Drafts
from tests.event_streams import next_frame
from tests.hubs.command import DEMO
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.hubs.sites import Page, Visitor, signed_in, visiting
from tests.integration.kits import asked_server
from tests.unit.metaserver.tasks.offline_samples import zipped
from tests.waiting import patience

MARKUP = '<img src=x onerror="alert(1)">'
GOLD = (DEMO / "gold_act.tsv").read_bytes()
PHASE = "/organise/phases/test"
NEW_PHASE = "/organise/new-phase"


@pytest.fixture
async def empty(tmp_path: Path) -> AsyncIterator[Running]:
    """A hub with nothing in it but a release."""
    async with at_work(await settings(tmp_path)) as running:
        yield running


@pytest.fixture
async def running(empty: Running) -> Running:
    """A hub with a phase that has gold, and a team."""
    await plan_phase(empty, teams=["blue"])
    return empty


@pytest.fixture
async def ana(empty: Running) -> AsyncIterator[Visitor]:
    """A browser of an organiser."""
    async with signed_in(empty) as visitor:
        yield visitor


async def send(ana: Visitor, path: str, name: str, content: bytes, **fields: str) -> Page:
    """Send a form with a file."""
    return await ana.send(path, {"content": (name, content)}, **fields)


async def ended(ana: Visitor, page: Page) -> Page:
    """Look at the page of a job, as a browser without scripts does, until it leads elsewhere."""
    async with patience():
        while page.path.startswith("/organise/jobs/") and "at work" in page.said:
            assert '<meta http-equiv="refresh"' in page.text
            await asyncio.sleep(0.05)
            page = await ana.get(page.path)
    return page


def links(page: Page) -> set[str]:
    """Return where a page leads."""
    return {html.unescape(found) for found in re.findall(r'href="(/[^"]*)"', page.text)}


# -- who may look ----------------------------------------------------------------------------------


def addresses(running: Running) -> list[tuple[str, str]]:
    """Return every address of the console, filled in with names that are there."""
    names = {
        "phase": "test", "challenge": "bc", "corpus": "demo", "task": "ACT", "team": "blue",
        "server": "blue-1", "run": "run-1", "version": "1", "id": "1",
        "channel": "1", "model": "1",
        "job": next((job.id for job in running.service.jobs.own.list_all()), "0" * 16),
    }  # fmt: skip
    found = []
    desk: Any = SimpleNamespace(hub=running.service, require_own=None)
    for route in OrganiserPages(console=desk).routes():
        path = re.sub(r"{(advance|act):([a-z]+)[^}]*}", r"\2", route.path)
        path = re.sub(r"{(\w+)(:[^}]*)?}", lambda match: names[match[1]], path)
        found.append((route.method, path))
    return found


async def test_what_comes_from_elsewhere_is_refused(running: Running, ana: Visitor) -> None:
    ana.csrf = "another"
    for method, path in addresses(running):
        if method == "POST":
            page = await ana.post(path)
            assert page.status == 403, path
            assert "belongs to another session" in page.said


async def test_every_page_can_be_opened(running: Running, ana: Visitor) -> None:
    await running.do("servers.register", server="blue-1", url="http://127.0.0.1:9/", team="blue")
    await running.do("gold.preview", phase="test", task="ACT", content=GOLD, source="x.tsv")
    absent = ("suspend", "requeue", "run-1", "archive", "events", "results/package")
    for method, path in addresses(running):
        if method == "GET" and not any(word in path for word in absent):
            page = await ana.get(path)
            assert page.status == 200, path
            assert page.headers["Cache-Control"] == "private, no-store"


# -- from nothing to a phase -----------------------------------------------------------------------


async def test_an_empty_hub_leads_to_its_first_phase(empty: Running, ana: Visitor) -> None:
    """The browser's journey goes on from here to published scores."""
    page = await ana.get("/organise")
    assert "From an empty hub to the first article" in page.said
    assert '<a class="button first" href="/organise/new-challenge">' in page.text
    assert (
        "A phase belongs to a challenge, and this hub has none"
        in (await ana.get("/organise/new-phase")).said
    )
    made = {"challenge": "bc", "title": MARKUP, "timezone": "Europe/Madrid"}
    page = await ana.post("/organise/new-challenge", made)
    assert (page.status, page.path) == (200, "/organise")
    assert MARKUP in page.said
    assert "<img" not in page.text
    assert '<a class="button first" href="/organise/corpora">' in page.text
    texts = zipped({"a.txt": "One.", "b.txt": "Two."})
    await send(ana, "/organise/corpora", "a.zip", texts, corpus="small")
    page = await planned_in_steps(ana)
    assert list(empty.service.phases.scheduler.phases) == []
    page = await ana.post(NEW_PHASE, page.unseen)
    assert (page.status, page.path) == (200, PHASE)
    assert "2027-07-01 09:00 Europe/Madrid" in page.said
    assert 'datetime="2027-07-01T07:00:00Z"' in page.text
    phase = empty.service.phase("test").phase.plan
    limits = phase.limits
    assert (limits.servers, limits.timeout, phase.freezes, phase.tasks) == (3, None, None, ("ACT",))
    ranking = Ranking(min_coverage=0.5, articles=ArticlePolicy.ANSWERED, measure="mcc")
    assert phase.ranking == ranking
    page = await ana.get(f"{PHASE}/edit")
    assert 'value="0.5"' in page.text
    assert '<option value="mcc" selected>' in page.text
    page = await ana.post(f"{PHASE}/edit", {"ranking.measure": "f_score", "tasks": "ACT"})
    assert page.wrong == (422, {"ranking.measure"})  # no measure of ACT
    page = await ended(ana, await send(ana, f"{PHASE}/gold/ACT", "gold.tsv", b"a\t1\nb\t0\n"))
    assert "its first gold" in page.said
    assert await empty.do("gold.list", phase="test") == []
    await ended(ana, await ana.post(f"{PHASE}/gold/ACT/set", draft=key_of(page)))
    page = await ana.post("/organise/teams", team="blue", title="Blue", email="")
    assert page.path == "/organise/teams/blue"
    assert "Nobody can sign in for this team" in page.said
    await ana.post("/organise/teams/blue/tokens", label="first", days="")
    page = await ana.get("/organise")
    assert "From an empty hub" not in page.said
    assert "Nothing now." in page.said


async def planned_in_steps(ana: Visitor) -> Page:
    """Plan the phase `test` up to its launch check, once back on the way."""
    page = await ana.get(f"{NEW_PHASE}?challenge=bc")
    named = {"phase": "test", "title": "Test phase", "kind": "test", "tasks": "ACT"}
    page = await ana.post(NEW_PHASE, page.unseen | named)
    assert not re.search(r"<option [^>]*selected>small", page.text)  # no corpus unasked
    data = {"corpus": "small@1", "release": "test", "limits.timeout": "", "limits.servers": "3"}
    page = await ana.post(NEW_PHASE, page.unseen | data)
    dated = {
        "opens": "2027-07-01T09:00", "freezes": "", "visibility": "own",
        "ranking.min_coverage": "0.5", "ranking.articles": "answered", "ranking.measure": "mcc",
    }  # fmt: skip
    page = await ana.post(NEW_PHASE, page.unseen | dated, to="2")
    assert '<option value="small@1" selected>' in page.text
    page = await ana.post(NEW_PHASE, page.unseen | data)
    assert 'value="2027-07-01T09:00"' in page.text
    twice = "2030-10-27T02:30"
    reading = {"opens": twice, "opens-reading": f"{twice}|{twice}:00+01:00"}
    checked = await ana.post(NEW_PHASE, page.unseen | dated | reading)
    assert "Opens, Europe/Madrid time 2030-10-27 02:30:00+01:00" in checked.said
    page = await ana.post(NEW_PHASE, page.unseen | dated)
    assert "There is no team yet. No baseline takes part" in page.said
    assert "It has no date on which it freezes" in page.said
    assert "Corpus small, version 1 (articles: 2)" in page.said
    assert "Least coverage 0.5" in page.said
    assert set(re.findall(r'name="gold-(\S+)"', page.text)) == {"ACT"}
    [first] = [path for path in links(page) if "step=1" in path]
    assert 'value="Test phase"' in (await ana.get(first)).text
    return page


PLANNED = {
    "challenge": "bc", "phase": "late", "corpus": "demo@1", "release": "test", "step": "4",
}  # fmt: skip
WRONG: list[tuple[str, dict[str, str], str]] = [
    ("new-challenge", {"challenge": "x", "timezone": "Mars/North"}, "timezone"),
    ("new-challenge", {"challenge": "bc", "timezone": "UTC"}, "challenge"),
    ("new-phase", PLANNED | {"opens": "2027-02-01T00:00", "freezes": "2027-01-01T00:00"},
     "freezes"),
    ("new-phase", PLANNED | {"corpus": "gone"}, "corpus"),
    ("new-phase", PLANNED | {"limits.servers": "none"}, "limits.servers"),
    ("new-phase", PLANNED | {"phase": "test", "step": "1"}, "phase"),
    ("new-phase", PLANNED | {"phase": "test"}, "phase"),
    ("new-phase", PLANNED | {"corpus": "", "step": "2"}, "corpus"),
    ("new-phase", PLANNED | {"ranking.measure": "none", "step": "3"}, "ranking.measure"),
    ("teams", {"team": "a b"}, "team"),
    ("teams", {"team": "blue"}, "team"),
    ("teams/blue/tokens", {"days": "-1"}, "days"),
]  # fmt: skip
"""Forms with a wrong value, and its field."""


async def test_wrong_values_are_told_at_their_fields(running: Running, ana: Visitor) -> None:
    for path, form, field in WRONG:
        page = await ana.post(f"/organise/{path}", form)
        assert page.status in (404, 409, 422), form
        assert page.wrong[1] == {field}, form
        assert f'aria-describedby="form-{field}-error' in page.text
        assert f'value="{form.get("opens", "")}"' in page.text


async def test_a_phase_of_uploads_is_asked_for_no_articles(
    tmp_path: Path, empty: Running, ana: Visitor
) -> None:
    await empty.do("challenges.set", challenge="bc")
    (tmp_path / "releases" / "test").unlink()
    page = await ana.get(NEW_PHASE)
    assert "As there is no UniProt release" in page.said
    assert 'value="ACT"' not in page.text
    named = {"challenge": "bc", "phase": "bb"}
    page = await ana.post(NEW_PHASE, named, step="1")
    assert page.wrong == (422, {"tasks"})
    page = await ana.post(NEW_PHASE, named, tasks="BB-cat", step="1")
    assert 'name="limits.runs"' in page.text
    assert 'name="corpus' not in page.text
    page = await ana.post(NEW_PHASE, page.unseen, to="1")
    assert 'value="BB-cat" checked' in page.text
    page = await ana.post(NEW_PHASE, named, tasks="BB-cat", step="3")
    assert "No baseline" not in page.said
    assert set(re.findall(r'name="gold-(\S+)"', page.text)) == {"BB-cat"}
    await ana.post(NEW_PHASE, page.unseen)
    assert empty.service.phase("bb").uploads_only


# -- phases ----------------------------------------------------------------------------------------


async def test_a_phase_is_changed_and_dates_left_alone_stay(running: Running, ana: Visitor) -> None:
    await running.do("phases.update", phase="test", opens="2027-10-31T02:30:15+02:00")
    page = await ana.get(f"{PHASE}/edit")
    [opens] = re.findall(r'name="opens"[^>]* value="([^"]*)"', page.text)
    assert opens == "2027-10-31T00:30:15"
    assert '<option value="demo@1" selected>' in page.text
    assert not re.findall(r'name="tasks" value="\w+" checked', page.text)
    sent = {
        "title": "Another", "kind": "training", "corpus": "demo@1", "release": "test",
        "opens": opens, "freezes": "2028-01-01T00:00", "closes": "", "visibility": "public",
        "limits.servers": "5", "limits.runs": "5",
    }  # fmt: skip
    page = await ana.post(f"{PHASE}/edit", sent)
    assert (page.status, page.path) == (200, PHASE)
    plan = running.service.phase("test").phase.plan
    assert plan.opens.isoformat() == "2027-10-31T02:30:15+02:00"
    assert (plan.title, plan.kind, plan.visibility) == ("Another", "training", "public")
    page = await ana.post(f"{PHASE}/edit", sent | {"freezes": "2027-01-01T00:00"})
    assert page.wrong == (422, {"freezes"})


async def test_a_phase_is_led_on_only_after_a_question(running: Running, ana: Visitor) -> None:
    for lead, state in (("open", "test"), ("freeze", "frozen"), ("close", "closed")):
        assert f"{lead.capitalize()} phase test?" in (await ana.get(f"{PHASE}/{lead}")).said
        assert running.service.phase("test").state != state
        page = await ana.post(f"{PHASE}/{lead}")
        assert (page.status, page.path) == (200, PHASE)
        assert f'data-phase="{state}"' in page.text
        assert running.service.phase("test").state == state
    assert "Open again" in page.said
    assert f"{PHASE}/freeze" not in links(page)
    await running.do("phases.update", phase="test", closes="2020-01-01T00:00")
    page = await ana.post(f"{PHASE}/open")
    assert page.status == 409
    assert "By its dates it is closed: change them first" in page.said


# -- corpora ---------------------------------------------------------------------------------------


async def test_a_corpus_with_faults_is_told_file_by_file(running: Running, ana: Visitor) -> None:
    content = zipped({"good.txt": "Text.", "empty.txt": ""})
    page = await send(ana, "/organise/corpora", "a.zip", content, corpus="mixed")
    assert page.wrong == (422, {"content"})
    assert "empty.txt" in page.said
    assert 'value="mixed"' in page.text
    page = await send(ana, "/organise/corpora", "a.zip", content, corpus="mixed", partial="true")
    assert "Imported mixed, version 1: 1 article." in page.said
    page = await send(ana, "/organise/corpora", "a.zip", content, corpus="mixed", partial="true")
    assert "nothing was imported" in page.said
    page = await send(ana, "/organise/corpora", "", b"", corpus="mixed")
    assert page.wrong == (422, {"content"})
    page = await send(ana, "/organise/corpora", "a.txt", b"Text", corpus="no good")
    assert page.wrong == (422, {"corpus"})


async def test_articles_are_listed_in_pages(running: Running, ana: Visitor) -> None:
    many = zipped({f"a{number:03}.txt": f"Text {number}." for number in range(150)})
    await send(ana, "/organise/corpora", "many.zip", many, corpus="many")
    page = await ana.get("/organise/corpora/many")
    assert page.text.count("<tr>") == 101
    assert "/organise/corpora/many?version=1&start=100" in links(page)
    page = await ana.get("/organise/corpora/many?start=100")
    assert page.text.count("<tr>") == 51
    assert "a149" in page.said
    assert (await ana.get("/organise/corpora/many?start=99999999999999999999")).status == 200
    assert (await ana.get("/organise/corpora/many?version=7")).status == 404
    assert (await ana.get("/organise/corpora/none")).status == 404


async def test_a_large_corpus_is_taken_from_organisers(running: Running, ana: Visitor) -> None:
    text = "".join(f"{number} " for number in range(300_000))
    page = await send(ana, "/organise/corpora", "large.txt", text.encode(), corpus="large")
    assert len(text) > 2**20
    assert "Imported large, version 1: 1 article." in page.said


# -- gold ------------------------------------------------------------------------------------------


async def answered(running: Running) -> None:
    """Have a server of team blue answer the phase."""
    async with asked_server() as asked:
        await running.register(asked.url)
        await running.do("phases.open", phase="test")
        await running.do("servers.start", running.team("blue"), server="blue-1")
        await running.done()


def key_of(page: Page) -> str:
    """Return the draft that a preview would set."""
    [key] = re.findall(r'name="draft" value="([^"]+)"', page.text)
    return str(key)


async def test_gold_is_looked_at_then_set(running: Running, ana: Visitor) -> None:
    await answered(running)
    path = f"{PHASE}/gold/ACT"
    lines = GOLD.splitlines(keepends=True)
    flipped = lines[0].replace(b"\t1", b"\t9").replace(b"\t0", b"\t1").replace(b"\t9", b"\t0")
    changed = b"".join([flipped, *lines[1:], b"stranger\t1\n"])
    page = await ended(ana, await send(ana, path, "gold2.tsv", changed))
    assert page.status == 200
    for told in ("in place of version 1", "1 article in it is not in", "stranger", "blue-1"):
        assert told in page.said
    assert "<del>" in page.text
    assert running.service.phase("test").gold["ACT"].version == 1
    key = key_of(page)
    page = await ended(ana, await ana.post(f"{path}/set", draft=key))
    assert (page.status, page.path) == (200, f"{path}?set=2")
    assert "Version 2 is set: every run of test is scored by it." in page.said
    [kept] = {link for link in links(page) if link.startswith("/b/")}
    assert (await ana.get(kept)).status == 200
    async with ana.client.get(f"{path}/2") as response:
        assert await response.read() == changed
        assert 'filename="gold_test_ACT_v2.tsv"' in response.headers["Content-Disposition"]
    assert (await ana.post(f"{path}/set", draft=key)).status == 409
    page = await ended(ana, await send(ana, path, "same.tsv", changed))
    assert "byte for byte" in page.said
    assert 'name="draft"' not in page.text


async def test_gold_that_was_overtaken_is_looked_at_again(running: Running, ana: Visitor) -> None:
    path = f"{PHASE}/gold/ACT"
    mine = await send(ana, path, "mine.tsv", GOLD.replace(b"\t0", b"\t1", 1))
    key = key_of(await ended(ana, mine))
    other = {"content": GOLD.replace(b"\t1", b"\t0", 1), "source": "other.tsv"}
    await running.do("gold.set", phase="test", task="ACT", **other)
    assert (await ana.post(f"{path}/set", draft=key)).status == 409
    assert running.service.phase("test").gold["ACT"].source == "other.tsv"


async def test_a_job_is_watched_and_cancelled(running: Running, ana: Visitor) -> None:
    path = f"{PHASE}/gold/ACT"
    async with running.service.phase("test").scoring:  # it waits for its turn
        page = await send(ana, path, "gold2.tsv", GOLD.replace(b"\t0", b"\t1", 1))
        assert page.path.startswith("/organise/jobs/")
        assert "at work gold.preview of test ACT, begun by organiser ana" in page.said
        assert "waiting for its turn" in page.said
        key = page.path.rpartition("/")[2]
        assert (await ana.get(f"{path}/previews/{key}")).path == page.path
        events = f"/organise/events?page=jobs&job={key}"
        async with ana.client.get(events) as response:
            assert b"waiting for its turn" in await response.content.readuntil(b"\n\n")
        async with ana.client.get("/organise/events?page=jobs") as response:
            assert b"gold.preview of test ACT" in await response.content.readuntil(b"\n\n")
        assert "gold.preview of test ACT at work" in (await ana.get("/organise/jobs")).said
        page = await ana.post(f"/organise/jobs/{key}/cancel")
        assert "It was cancelled, and changed nothing." in page.said
        page = await ana.post(f"/organise/jobs/{key}/cancel")
        assert (page.status, "Not cancelled: it has ended: cancelled" in page.said) == (409, True)
    [entry] = await running.do("audit.list", subject=key)
    assert (entry.actor, entry.action) == ("organiser ana", "jobs.cancel")
    for unknown in ("0" * 16, "x"):
        assert (await ana.get(f"/organise/jobs/{unknown}")).status in (404, 422)


async def test_a_job_that_fails_says_so_on_its_page(running: Running, ana: Visitor) -> None:
    path = f"{PHASE}/gold/ACT"
    phase = running.service.phase("test")
    key = key_of(await ended(ana, await send(ana, path, "mine.tsv", GOLD + b"stranger\t1\n")))
    async with phase.scoring:
        page = await ana.post(f"{path}/set", draft=key)
        assert "at work" in page.said
        other = {**phase.gold, "ACT": replace(phase.gold["ACT"], version=7)}
        phase.gold = other  # another job was before it
    page = await ended(ana, page)
    assert "It failed, and changed nothing: content: another version was set" in page.said
    phase.gold = {**phase.gold, "ACT": replace(phase.gold["ACT"], version=1)}
    page = await ended(ana, await ana.post(f"{path}/set", draft=key))  # the file is still there
    assert "Version 2 is set" in page.said
    assert (await ana.post(f"{path}/set", draft=key)).status == 409


async def test_gold_that_cannot_be_read_is_told_at_its_field(running, ana):
    for content in (b"no gold at all\n", b"stranger\t1\n"):
        page = await send(ana, f"{PHASE}/gold/ACT", "bad.tsv", content)
        assert page.wrong == (422, {"content"})
    assert (await ana.get(f"{PHASE}/gold/NONE")).status == 404
    assert (await ana.get(f"{PHASE}/gold/ACT/9")).status == 404


def test_drafts_are_few() -> None:
    drafts = Drafts()
    draft = NewGold(phase="test", task="ACT", content=b"", source="x", replaces=0)
    keys = [str(number) for number in range(MOST_DRAFTS + 1)]
    for key in keys:
        drafts.keep(key, draft)
    assert drafts.get(keys[0]) is None
    assert drafts.get(keys[1]) == draft
    drafts.drop(keys[1])
    assert drafts.get(keys[1]) is None


# -- servers ---------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_a_server_is_suspended_and_resumed(running: Running, ana: Visitor) -> None:
    async with asked_server() as asked:
        await running.register(asked.url)
        await running.do("phases.open", phase="test")
        await running.do("servers.next", running.team("blue"), server="blue-1")
        await running.done(1)
        path = "/organise/servers/blue-1"
        assert "blue-1 blue test paused 1/32 Suspend…" in (await ana.get("/organise/servers")).said
        page = await ana.get(f"{path}/suspend?phase=test")
        assert "blue-1 is paused in phase test" in page.said
        page = await ana.post(f"{path}/suspend", phase="test", reason="")
        assert page.wrong == (422, {"reason"})
        page = await ana.post(f"{path}/suspend", phase="test", reason=MARKUP)
        assert page.path.startswith("/organise/servers?")
        assert f"blue-1 is suspended in phase test ({MARKUP})." in page.said
        assert "<img" not in page.text
        page = await ana.get("/organise")
        assert "Servers that are suspended: blue-1" in page.said
        assert "/organise/servers?state=suspended" in links(page)
        await ana.post(f"{path}/resume", phase="test")
        await running.done()
        assert (await ana.post(f"{path}/resume", phase="test")).status == 409


async def test_given_up_articles_are_asked_for_again(running: Running, ana: Visitor) -> None:
    await answered(running)
    path = "/organise/servers/blue-1"
    assert "blue-1 blue test finished 32/32 Attempts" in (await ana.get("/organise/servers")).said
    page = await ana.post(f"{path}/requeue", phase="test", articles="nobody\nknows")
    assert page.wrong == (404, {"articles"})
    assert ">\nnobody\nknows</textarea>" in page.text.replace("\r", "")
    page = await ana.post(f"{path}/requeue", phase="test", articles="")
    assert "0 articles are in its queue again." in page.said
    assert (await ana.post(f"{path}/cancel", phase="gone")).status == 404


async def test_servers_are_filtered_in_the_address(running: Running, ana: Visitor) -> None:
    for name in ("one", "two"):
        await running.do("servers.register", server=name, url="http://127.0.0.1:9/", team="blue")
    page = await ana.get("/organise/servers?find=TWO")
    assert "two blue none yet" in page.said
    assert "one blue" not in page.said
    assert (await ana.get("/organise/servers?state=not%20tested")).text.count('id="lane-') == 2
    page = await ana.get("/organise/servers?state=down&phase=test")
    assert 'id="lane-' not in page.text
    assert "No server matches." in page.said


@pytest.mark.slow
async def test_an_organiser_reads_a_teams_answers(running: Running, ana: Visitor) -> None:
    await answered(running)
    page = await ana.get("/organise/servers")
    assert "/team/servers/blue-1/attempts?phase=test" in links(page)
    page = await ana.get("/team/servers/blue-1/attempts?phase=test")
    [first, *_] = sorted(link for link in links(page) if "/attempts/" in link)
    page = await ana.get(first)
    assert page.status == 200
    assert "normalizations" in page.said


# -- teams and tokens ------------------------------------------------------------------------------


async def test_what_a_revoked_token_made_can_be_revoked_later(running, ana):
    of_hub = {"challenge": ""}  # as the form sends it
    page = await ana.post("/organise/tokens", of_hub, label="bob", role="organiser", days="")
    secret = page.secret
    bob = (await running.do("tokens.list"))[-1].id
    async with visiting(running) as visitor:
        await visitor.sign_in(secret)
        await visitor.post("/organise/teams/blue/tokens", label="of bob", days="")
    await ana.post(f"/organise/tokens/{bob}/revoke")
    page = await ana.get("/organise/tokens")
    assert f'action="/organise/tokens/{bob}/revoke"' in page.text
    assert "Revoke bob and all it made" in page.said
    assert (await running.do("tokens.list"))[-1].revoked_at is None
    await ana.post(f"/organise/tokens/{bob}/revoke", made_with_it="true")
    assert (await running.do("tokens.list"))[-1].revoked_at is not None
    assert "and all it made" not in (await ana.get("/organise/tokens")).said.split("bob")[1]


async def test_tokens_are_revoked_and_teams_retired(running: Running, ana: Visitor) -> None:
    issued = await running.do("tokens.create", team="blue", label=MARKUP)
    page = await ana.get("/organise/teams/blue")
    assert MARKUP in page.said
    assert "<img" not in page.text
    page = await ana.post(f"/organise/tokens/{issued.id}/revoke")
    assert page.path == "/organise/teams/blue"
    assert "revoked" in page.said
    assert (await ana.post(f"/organise/tokens/{issued.id}/revoke")).status == 409
    assert "This cannot be undone." in (await ana.get("/organise/teams/blue/retire")).said
    assert "Retired on" in (await ana.post("/organise/teams/blue/retire")).said
    assert (await ana.post("/organise/teams/blue/tokens", label="late")).status in (404, 409)
    page = await ana.post("/organise/tokens", label="bob", role="organiser", days="1")
    token = page.secret
    assert token not in (await ana.get("/organise/tokens")).text
    async with visiting(running) as bob:
        await bob.sign_in(token)
        assert (await bob.get("/organise")).status == 200


# -- uploads ---------------------------------------------------------------------------------------


async def test_a_run_is_uploaded_for_a_team_and_taken_back(running: Running, ana: Visitor) -> None:
    await running.do("phases.open", phase="test")
    good = b"sample01\t1\t1\t0.9\nsample02\t0\t1\t0.8\n"
    fields = {"phase": "test", "team": "blue", "task": "ACT", "run": "run-1"}
    for content in (b"", b"rubbish\n"):
        page = await send(ana, "/organise/uploads", "run.tsv", content, **fields)
        assert page.wrong == (422, {"content"})
    assert '<option value="ACT" selected>' in page.text
    page = await send(ana, "/organise/uploads", "run.tsv", good, **fields)
    assert page.path == "/organise/uploads?phase=test&run=run-1", page.said
    assert "run-1 of team blue was uploaded: 2 articles scored for ACT." in page.said
    path = "/organise/uploads/test/run-1"
    async with ana.client.get(path) as response:
        assert await response.read() == good
    assert "Delete run-1?" in (await ana.get(f"{path}/delete")).said
    assert "test has no offline run yet." in (await ana.post(f"{path}/delete")).said
    assert (await ana.get(path)).status == 404


# -- the audit log, the hub itself -----------------------------------------------------


async def test_the_processes_of_the_hub_are_shown(running: Running, ana: Visitor) -> None:
    async with patience():
        while "leads" not in (page := await ana.get("/organise/machines")).said:
            await asyncio.sleep(0.05)
    assert "pages and servers" in page.said
    assert running.service.phases.member.id in page.said
    assert 'href="/organise/machines"' in (await ana.get("/organise")).text


@pytest.mark.slow
async def test_the_audit_log_is_filtered_in_the_address(running: Running, ana: Visitor) -> None:
    for number in range(120):
        await running.do("teams.update", running.team("blue"), team="blue", title=f"{number}")
    page = await ana.get("/organise/audit?actor=team+blue")
    assert page.text.count("teams.update") == 100
    [older] = re.findall(r'href="([^"]*)" rel="next"', page.text)
    page = await ana.get(f"/organise/audit{html.unescape(older)}")
    assert page.text.count("teams.update") == 20
    page = await ana.get("/organise/audit?subject=bc")
    assert "challenges.set" in page.said
    assert "teams.update" not in page.said
    assert "No entry matches." in (await ana.get("/organise/audit?actor=nobody")).said
    assert (await ana.get("/organise/audit?before=99999999999999999999999")).status == 200


async def test_the_overview_tells_how_the_hub_is(running, ana, monkeypatch):
    monkeypatch.setattr("metaserver.web.organise.health.LATE", math.inf)  # on a busy machine
    running.service.servers.client.watchdog._stalls.clear()
    page = await ana.get("/organise")
    assert "well version" in page.said
    assert "Store works" in page.said
    assert "Teams without a token: blue" in page.said
    assert "No date to open test" in page.said
    async with ana.client.get("/organise/events?page=overview") as response:
        assert {"needs", "health"} <= (await next_frame(response))["html"].keys()
    async with ana.client.get("/organise/events?page=servers&state=down") as response:
        await next_frame(response)
    assert (await ana.get("/organise/events?page=none")).status == 404
