"""Articles that are written, then read by the readers of corpora."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from metaserver.base.records import Article, ArticleId
from metaserver.corpus.markup import read_bioc_json
from metaserver.corpus.reader import read_articles
from metaserver.corpus.writing import TextNames, bioc_collections

TEXTS = st.text(st.characters(exclude_characters="\r", exclude_categories=["Cs"]), min_size=1)


@given(st.lists(st.tuples(TEXTS, TEXTS, st.booleans()), max_size=4))
def test_what_is_written_is_read_back(made: list[tuple[str, str, bool]]) -> None:
    articles = [
        Article(
            id=ArticleId(f"a{number}"), title=title, text=f"{title}\n{text}" if titled else text
        )
        for number, (title, text, titled) in enumerate(made)
    ]
    read = [
        (draft.id, draft.text)
        for parts in bioc_collections(articles)
        for draft in read_bioc_json(Path("bioc.json"), b"".join(parts))
    ]
    assert read == [(article.id, article.text) for article in articles]


def test_a_title_keeps_its_passage_and_offset() -> None:
    article = Article(id=ArticleId("1"), title="Äß𝕏", text="Äß𝕏\nBody.\n\nMore.")
    [parts] = bioc_collections([article])
    data = b"".join(parts)
    [draft] = read_bioc_json(Path("bioc.json"), data)
    assert (draft.title, draft.text) == (article.title, article.text)
    assert b'"offset":4' in data


def test_names_are_ids_where_these_are_file_names(tmp_path: Path) -> None:
    names = TextNames()
    ids = ("123", "10.1000/j.1", "readme", "A", "a", "../x", "x.gz", "NUL", "é", "_6", "z" * 300)
    made = [names.name(article, number) for number, article in enumerate(ids, start=1)]
    assert made == [
        "123.txt", "_2.txt", "_3.txt", "A.txt", "_5.txt", "_6.txt", "x.gz.txt", "_8.txt", "_9.txt",
        "_10.txt", "_11.txt",
    ]  # fmt: skip
    for name in made:
        (tmp_path / name).write_text("A text.\n")
    read = {article.id for article in read_articles([tmp_path])}
    assert read == {name.removesuffix(".txt") for name in made}
