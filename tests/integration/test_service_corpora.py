"""An organiser imports corpora through operations; what is in a file is tested with its reader."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from metaserver.base.errors import Refusal
from tests.hubs.inside import Running, at_work, settings
from tests.unit.metaserver.tasks.offline_samples import zipped


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    async with at_work(await settings(tmp_path)) as running:
        yield running


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
    unknown = await running.refused("corpora.articles", corpus="none")
    assert (unknown.refusal, unknown.field) == (Refusal.UNKNOWN, "corpus")
