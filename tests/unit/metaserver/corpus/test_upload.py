"""Uploaded corpora: a file or a zip gives its articles, and every file's problem is reported."""

import gzip
from pathlib import Path

import pytest

from metaserver.base.errors import InputError
from metaserver.base.records import Article
from metaserver.corpus import reader
from metaserver.corpus.markup import LONGEST_DOCTYPE
from metaserver.corpus.reader import MOST_ARTICLES, read_articles, read_upload
from tests.unit.metaserver.corpus.samples import JATS, PUBMED, TEI
from tests.unit.metaserver.corpus.test_zipped import zipped


def read(content: bytes, source: str, folder: Path) -> tuple[list[Article], list[str]]:
    """Return the articles of an upload, and its problems."""
    problems: list[InputError] = []
    articles = list(read_upload(content, source, folder, problems))
    return articles, list(map(str, problems))


def test_a_zip_gives_its_articles_in_order_and_names_their_files(tmp_path: Path) -> None:
    content = zipped(
        ("set/b.txt", b"second"),
        ("set/a.txt", b"first"),
        ("set/", b""),
        ("__MACOSX/._a.txt", b"\0\1"),
        ("README.txt", b"not an article"),
    )
    articles, problems = read(content, "corpus.zip", tmp_path)
    assert [(article.id, article.text) for article in articles] == [("a", "first"), ("b", "second")]
    assert articles[0].source == "set/a.txt"
    assert not problems


def test_a_file_that_is_no_zip_is_read_as_it_is(tmp_path: Path) -> None:
    articles, _ = read("Ä".encode(), "C:\\articles\\17.txt", tmp_path)
    assert [(article.id, article.source) for article in articles] == [("17", "17.txt")]


def test_an_only_article_keeps_its_file_and_one_of_several_its_element(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bioc = b"<collection><document><id>3</id><passage><text>a</text></passage></document>"
    content = zipped(
        ("1.nxml", JATS.encode()),
        ("2.xml", PUBMED.encode()),
        ("3.xml", bioc + b"</collection>"),
        ("4.txt", JATS.encode()),
        ("5.xml", TEI.encode()),
    )
    for folder in ("a", "b", "c"):
        (tmp_path / folder).mkdir()
    articles, problems = read(content, "corpus.zip", tmp_path / "a")
    assert (len(articles), problems) == (6, [])
    kept = {one.id: one.original.decode() for one in articles if one.original}
    assert kept["900001"] == JATS
    assert kept["PMC123"] == TEI
    assert sorted(kept) == ["11", "12", "900001", "PMC123"]
    ids = '"-//NLM//DTD PubMedArticle//EN" "https://dtd.nlm.nih.gov/p.dtd"'
    assert f"<!DOCTYPE PubmedBookArticle PUBLIC {ids}>\n<PubmedBookArticle>" in kept["12"]
    (tmp_path / "11.xml").write_text(kept["11"])
    [again] = read_articles([tmp_path / "11.xml"])
    assert (again.id, again.text) == ("11", articles[1].text)
    long = PUBMED.replace("p.dtd", "p" * LONGEST_DOCTYPE).encode()
    [article, _], _ = read(long, "2.xml", tmp_path / "c")
    assert b"<PubmedArticle>" in article.original
    assert b"DOCTYPE" not in article.original
    monkeypatch.setattr(reader, "MOST_XML", len(JATS) - 1)
    [article], _ = read(gzip.compress(JATS.encode()), "1.nxml.gz", tmp_path / "b")
    assert not article.original


def test_name_spaces_of_a_file_are_not_repeated_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spaces = " ".join(f'xmlns:n{number}="urn:{number}"' for number in range(1_000))
    articles = "".join(
        f"<PubmedArticle><MedlineCitation><PMID>{number}</PMID><Article><ArticleTitle>A"
        "</ArticleTitle></Article></MedlineCitation></PubmedArticle>"
        for number in range(1, 21)
    )
    content = f"<PubmedArticleSet {spaces}>{articles}</PubmedArticleSet>".encode()
    monkeypatch.setattr(reader, "MOST_XML", 2 * len(content))
    found, problems = read(content, "2.xml", tmp_path)
    assert (len(found), problems) == (20, [])
    assert 2 <= sum(bool(article.original) for article in found) <= 3


def test_every_problem_is_reported_with_its_place_in_the_zip(tmp_path: Path) -> None:
    content = zipped(("x/a.txt", b"text\n\xff"), ("x/b.txt", b"\xff"), ("x/c.txt", b"text"))
    articles, problems = read(content, "c.zip", tmp_path)
    assert [article.id for article in articles] == ["c"]
    assert problems == [
        "x/a.txt:2: not UTF-8; expected UTF-8 text",
        "x/b.txt:1: not UTF-8; expected UTF-8 text",
    ]


def test_a_zip_without_articles_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^c.zip: no article"):
        read(zipped(("a.pdf", b"%PDF")), "c.zip", tmp_path)


@pytest.mark.slow
def test_more_articles_than_a_corpus_has_are_refused(tmp_path: Path) -> None:
    documents = (
        b'{"id":"%d","passages":[{"text":"a"}]}' % number for number in range(MOST_ARTICLES + 1)
    )
    with pytest.raises(InputError, match="more than 100,000 articles"):
        read(b'{"documents":[' + b",".join(documents) + b"]}", "a.json", tmp_path)
