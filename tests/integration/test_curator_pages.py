"""The curators' pages: who is let in, what forms say, and that nothing said is markup."""

import html
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from aiohttp import FormData

from tests.fakes.pdf import image_alone, pdf
from tests.hubs.inside import Running
from tests.hubs.release import ACCESSIONS
from tests.hubs.sites import Page, Visitor, signed_in, visiting
from tests.integration.curating import TEXT, asked_hub

HOSTILE = '<script>alert("1")</script>'
DESK = re.compile(r"/curate/curations/[0-9a-f]{16}")


@asynccontextmanager
async def curating(folder: Path) -> AsyncIterator[tuple[Running, Visitor, Any]]:
    """Serve a hub with two servers, and a curator who is signed in."""
    async with asked_hub(folder, ["a", "b"]) as (running, servers):
        issued = await running.do("tokens.create", role="curator", label="ana")
        async with visiting(running) as visitor:
            await visitor.sign_in(issued.token, "/curate")
            yield running, visitor, servers


async def desk(curator: Visitor, text: str = TEXT, **fields: Any) -> Page:
    """Ask about a text, and return its page when all servers have answered."""
    page = await curator.post("/curate", {"text": text} | fields)
    assert DESK.fullmatch(page.path), page.said
    while "2 of 2 servers" not in page.said:
        page = await curator.get(page.path)
    return page


async def test_the_pages_are_for_curators_and_organisers(tmp_path: Path) -> None:
    async with curating(tmp_path) as (running, curator, _):
        page = await desk(curator)
        paths = ["/curate", page.path, f"{page.path}/submit"]
        for path in paths:
            assert (await curator.get(path)).status == 200
        async with visiting(running) as nobody:
            for path in paths:
                assert (await nobody.get(path)).path.startswith("/signin?next=/curate")
        async with signed_in(running, "a") as team:
            assert {(await team.get(path)).status for path in paths} == {403}
            assert 'href="/curate"' not in (await team.get("/")).text
        other = await running.do("tokens.create", role="curator", label="bo")
        async with visiting(running) as bo:
            await bo.sign_in(other.token, "/curate")
            assert (await bo.get(page.path)).status == 404
            assert (await bo.post(f"{page.path}/decide", kind="undo")).status == 404
            assert "Nothing yet." in (await bo.get("/curate")).said
        async with signed_in(running) as organiser:
            seen = await organiser.get(page.path)
            assert seen.status == 200
            assert "of curator ana" in seen.said
            assert "Accept " not in seen.said
            refused = await organiser.post(f"{page.path}/decide", kind="relevant", relevant="yes")
            assert refused.status == 403


async def test_what_is_wrong_is_said_in_the_form(tmp_path: Path) -> None:
    async with curating(tmp_path) as (_, curator, _servers):
        none = await curator.post("/curate", {"title": HOSTILE})
        assert none.status == 422
        assert "exactly one of article, text and content" in none.said
        assert HOSTILE not in none.text
        unknown = await curator.post("/curate", {"text": TEXT, "servers": "a, nobody"})
        assert "no server 'nobody'" in unknown.said
        assert 'value="a, nobody"' in unknown.text
        late = await curator.post("/curate", {"text": TEXT, "deadline": "x"})
        assert late.status == 422
        file = await curator.post("/curate", {"article": "12345"})
        assert "send its text" in file.said
        (tmp_path / "a.pdf").write_bytes(pdf([["EGFR binds GRB2", HOSTILE]]))
        with (tmp_path / "a.pdf").open("rb") as sent:
            read = await curator.post("/curate", {"content": sent})
        assert DESK.fullmatch(read.path)
        assert "text from a PDF, check columns" in read.said
        assert HOSTILE not in read.text
        (tmp_path / "b.pdf").write_bytes(image_alone())
        with (tmp_path / "b.pdf").open("rb") as sent:
            image = await curator.post("/curate", {"content": sent})
        assert (image.status, "no text" in image.said) == (422, True)
        forged = await Visitor(curator.client).post("/curate", {"text": TEXT})
        assert forged.status == 403


async def test_several_articles_are_asked_about_at_once(tmp_path: Path) -> None:
    async with curating(tmp_path) as (running, curator, _):

        async def sent(*files: tuple[str, bytes], **fields: str) -> Page:
            form = FormData({"csrf": curator.csrf, **fields})
            for name, content in files:
                form.add_field("content", content, filename=name)
            async with curator.client.post("/curate", data=form) as response:
                return Page(response.status, await response.text(), str(response.url.path), {})

        good = [(f"{number}.txt", f"EGFR binds GRB2\n{number}".encode()) for number in range(3)]
        assert (await sent(*good)).path == "/curate"
        assert len(await running.do("consensus.list")) == 3
        wrong = [good[0], (f"{HOSTILE}.txt", b""), ("b.xml", b"<a>")]
        ids = "PMID: 12345,\r\n10.1002/(SICI)1:15<1>3.0.CO;2-2; PMID: 12345 67"
        page = await sent(*wrong, article=ids, deadline="15")
        assert (page.status, HOSTILE in page.text) == (422, False)
        assert "1 of 6 articles are in the list now." in page.said
        named = ["b.xml", "PMID: 12345", "10.1002/(SICI)1:15<1>3.0.CO;2-2", "67"]
        for name in named:
            assert f"{name} : " in page.said, name
        assert ".txt : Choose a file that is not empty." in page.said
        kept = html.unescape(page.text.partition('name="article"')[2].partition("</textarea>")[0])
        assert kept.partition("\n")[2].split("\n") == named[1:]
        assert 'value="15"' in page.text
        for fields, said in (
            ({"pmid": "12", "article": "1 2"}, "it is of one article"),
            ({"deadline": "99", "article": "1 2"}, "at most 20 seconds"),
            ({"article": " ".join(map(str, range(1, 42)))}, "41 files and identifiers: at most 40"),
            ({"article": "1" * 16_001}, "at most 16,000 are allowed"),
            ({"servers": "s" * 16_001, "article": "1"}, "at most 64 are allowed"),
        ):
            refused = await sent(**fields)
            assert refused.status == 422
            assert said in refused.said.lower()
        assert len(await running.do("consensus.list")) == 4


@pytest.mark.slow
async def test_decisions_by_forms(tmp_path: Path) -> None:
    async with curating(tmp_path) as (_, curator, _servers):
        page = await desk(curator, title="An article")
        path = page.path
        item = re.findall(r'data-task="INT" data-item="(\w+)"', page.text)[0]
        given = {"task": "INT", "item": item}
        page = await curator.post(f"{path}/decide", given | {"kind": "accept"})
        assert f'data-key="INT:{item}"' in page.text
        assert 'data-decision="accepted"' in page.text
        wrong = [
            ({"kind": "nonsense"}, "is no decision"),
            ({"kind": "accept", "task": "NER", "item": item}, "is no task"),
            ({"kind": "redo"}, "nothing to redo"),
            ({"kind": "add", "task": "INT", "item": "Z99999"}, "Z99999"),
            ({"kind": "reject", "reason": "x" * 201} | given, "at most 200 characters"),
            ({"kind": "evidence", "words": "not in it"} | given, "copy them from it"),
            ({"kind": "evidence", "place": "0-99999"} | given, "not in the article"),
            ({"kind": "method", "method": HOSTILE} | given, "is for a pair"),
        ]
        for form, said in wrong:
            refused = await curator.post(f"{path}/decide", form)
            assert refused.status in (409, 422), form
            assert said.lower() in refused.said.lower()
            assert HOSTILE not in refused.text
        page = await curator.post(f"{path}/decide", kind="undo")
        assert 'data-decision="accepted"' not in page.text
        early = await curator.post(f"{path}/submit")
        assert early.status == 409
        assert "Take it away" in (await curator.post(f"{path}/submit", undecided="true")).said
        closed = await curator.post(f"{path}/decide", given | {"kind": "accept"})
        assert "submitted" in closed.said
        assert "Accept" not in closed.said
        listed = await curator.get("/curate")
        assert "An article" in listed.said
        assert "submitted: 0 accepted, 0 rejected" in listed.said
        await curator.post(f"{path}/forget")
        assert (await curator.get(path)).status == 404


async def test_the_publication_is_given_mended_and_asked_for_by_forms(tmp_path: Path) -> None:
    async with curating(tmp_path) as (_, curator, _servers):
        wrong = await curator.post("/curate", {"text": TEXT, "pmid": "none"})
        assert (wrong.status, "such as 10068444" in wrong.said) == (422, True)
        page = await desk(curator, pmid="PMID 12")
        assert "PMID 12" in page.said
        path, decide = page.path, f"{page.path}/decide"
        bad = await curator.post(decide, kind="publication", pmid="12", year="last")
        assert bad.status == 422
        kept = await curator.post(decide, kind="publication", pmid="13", author="Smith")
        assert (kept.path, 'value="13"' in kept.text) == (f"{path}/submit", True)
        assert "Not said yet" not in kept.said  # no pair is accepted
        await curator.post(decide, kind="pair", task="IPT", item="P00533 P04637", method="MI:0096")
        asked = await curator.get(f"{path}/submit")
        assert "The publication : year IMEx , journal IMEx" in asked.said
        assert "experimental role of P00533 MIMIx" in asked.said
        assert "Smith et al. · PMID 13" in (await curator.get(path)).said


@pytest.mark.slow
async def test_the_list_is_searched_and_names_what_was_asked_before(tmp_path: Path) -> None:
    async with curating(tmp_path) as (running, curator, _):
        first = await desk(curator, pmid="12")
        other = await desk(curator, "100%_sure that EGFR binds GRB2\nHere.", pmid="13")
        assert "the same as" not in (await curator.get("/curate")).said
        await desk(curator)  # the same text
        await desk(curator, f"{TEXT} It was printed again.", pmid="PMID: 13")
        listed = await curator.get("/curate")
        assert listed.said.count("the same as one asked before") == 2
        page = await curator.get("/curate?words=%25_sure")
        assert DESK.findall(page.text) == [other.path]
        assert "100%_sure that EGFR binds GRB2" in page.said  # the first line is its title
        assert set(DESK.findall((await curator.get("/curate?words=egfr+12")).text)) == {first.path}
        none = await curator.get(f"/curate?words={quote(HOSTILE)}")
        assert ("Nothing found." in none.said, HOSTILE in none.text) == (True, False)
        asked = await running.do("consensus.list", words="13")
        assert [bool(one.same_as) for one in asked] == [True, False]


@pytest.mark.slow
async def test_experiments_by_forms(tmp_path: Path) -> None:
    async with curating(tmp_path) as (running, curator, _):
        page = await desk(curator)
        pair = {"kind": "pair", "task": "IPT"}
        for item in ("P00533 P62993", "P00533 P00533"):
            await curator.post(f"{page.path}/decide", pair | {"item": item})
        form = f"{page.path}/experiments/P00533,P62993"
        assert "Another" in (await curator.get(form)).said
        given = {"number": "0", "method": "Pull-Down", "host": "In vit", "figure": "Fig. 1"}
        given |= {"accession-0": "P00533-2", "experimental_role-0": "prey"}
        given |= {"accession-1": "P62993", "experimental_role-1": "MI:0496"}
        given |= {"feature-0-0": "mutation", "feature_name-0-0": "K48R", "range-0-0": "48"}
        given |= {"feature-0-1": "binding site", "range-0-1": "?-94"}
        wrong = {"host": "yeast", "method": "MI:0407", "accession-1": "grb2", "range-0-0": "K48"}
        for name, value in (wrong | {"feature-0-0": "", "range-0-1": "0"}).items():
            refused = await curator.post(form, given | {name: value})
            assert (refused.status, 'class="alarm"' in refused.text) == (422, True), name
        assert (await curator.post(form, given)).path == page.path  # at the pair
        second = {"number": "1", "method": "2-hybrid", "negative": "on", "stay": "yes"}
        assert "Experiment 2" in (await curator.post(form, second)).said
        other = await curator.get(f"{page.path}/experiments/P00533,P00533")
        assert "as the pair before" in other.said
        assert 'value="two hybrid"' in other.text  # the last experiment of the other pair
        left = await curator.post(form, {"number": "1", "remove": "yes"})
        assert "Experiment 2" not in left.said
        key = page.path.rpartition("/")[2]
        found = await running.do("curation.get", curation=key)
        [one] = [each for each in found.decisions if each.item == ("P00533", "P62993")]
        [kept] = one.experiments
        assert (kept.method, kept.host, kept.participants[0].entry) == ("MI:0096", -1, "P00533")
        found = [(one.type, one.name, one.range) for one in kept.participants[0].features]
        assert found == [("MI:0118", "K48R", "48-48"), ("MI:0117", "", "?-94")]
        gone = await curator.post(form, {"number": "7", "remove": "yes"})
        assert gone.status == 409


LOADED = re.compile(r'(?:href|src)="(/static/[^"]+)"|(?:from|import) "\./([^"]+)"')


async def weights(curator: Visitor, path: str) -> dict[str, int]:
    """Return the bytes of a page and of all files that it loads, as they are sent."""
    found, remaining = dict[str, int](), [path]
    while remaining:
        address = remaining.pop()
        async with curator.client.get(address, headers={"Accept-Encoding": "gzip"}) as response:
            found[address] = int(response.headers["Content-Length"])
            loaded = LOADED.findall(await response.text())
        folder = address.rpartition("/")[0]
        addresses = [whole or f"{folder}/{name}" for whole, name in loaded]
        remaining += [one for one in addresses if one not in found and one not in remaining]
    return found


@pytest.mark.slow
async def test_an_article_with_the_most_candidates_is_small_as_it_is_sent(tmp_path: Path) -> None:
    async with curating(tmp_path) as (_, curator, servers):
        for one in servers.values():
            one.answer = {
                "interaction": [True, 0.9],
                "normalizations": [
                    {"dbid": name, "rank": rank, "confidence": 1 / rank}
                    for rank, name in enumerate(ACCESSIONS[:40], 1)
                ],
                "pairs": [
                    {"dbid_a": ACCESSIONS[0], "dbid_b": name, "rank": rank, "confidence": 1 / rank}
                    for rank, name in enumerate(ACCESSIONS[:40], 1)
                ],
            }
        page = await desk(curator)
        found = await weights(curator, page.path)
        assert len(re.findall('<li id="c-', page.text)) == 60
        assert found.pop(page.path) < 40_000
        assert sum(found.values()) < 40_000  # of files that browsers keep


async def test_nothing_that_is_said_is_markup(tmp_path: Path) -> None:
    async with curating(tmp_path) as (_, curator, servers):
        accession = "P04637"
        servers["a"].answer = {
            "normalizations": [
                {"dbid": accession, "rank": 1, "confidence": 0.9, "evidence": HOSTILE}
            ]
        }
        page = await desk(curator, f"{HOSTILE}\n{TEXT}", title=HOSTILE)
        assert "<script>alert" not in page.text
        assert "&lt;script&gt;alert" in page.text
        given = {"task": "INT", "item": accession, "kind": "note", "note": f"</script>{HOSTILE}"}
        page = await curator.post(f"{page.path}/decide", given)
        assert "<script>alert" not in page.text
        assert "</script><script>" not in page.text
        assert "<script>alert" not in (await curator.get("/curate")).text


async def test_annotations_of_an_uploaded_file_are_a_voice(tmp_path: Path) -> None:
    def annotation(key: str, words: str, name: str) -> dict[str, Any]:
        place = {"offset": 1_000 + TEXT.index(words), "length": len(words)}
        infons = {"type": "Gene", "identifier": name}
        return {"id": key, "text": words, "infons": infons, "locations": [place]}

    known, alone = ACCESSIONS[:2]
    named = [annotation("1", "EGFR", known), annotation("2", "GRB2", alone)]
    named.append(annotation("3", "living", "Q99999"))
    relation = {"infons": {"type": "PPI"}, "nodes": [{"refid": "1"}, {"refid": "2"}]}
    passage = {"offset": 1_000, "text": TEXT, "annotations": named, "relations": [relation]}
    async with curating(tmp_path) as (running, curator, servers):
        for server in servers.values():
            hit = {"dbid": known, "rank": 1, "confidence": 0.5}
            server.answer = {"normalizations": [hit], "pairs": []}
        form = FormData({"csrf": curator.csrf})
        content = json.dumps({"documents": [{"id": "77", "passages": [passage]}]})
        form.add_field("content", content.encode(), filename="mine.json")
        async with curator.client.post("/curate", data=form) as response:
            page = Page(response.status, await response.text(), str(response.url.path), {})
        assert DESK.fullmatch(page.path), page.said
        while "2 of 2 servers" not in page.said:
            page = await curator.get(page.path)
        assert "2/2 servers + file" in page.said
        assert "no server names it, only the uploaded file mine.json" in page.said
        assert "Q99999: unknown: not in UniProt test" in page.said
        key = page.path.rpartition("/")[2]
        for task, item in (("INT", alone), ("IPT", f"{known},{alone}")):
            fields = {"kind": "accept", "task": task, "item": item, "row": "", "seen": "0"}
            assert (await curator.post(f"{page.path}/decide", fields)).status == 200
        await running.do("phases.update", phase="test", team_names="hidden")
        ana = next(one for one in await running.do("curation.list") if one.curation == key)
        found = await running.do("curation.get", curation=key)
        assert (found.uploaded.hits, ana.accepted) == (3, 3)
        places = {
            (one.start, one.end) for one in found.spans if "uploaded file mine.json" in one.servers
        }
        assert places == {(0, 4), (TEXT.index("GRB2"), TEXT.index("GRB2") + 4)}
        submitted = await curator.post(f"{page.path}/submit", undecided="true")
        assert "Take it away" in submitted.said
        for name, part in (
            ("mitab", "proposed by uploaded file mine.json"),
            ("bioc-json", "uploaded file mine.json:1"),
            ("psi-xml", alone),
            ("csv", alone),
            ("json", "uploaded file mine.json"),
        ):
            exported = await running.do("curation.export", curation=key, format=name)
            assert part in exported.content.decode(), name
