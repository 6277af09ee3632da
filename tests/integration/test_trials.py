"""Trials: one article of a team's own choice, to its own server, from its page."""

import asyncio
import html
import json
import re
import shlex
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote_plus

import pytest

from annotators.contract import Answer, Context
from annotators.server import Kit
from metaserver.base.records import Article, ArticleId, ServerName
from metaserver.boards.scoreboard import Scoreboard
from metaserver.cli.catalogue import OPERATIONS
from metaserver.operations.table import perform
from metaserver.operations.trials import MOST_TEXT
from tests.conformance.foreign import program
from tests.fakes.pubannotation import PubAnnotationPeer
from tests.fakes.web_peer import web_peer
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.hubs.release import ACCESSIONS
from tests.hubs.sites import Page, Visitor, signed_in
from tests.integration.kits import refusing, served

MARKUP = "<b>p53</b>"
TEXT = f"It's \U0001f52c that\n{MARKUP} binds MDM2."
PATH = "/team/servers/blue-1/try"
ARTICLE = {"phase": "test", "title": "MDM2 & p53", "text": TEXT}
SECRET = 'pä"& word <1>'


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    async with at_work(await settings(tmp_path)) as running:
        await plan_phase(running, teams=["blue", "red"])
        yield running


async def register(running: Running, url: str, server: str = "blue-1", **values: str) -> None:
    await running.do("servers.register", running.team("blue"), server=server, url=url, **values)


def command_of(page: Page) -> str:
    """Return the command on a trial's page."""
    found = re.search(r'<pre id="request"[^>]*>(.*?)</pre>', page.text, re.DOTALL)
    assert found, page.said
    return html.unescape(found[1])


def words_of(page: Page) -> list[str]:
    return shlex.split(command_of(page).replace(" \\\n  ", " "))


def hit(dbid: str, rank: object, confidence: float = 0.5) -> dict[str, object]:
    return {"dbid": dbid, "rank": rank, "confidence": confidence}


def annotate(text: str, _context: Context) -> Answer:
    """Answer with hits of each kind, with many that are wrong, or with one of the wrong type."""
    right = hit(ACCESSIONS[0], 1)
    if "many" in text:
        hits = [right, *(hit("none", rank) for rank in range(2, 252))]
    elif "broken" in text:
        hits = [right, hit(ACCESSIONS[1], "last")]
    else:
        hits = [right, hit(ACCESSIONS[0], 2), hit(MARKUP, 3), hit(ACCESSIONS[1], 4, 7.0)]
    return {"normalizations": hits}


def verdicts(page: Page) -> list[str]:
    return re.findall(r"(kept|refused|lost) normalizations\[\d+\]", page.said)


async def test_each_line_has_a_verdict_beside_request_answer_and_time(
    running: Running, blue: Visitor
) -> None:
    program("curl")
    async with served(Kit(annotate)) as url:
        await register(running, url)
        page = await blue.post(PATH, ARTICLE)
        assert page.status == 200
        assert page.path.startswith(f"{PATH}?job=")
        words = words_of(page)
        many = await blue.post(PATH, ARTICLE, text="many")
        broken = await blue.post(PATH, ARTICLE, text="broken")
        curl = await asyncio.create_subprocess_shell(
            f"{command_of(page)} --silent", stdout=asyncio.subprocess.PIPE
        )
        answer, _ = await curl.communicate()
        assert (await blue.get(page.path)).status == 404  # the newest trial is kept
    assert b"<name>normalizations</name>" in answer  # the command asks as the hub did
    assert TEXT in html.unescape(words[words.index("--data-raw") + 1])
    assert verdicts(page) == ["kept", "refused", "refused", "refused"]
    assert "1 kept of 4" in page.said
    assert "confidence: expected a confidence above 0 and up to 1, got 7.0" in page.said
    assert "ACT The answer has nothing for this task." in page.said
    assert MARKUP not in page.text
    assert "to the last byte" in page.said
    assert f"{MARKUP} binds MDM2.</textarea>" in html.unescape(page.text)
    assert verdicts(many) == ["kept", *["refused"] * 199]
    assert "1 kept of 251" in many.said
    assert verdicts(broken) == ["lost", "refused"]
    assert "0 kept of 2" in broken.said
    known = await running.do("servers.get", running.team("blue"), server="blue-1")
    assert (known.phases, known.tested) == ((), "never")


ACCESS = [
    {"auth": "basic", "auth_name": "hub"}, {"auth": "header", "auth_name": "X-Key"},
    {"auth": "query", "auth_name": "key"},
    {"auth": "body", "auth_name": "key", "encoding": "ascii"},
    {"auth": "body", "auth_name": "key", "protocol": "pubannotation", "options": "body = form"},
]  # fmt: skip


async def test_no_secret_is_shown_and_a_server_may_be_down(running: Running, blue: Visitor) -> None:
    with refusing() as nobody:
        url = f"http://user:pass-word@127.0.0.1:{nobody.getsockname()[1]}/in?key=key-word"
        for number, access in enumerate(ACCESS, 1):
            place = url if access["auth"] == "body" else url.replace("user:pass-word@", "")
            secret = SECRET if access["auth"] == "body" else SECRET.replace("ä", "a")
            name = f"blue-{number}"
            await register(running, place, server=name, secret=secret, **access)
            page = await blue.post(f"/team/servers/{name}/try", ARTICLE)
            assert page.status == 200, page.said
            assert re.search(r"\bconnect\b.*No answer was received\.", page.said), page.said
            *others, address = words_of(page)
            assert address.endswith("/in?***")
            assert "***" in " ".join(others) or access["auth"] == "query"
            assert "word" not in html.unescape(html.unescape(unquote_plus(page.text)))


async def test_what_is_refused(running: Running, blue: Visitor) -> None:
    called, answered = asyncio.Event(), asyncio.Event()

    async def slow(_text: str, _context: Context) -> Answer:
        called.set()
        await answered.wait()
        return {}

    async with served(Kit(slow)) as url, signed_in(running, "red") as red:
        await register(running, url)
        long = await blue.post(PATH, ARTICLE, text="x" * (MOST_TEXT + 1))
        assert long.wrong == (422, {"text"})
        assert "at most 80,000 are allowed." in long.said
        assert (await blue.post(PATH, ARTICLE, text=" ")).wrong == (422, {"text"})
        assert [(await red.get(PATH)).status, (await red.post(PATH, ARTICLE)).status] == [404, 404]
        assert not called.is_set()
        begun = await perform(
            OPERATIONS["servers.try"], running.service, running.team("blue"),
            {"server": "blue-1", "text": TEXT},
        )  # fmt: skip
        waiting = await blue.get(f"{PATH}?job={begun.job}")
        assert "There is no answer yet;" in waiting.said
        assert '<noscript><meta http-equiv="refresh"' in waiting.text
        busy = await blue.post(PATH, ARTICLE)
        assert (busy.status, TEXT in html.unescape(busy.text)) == (409, True)
        assert (
            "The server is being tried with another article: wait for the end of that trial."
            in busy.said
        )
        await register(running, url, server="blue-2")
        for visitor, path in ((red, PATH), (blue, "/team/servers/blue-2/try")):
            assert (await visitor.get(f"{path}?job={begun.job}")).status == 404
        answered.set()
        job = running.service.jobs.own.get(begun.job)
        assert job is not None
        await job.ended()
        assert "The answer has nothing for this task." in (await blue.get(waiting.path)).said
    await running.do("servers.retire", running.team("blue"), server="blue-1")
    assert (await blue.post(PATH, ARTICLE)).status == 409


@pytest.mark.slow
async def test_an_article_of_released_training_data_is_scored_and_no_other_gold_is_told(
    running: Running, blue: Visitor
) -> None:
    """Others are as if unknown: not released, of a test phase, shared with an open one."""
    [first, second] = [Article(id=ArticleId(f"s{number}"), text=TEXT) for number in (1, 2)]
    await running.add_corpus("both", [first, second])
    await running.add_corpus("one", [second])
    texts, (right, other, *_) = [], ACCESSIONS

    def note(text: str, _context: Context) -> Answer:
        texts.append(text)
        return {"normalizations": [hit(ACCESSIONS[3], 1), hit(right, 2)]}

    async def gold(phase: str, lines: str) -> None:
        content = {"content": lines.encode(), "source": "gold.tsv"}
        await running.do("gold.set", phase=phase, task="INT", **content)

    async def is_refused(phase: str, article: str) -> None:
        sent = {"server": "blue-1", "phase": phase, "article": article}
        error = await running.refused("servers.try", running.team("blue"), **sent)
        unknown = f"article {article!r} is not in the released data of a training phase"
        assert (error.refusal, error.field, error.message) == (404, "article", unknown)

    async def plan(phase: str, corpus: str, kind: str, lines: str) -> None:
        await running.add_phase(phase, corpus, tasks=("INT",), kind=kind)
        await gold(phase, lines)

    await plan("train", "both", "training", f"s1\t{right}\ns1\t{other}\ns2\t{right}\n")
    async with served(Kit(note)) as url:
        await register(running, url)
        await is_refused("train", "s1")
        assert '<datalist id="form-article-list">' not in (await blue.get(PATH)).text
        await running.do("data-package.release", phase="train")
        await plan("exam", "one", "test", f"s2\t{other}\n")
        assert '<option value="s2">train</option>' in (await blue.get(PATH)).text
        await running.do("phases.open", phase="exam")
        assert '<option value="s2">' not in (await blue.get(PATH)).text
        for phase, article in (("train", "s2"), ("exam", "s2"), ("exam", "s1"), ("train", "s3"),
                               ("test", "sample01")):  # fmt: skip
            await is_refused(phase, article)
        assert (await blue.post(PATH, phase="train", article="s2")).wrong == (404, {"article"})
        both = await blue.post(PATH, ARTICLE, phase="train", article="s1")
        assert both.wrong == (422, {"article"})
        assert not texts
        page = await blue.post(PATH, phase="train", article="s1")
        [job] = running.service.jobs.own.list_all("blue")
        async with signed_in(running, "red") as red:
            assert (await red.get(page.path)).status == 404
        await gold("train", f"s1\t{right}\n")
        newer = await blue.post(PATH, phase="train", article="s1")
        await running.do("data-package.withdraw", phase="train")
        await is_refused("train", "s1")
    assert texts == [TEXT, TEXT]
    assert job.report.attempt.article == "s1"
    assert "2 kept of 2" in page.said
    assert (
        f"Found: {right} Missed: {other} The score of this article alone, by version 1" in page.said
    )
    assert "There is no score: the phase's released data have no gold" in html.unescape(newer.said)
    [scored] = running.service.phase("train").boards.scoreboard.scored()
    scored = replace(scored, gold=replace(scored.gold, items={"s1": frozenset([right, other])}))
    board = Scoreboard([scored])
    payload = [[ACCESSIONS[3], 1, 0.5], [right, 2, 0.5]]
    board.put(ServerName("blue-1"), first.id, {scored.plugin.name: payload})
    values = board.scores(scored.plugin.name)[ServerName("blue-1")].values
    assert values["recall"] == 0.5
    assert [score.values for score in job.report.scores] == [values]
    for column in scored.plugin.columns:
        assert f"{column.heading} {column.text(values[column.key])}" in page.said


async def test_a_server_of_jobs_shows_its_first_request(running: Running, blue: Visitor) -> None:
    peer = PubAnnotationPeer(dialect="303")
    async with web_peer(peer.handle) as peer.url:
        await register(running, peer.url, protocol="pubannotation")
        page = await blue.post(PATH, ARTICLE, text="MDM2 binds p53")
    assert f"the first of {len(peer.requests)} requests" in page.said
    assert json.loads(words_of(page)[-2])["text"] == "MDM2 & p53\nMDM2 binds p53"
    assert "1 kept of 1" in page.said
