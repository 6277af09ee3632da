"""Data packages: what is in them, who reads them when, and how they are fetched."""

import asyncio
import hashlib
import io
import json
import re
import shlex
import zipfile
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from annotators.baselines.cooccurrence import annotate
from annotators.baselines.proteins import SHIPPED_NAMES, read_proteins
from annotators.cli import main as annotators_main
from annotators.matching import Dictionary
from annotators.server import Kit
from metaserver.base.records import ArticleId
from metaserver.base.states import Role
from metaserver.cli import main
from metaserver.corpus import read_articles
from metaserver.operations.caller import Caller
from metaserver.operations.kept import DATA_FOLDER
from metaserver.publication.operations.data_packages import KeptData
from scoring import evaluate_files
from scoring.cli import main as scoring_main
from tests.hubs.command import DEMO
from tests.hubs.inside import ORGANISER, Running, at_work, plan_phase, settings
from tests.hubs.sites import Visitor, client_of, organiser_token, signed_in, visiting
from tests.integration.kits import served
from tests.shared import ROOT
from tests.unit.metaserver.corpus.samples import JATS
from tests.unit.metaserver.tasks.offline_samples import zipped

ANYBODY = Caller()
TERMS = "For research in the challenge alone."


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    """A hub with a training phase on the demo's articles and gold."""
    async with at_work(await settings(tmp_path)) as running:
        await plan_phase(running, teams=["blue"], kind="training")
        yield running


async def content(running: Running, caller: Caller | None = None, phase: str = "test") -> bytes:
    by = caller or running.team("blue")
    part = await running.do("data-package.read", by, phase=phase)
    assert part.size == len(part.content)
    return bytes(part.content)


def kept(running: Running) -> set[str]:
    folder = Path(running.service.settings.folder) / DATA_FOLDER
    return {path.name for path in folder.iterdir()}


def files_of(package: bytes) -> Mapping[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(package)) as archive:
        parts = {name: name.partition("/") for name in archive.namelist()}
        assert {top for top, _, _ in parts.values()} == {"data-test"}
        return {part[2]: archive.read(name) for name, part in parts.items()}


@pytest.mark.slow
async def test_it_has_the_articles_and_the_gold_as_the_projects_readers_take_them(
    running: Running, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = await running.refused("data-package.read", running.team("blue"), phase="test")
    assert (before.refusal, "not released" in before.message) == (404, True)
    license_url = "https://example.org/terms"
    given = {"phase": "test", "license": license_url, "terms": TERMS}
    made = await running.do("data-package.release", **given)
    package = await content(running)
    assert hashlib.sha256(package).hexdigest() == made.sha256
    files, data = files_of(package), tmp_path / "data-test"
    zipfile.ZipFile(io.BytesIO(package)).extractall(tmp_path)
    expected = {one.id: one.text for one in read_articles([DEMO / "articles"])}
    assert made.articles == len(expected)
    for kind in ("text", "bioc"):
        read = {one.id: one.text for one in read_articles([data / kind])}
        assert read == expected
    guide = files["README.md"].decode()
    assert license_url in guide
    assert TERMS in guide
    for line in files["checksums.tsv"].decode().splitlines():
        sha, size, name = line.split("\t")
        assert (hashlib.sha256(files[name]).hexdigest(), int(size)) == (sha, len(files[name]))
    run = tmp_path / "run.tsv"
    gold = (data / "gold/INT.tsv").read_text()
    run.write_text("".join(f"{line}\t1\t0.9\n" for line in gold.splitlines()[:1]))
    words = ["evaluate", "--task", "INT", "--gold", str(data / "gold/INT.tsv"), "--json"]
    assert await asyncio.to_thread(scoring_main, [*words, str(run)]) == 0
    [card] = json.loads(capsys.readouterr().out)
    assert card["tp"] == 1


@pytest.mark.slow
async def test_the_recipe_of_the_documents_scores_articles_with_dois(
    running: Running,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """As those of BioCreative II.5: a DOI is no name of a file, but the id in gold and runs."""

    def doi(article: str) -> ArticleId:
        return ArticleId(f"10.1016/j.febslet.2008.{article}")

    with_dois = [replace(one, id=doi(one.id)) for one in read_articles([DEMO / "articles"])]
    await running.add_corpus("dois", with_dois)
    await running.add_phase("train", "dois", kind="training")
    for task in ("INT", "IPT"):
        lines = (DEMO / f"gold_{task.lower()}.tsv").read_text().splitlines(keepends=True)
        gold = {"content": "".join(map(doi, lines)).encode(), "source": "gold.tsv"}
        await running.do("gold.set", phase="train", task=task, **gold)
    await running.do("data-package.release", phase="train")
    package = await content(running, phase="train")
    zipfile.ZipFile(io.BytesIO(package)).extractall(tmp_path)

    text = (ROOT / "docs" / "annotators.md").read_text(encoding="utf-8")
    recipe = text.split("## `annotators score`", 1)[1].split("```", 2)[1]
    names = Dictionary(read_proteins(SHIPPED_NAMES))
    monkeypatch.chdir(tmp_path)
    async with served(Kit(lambda text, _: annotate(names, text))) as url:
        for line in re.findall(r"^annotators (.*)$", recipe, re.MULTILINE):
            words = shlex.split(line.replace("http://127.0.0.1:8100/", url))
            assert await asyncio.to_thread(annotators_main, words) == 0
    card = evaluate_files("INT", Path("data-train/gold/INT.tsv"), Path("runs/INT.tsv")).to_dict()
    assert card["articles_in_gold"] == 22
    assert 0.5 < card["macro"]["f_score"] < 0.95  # neither hopeless nor trivial
    assert capfd.readouterr().out.count("micro AUC") == 2


@pytest.mark.slow
async def test_it_is_the_same_again_and_one_is_kept(running: Running) -> None:
    first = await running.do("data-package.release", phase="test")
    again = await running.do("data-package.release", phase="test")
    assert again == first
    bare = await running.do("data-package.release", phase="test", without_gold=True)
    assert bare.gold == {}
    assert not [name for name in files_of(await content(running)) if name.startswith("gold/")]
    assert kept(running) == {f"{bare.sha256}.zip"}


@pytest.mark.slow
async def test_gold_is_of_its_own_articles_and_says_its_version(running: Running) -> None:
    longer = (DEMO / "gold_int.tsv").read_bytes() + b"elsewhere\tP99999\n"
    given = {"phase": "test", "task": "INT", "source": "long.tsv"}
    await running.do("gold.set", **given, content=longer)
    made = await running.do("data-package.release", phase="test")
    assert made.gold["INT"] == 2
    assert b"elsewhere" not in files_of(await content(running))["gold/INT.tsv"]
    assert not (await running.do("data-package.get", phase="test")).outdated
    await running.do("gold.set", **given, content=longer + b"elsewhere\tP99998\n")
    detail = await running.do("data-package.get", ANYBODY, phase="test")
    assert "gold version 3 by now, the package version 2" in detail.outdated


@pytest.mark.slow
async def test_teams_read_it_until_it_is_withdrawn_also_after_a_restart(tmp_path: Path) -> None:
    given = await settings(tmp_path)
    async with at_work(given) as running:
        await plan_phase(running, kind="training")
        await running.do("data-package.release", phase="test")
        assert (await running.refused("data-package.read", ANYBODY, phase="test")).refusal == 401
        detail = await running.do("data-package.get", ANYBODY, phase="test")
        assert (detail.released, detail.public, detail.job) == (True, False, None)
    async with at_work(given) as running, KeptData(running.service):
        package = await content(running)
        await running.do("data-package.release", phase="test", public=True)
        assert await content(running, ANYBODY) == package
        await running.do("data-package.withdraw", phase="test")
        assert (await running.refused("data-package.read", ANYBODY, phase="test")).refusal == 404
        assert not kept(running)
        actions = [one.action for one in await running.do("audit.list")]
        assert actions.count("data-package.release") == 2
        assert "data-package.withdraw" in actions
        assert not (await running.do("phases.get", phase="test")).data


@pytest.mark.slow
async def test_a_test_phase_keeps_its_gold_and_its_articles(tmp_path: Path) -> None:
    async with at_work(await settings(tmp_path)) as running:
        await plan_phase(running)

        async def why(phase: str, **values: object) -> str:
            organiser = ORGANISER
            return (
                await running.refused("data-package.release", organiser, phase=phase, **values)
            ).message

        assert "beforehand" in await why("test")
        assert "from its freeze on" in await why("test", gold=True, test_articles=True)
        made = await running.do("data-package.release", phase="test", test_articles=True)
        assert made.gold == {}
        assert not [name for name in files_of(await content(running)) if "gold/" in name]
        # a training phase on the same articles tells no more of them
        await running.add_phase("train", kind="training")
        gold = {"content": (DEMO / "gold_int.tsv").read_bytes(), "source": "gold.tsv"}
        await running.do("gold.set", phase="train", task="INT", **gold)
        assert "of phase test" in await why("train", test_articles=True)
        assert "beforehand" in await why("train", without_gold=True)
        # who organises another challenge alone cannot confirm for this one
        await running.do("challenges.set", challenge="other")
        await running.add_phase("theirs", challenge="other", kind="training")
        its = Caller(role=Role.READER, challenge="other")
        told = {"phase": "theirs", "test_articles": True}
        refused = await running.refused("data-package.release", its, **told)
        assert "of a test phase of another challenge: ask an organiser" in refused.message
        await running.do("data-package.release", **told)
        # from the freeze on, and only when it is said
        await running.do("phases.freeze", phase="test")
        assert (await running.do("data-package.release", phase="test")).gold == {}
        assert (await running.do("data-package.release", phase="test", gold=True)).gold.keys() == {
            "ACT", "INT", "IPT",
        }  # fmt: skip
        # opened again, its gold is a secret again
        await running.do("phases.open", phase="test")
        found = await running.refused("data-package.read", running.team("blue"), phase="test")
        assert found.refusal == 404


@pytest.mark.slow
async def test_it_has_the_original_xml_if_that_is_said_and_gives_no_gold_away(
    tmp_path: Path,
) -> None:
    jats = JATS.encode("iso-8859-1").replace(b"UTF-8", b"iso-8859-1")
    corpus = {"900001.xml": jats, "10.txt": b"A text."}
    async with at_work(await settings(tmp_path)) as running:
        await plan_phase(running, "other", teams=["blue"], kind="training")
        given = {"corpus": "xml", "source": "xml.zip", "content": zipped(corpus)}
        await running.do("corpora.import", **given)
        await running.add_phase("test", "xml")
        release = {"phase": "test", "test_articles": True}
        assert (await running.do("data-package.release", **release)).xml == 0
        assert not [name for name in files_of(await content(running)) if name.startswith("xml/")]
        made = await running.do("data-package.release", **release, xml=True)
        files = files_of(await content(running))
        assert (made.xml, made.articles) == (1, 2)
        assert files["xml/900001.xml"] == jats
        assert "xml/900001.xml" in files["checksums.tsv"].decode()
        assert "`xml/*.xml` | 1 of them" in files["README.md"].decode()
        # an accession of its gold stands in the XML alone
        gold = {"source": "gold.tsv", "content": b"900001\tP04637\n"}
        await running.do("gold.set", phase="test", task="INT", **gold)
        await running.do("data-package.release", **release, xml=True)
        hidden = jats.replace(b"<!-- a comment -->", b"<!-- P04637 -->")
        corpus["900001.xml"] = hidden
        await running.do("corpora.import", **given | {"content": zipped(corpus)})
        await running.do("phases.update", phase="test", corpus="xml")
        with pytest.raises(AssertionError, match="XML of article 900001 has an accession"):
            await running.do("data-package.release", **release, xml=True)
        assert (await running.do("data-package.release", **release)).xml == 0


@pytest.mark.slow
async def test_a_team_downloads_it_by_page_in_parts_and_by_command(running, tmp_path, capsys):
    token = (await running.do("tokens.create", role="team", team="blue", label="t")).token
    (tmp_path / "token").write_text(token)
    out = tmp_path / "data.zip"
    async with client_of(running) as site:
        path = "/c/bc/test/data"
        async with site.get(path) as answer:
            assert answer.status == 404
            assert "not released" in await answer.text()
        await running.do("data-package.release", phase="test")
        package = await content(running)
        async with site.get(path) as answer:
            assert answer.status == 200
            assert "sign in" in await answer.text()
        async with site.get(f"{path}/package") as answer:
            assert answer.status == 401
        by = {"Authorization": f"Bearer {token}"}
        async with site.get(f"{path}/package", headers=by | {"Range": "bytes=10-19"}) as answer:
            assert (answer.status, await answer.read()) == (206, package[10:20])
            tag = answer.headers["ETag"]
        async with site.get(f"{path}/package", headers=by | {"If-None-Match": tag}) as answer:
            assert answer.status == 304
        words = ["data-package", "read", "test", "--out", str(out), "--token-file",
                 str(tmp_path / "token"), "--hub", str(site.make_url(""))]  # fmt: skip
        assert await asyncio.to_thread(main.main, words) == 0
        assert out.read_bytes() == package
        assert await asyncio.to_thread(main.main, words) == 2
    assert "there already" in capsys.readouterr().err


@pytest.mark.slow
async def test_an_organiser_releases_and_withdraws_it_on_its_page(running: Running) -> None:
    await running.do("phases.update", phase="test", kind="test")
    path = "/organise/phases/test/data"
    async with signed_in(running) as ana:
        assert "None is released" in (await ana.get(path)).said
        page = await ana.post(path)
        assert page.status == 409
        assert "would have these test articles beforehand" in page.said
        page = await ana.post(path, test_articles="true", terms=TERMS)
        assert page.path.startswith("/organise/jobs/")
        job = running.service.jobs.own.get(page.path.rpartition("/")[2])
        await job.ended()
        assert "without gold" in (await ana.get(path)).said
        assert "Data of" in (await ana.get("/c/bc")).said
        assert "Download data-test.zip" in (await ana.get("/c/bc/test/data")).said
        assert "teams keep the copies" in (await ana.get(f"{path}/withdraw")).said
        page = await ana.post(f"{path}/withdraw")
        assert (page.path, "None is released" in page.said) == (path, True)
        assert (await ana.get("/c/bc/test/data")).status == 404


@pytest.mark.slow
async def test_a_release_whose_file_is_gone_is_linked_nowhere(running: Running) -> None:
    """As where the store was restored from a copy."""
    await running.do("data-package.release", phase="test")
    assert (await running.do("phases.get", phase="test")).data
    [file] = (Path(running.service.settings.folder) / DATA_FOLDER).iterdir()
    file.unlink()
    assert not (await running.do("phases.get", phase="test")).data
    assert not (await running.do("data-package.get", ANYBODY, phase="test")).outdated
    assert "is gone" in (await running.do("data-package.get", phase="test")).outdated
    async with visiting(running) as ana:
        assert "data" not in await hrefs(ana, "/c/bc")
        await ana.sign_in(await organiser_token(running))
        page = await ana.get("/organise/phases/test/data")
        assert "is gone, as after a restore: nobody can read it: release it again" in page.said
    await running.do("data-package.release", phase="test")
    assert (await running.do("phases.get", phase="test")).data


async def hrefs(visitor: Visitor, path: str) -> str:
    """Return the addresses of a page's links to data."""
    page = await visitor.get(path)
    return " ".join(re.findall(r'href="([^"]*/data[^"]*)"', page.text))
