"""An organiser imports corpora through operations."""

from __future__ import annotations

import io
import zipfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from metaserver.base.errors import Refusal, RefusedError
from tests.hubs.inside import Running, at_work, settings

XML = b"<article><front><article-meta><title-group><article-title>T</article-title></title-group>"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    async with at_work(await settings(tmp_path)) as running:
        yield running


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Return a zip of files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


async def test_a_zip_is_a_version_and_the_same_articles_keep_it(running: Running) -> None:
    content = zipped({"b/2.txt": b"Two.", "a/1.txt": b"One.", "README.txt": b"no", "x.csv": b"1,2"})
    given = {"corpus": "abstracts", "source": "abstracts.zip"}
    first = await running.do("corpora.import", content=content, **given)
    assert (first.version, first.articles, first.new, first.problems) == (1, 2, True, ())
    again = await running.do("corpora.import", content=content, **given)
    assert (again.version, again.new) == (1, False)
    content = zipped({"1.txt": b"One.", "2.txt": b"Two, revised."})
    second = await running.do("corpora.import", content=content, **given)
    assert (second.version, second.new) == (2, True)
    listed = await running.do("corpora.list")
    assert [(one.corpus, one.version, one.articles) for one in listed] == [
        ("abstracts", 2, 2),
        ("abstracts", 1, 2),
    ]
    articles = await running.do("corpora.articles", corpus="abstracts", version=1)
    assert [(one.article, one.source) for one in articles] == [("1", "a/1.txt"), ("2", "b/2.txt")]


async def test_a_single_file_is_a_corpus(running: Running) -> None:
    done = await running.do(
        "corpora.import", corpus="one", source="C:\\texts\\12345.txt", content=b"A text."
    )
    assert done.articles == 1
    [article] = await running.do("corpora.articles", corpus="one")
    assert (article.article, article.source) == ("12345", "12345.txt")


async def test_every_file_with_a_fault_is_named(running: Running) -> None:
    files = {
        "1.txt": b"One.",
        "2.txt": b"\xff",
        "3.xml": XML,
        "z/1.txt": b"One again.",
        "4.txt": b" ",
    }
    given = {"corpus": "bad", "source": "bad.zip", "content": zipped(files)}
    refused = await running.refused("corpora.import", **given)
    assert (refused.refusal, refused.field) == (Refusal.INVALID, "content")
    for told in ("2.txt:1: not UTF-8", "3.xml:1: broken XML", "z/1.txt: article 1 is in 1.txt"):
        assert told in refused.message
    assert await running.do("corpora.list") == []
    kept = await running.do("corpora.import", **given, partial=True)
    assert (kept.articles, len(kept.problems)) == (1, 4)


async def test_an_empty_zip_and_an_unknown_corpus_are_refused(running: Running) -> None:
    with pytest.raises(RefusedError, match="no article in this zip file"):
        await running.do("corpora.import", corpus="none", source="a.zip", content=zipped({}))
    with pytest.raises(RefusedError, match="there is no corpus"):
        await running.do("corpora.articles", corpus="none")
