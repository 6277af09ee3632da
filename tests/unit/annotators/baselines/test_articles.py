"""Files of articles: the kit's texts are those of the hub's own reader."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotators.baselines.articles import read_articles, read_gold
from annotators.errors import BadInputError
from metaserver.base.errors import InputError
from metaserver.corpus import read_articles as read_as_the_hub
from metaserver.corpus.markup import read_bioc_json

BOM = "\ufeff"
EITHER_READS = {
    "plain.txt": "Title\nText\n\n more\u2028of it.\n",
    "marked.txt": f"{BOM}Title\nText",
    "dos.txt": "Title\r\nText\rmore\r\n",
    "pages.TXT": "Title\x0cText\x85",
    "one.json": {"documents": [{"id": "c1", "passages": [{"text": "Title"}, {"text": "Text"}]}]},
    "empty passages.json": {
        "documents": [{"id": 7, "passages": [{"text": ""}, {"text": "T"}, {"text": ""}]}]
    },
    "references.json": {
        "documents": [
            {
                "id": " refs ",
                "passages": [
                    {"text": "Title", "infons": {"section_type": "TITLE", "type": "front"}},
                    {"text": "Line\r\nends\r", "infons": {}},
                    {"text": "A reference.", "infons": {"section_type": "REF"}},
                    {"text": "Another one.", "infons": {"type": "ref"}},
                ],
            }
        ]
    },
    "sentences.json": {
        "documents": [{"id": "s", "passages": [{"sentences": [{"text": "A."}, {"text": "B."}]}]}]
    },
    "empty texts.json": {
        "documents": [
            {
                "id": "e",
                "passages": [
                    {"text": "", "sentences": [{"text": "A."}, {"text": "B."}]},
                    {"text": " \n", "sentences": [{"text": "C."}]},
                    {"text": " \n", "sentences": []},
                    {"text": "D.", "sentences": [{"text": "Not read."}]},
                ],
            }
        ]
    },
    "a document.json": {"passages": [{"text": "Named by its file."}]},
    "a list.json": [
        {"documents": [{"id": "l1", "passages": [{"text": "One"}]}]},
        {"id": "l2", "passages": [{"text": "Two"}]},
    ],
    "marked.json": f'{BOM}{{"documents": [{{"id": "m", "passages": [{{"text": "M"}}]}}]}}',
    "README.txt": "Not an article.",
    "licence.json": "Nor this one.",
    ".hidden.txt": "Nor this one.",
    "sub/deeper.txt": "Title\nText",
}


def write(folder, contents):
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / name).write_bytes(text.encode())


def test_the_texts_are_those_of_the_hub(tmp_path):
    write(tmp_path, {f"{at}/{name}": one for at, (name, one) in enumerate(EITHER_READS.items())})
    hubs = {article.id: article.text for article in read_as_the_hub([tmp_path])}
    assert len(hubs) == len(EITHER_READS) - 3 + 1
    assert read_articles([tmp_path]) == hubs
    assert hubs["e"] == "A. B.\nC.\n \n\nD."


PASSAGES = st.fixed_dictionaries(
    {"text": st.text(st.characters(exclude_categories=["Cs"]))},
    optional={
        "infons": st.fixed_dictionaries(
            {},
            optional={
                "type": st.sampled_from(["title", "ref", "REF", 3]),
                "section_type": st.sampled_from(["REF", "INTRO", "ref"]),
            },
        )
    },
)


@given(st.lists(PASSAGES, max_size=5))
def test_passages_become_the_same_text(tmp_path_factory, passages):
    path = tmp_path_factory.getbasetemp() / "passages.json"
    path.write_text(json.dumps([{"id": "1", "passages": passages}]))
    (draft,) = read_bioc_json(path, path.read_bytes())
    if draft.text.strip():
        assert read_articles([path]) == {"1": draft.text}
    else:
        with pytest.raises(BadInputError, match="article 1 has no text"):
            read_articles([path])


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        ({"c.json": "{}"}, "c.json: not a BioC JSON collection"),
        ({"c.json": "[1]"}, "c.json: not a BioC JSON collection"),
        ({"c.json": "not json"}, "c.json: not a BioC JSON collection"),
        ({"c.json": "[" * 200_000}, "c.json: not a BioC JSON collection"),
        ({"c.json": {"id": None, "passages": []}}, "c.json: not a BioC .*id None"),
        ({"c.json": {"id": "1", "passages": [{"text": 1}]}}, "c.json: not a BioC JSON"),
        ({"c.json": {"id": "1", "passages": [{"infons": None}]}}, "c.json: not a BioC JSON"),
        ({"c.json": {"id": "1", "passages": []}}, "c.json: article 1 has no text"),
        ({"c.json": {"id": "a\tb", "passages": [{"text": "T"}]}}, "has a control character"),
        ({"e.txt": " \n"}, "e.txt: article e has no text"),
        ({"a.txt": "T", "b/a.txt": "T"}, "a.txt: article a is in .*a.txt too; an id comes once"),
        ({"README.md": "T", ".a.txt": "T"}, "no article in this folder"),
    ],
)
def test_what_the_hub_refuses_is_refused(tmp_path, contents, expected):
    write(tmp_path, contents)
    with pytest.raises(BadInputError, match=expected):
        read_articles([tmp_path])
    with pytest.raises(InputError):
        list(read_as_the_hub([tmp_path]))


def test_a_table_may_have_a_mark_and_any_character_of_a_text(tmp_path):
    text = "A line\u2028and\x0cmore\x85of it"
    (tmp_path / "t.tsv").write_bytes(f"{BOM}t1\tTitle\t{text}\r\nt2\tTitle\tText\r\n".encode())
    assert read_articles([tmp_path]) == {"t1": f"Title\n{text}", "t2": "Title\nText"}


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("b.tsv", "b1\tTitle\n", "b.tsv:1: expected article<TAB>title<TAB>text"),
        ("b.tsv", f"b1\tT\tT\n{BOM}b2\tT\tT\n", "b.tsv: article id .*b2' has a control character"),
        ("b.xml", "<article/>", "b.xml: no article file; expected .json, .tsv or .txt"),
        ("b.txt", b"\xff", "b.txt: not UTF-8"),
    ],
)
def test_a_bad_article_file_is_named(tmp_path, name, content, expected):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(BadInputError, match=expected):
        read_articles([tmp_path / name])


def test_a_missing_path_is_named(tmp_path):
    with pytest.raises(BadInputError, match=r"nothing: no such file or folder"):
        read_articles([tmp_path / "nothing"])


PACKAGE = {
    "articles.tsv": "article\tfile\ttitle\n10.1000/x\ttext/_1.txt\tOne\n2\ttext/2.txt\tTwo\n",
    "bioc/articles-1.json": {"documents": [{"id": "2", "passages": [{"text": "Two"}]}]},
    "checksums.tsv": "abc\t1\ttext/2.txt\n",
    "gold/INT.tsv": "2\tP04637\n",
    "text/2.txt": "Two",
    "text/_1.txt": "One",
}


@pytest.mark.parametrize("path", ["text", ".", "text/..", "text/2.txt", "text/_1.txt"])
def test_a_data_package_says_the_ids_of_its_texts(tmp_path, path):
    write(tmp_path, PACKAGE)
    both = {"2": "Two", "10.1000/x": "One"}
    one = {"text/2.txt": "2", "text/_1.txt": "10.1000/x"}.get(path)
    assert read_articles([tmp_path / path]) == ({one: both[one]} if one else both)


def test_a_data_package_is_known_from_inside(tmp_path, monkeypatch):
    write(tmp_path, PACKAGE)
    monkeypatch.chdir(tmp_path / "text")
    assert read_articles([Path("_1.txt")]) == {"10.1000/x": "One"}
    assert len(read_articles([Path()])) == len(read_articles([Path("..")])) == 2


def test_a_data_package_whose_table_is_broken_is_refused(tmp_path):
    write(tmp_path, PACKAGE | {"articles.tsv": "article\tfile\ttitle\n10.1000/x\n"})
    with pytest.raises(BadInputError, match=r"articles.tsv:2: expected article<TAB>file<TAB>title"):
        read_articles([tmp_path / "text"])


def test_a_table_of_articles_of_this_name_is_no_package(tmp_path):
    write(tmp_path, {"articles.tsv": "1\tfile\ttitle\n", "text/2.txt": "Two"})
    assert read_articles([tmp_path]) == {"1": "file\ntitle", "2": "Two"}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("1\t1\textra\n", "gold.tsv:1: .*expected article<TAB>0 or 1"),
        ("1\t1\n2\tyes\n", "gold.tsv:2: .*expected article<TAB>0 or 1"),
        ("1\t1\n1\t0\n", "gold.tsv:2: article 1 again, with the other class"),
    ],
)
def test_a_bad_gold_line_is_named(tmp_path, content, expected):
    path = tmp_path / "gold.tsv"
    path.write_text(content)
    with pytest.raises(BadInputError, match=expected):
        read_gold(path)


def test_gold_may_have_a_mark_and_other_line_ends(tmp_path):
    (tmp_path / "gold.tsv").write_bytes(f"{BOM}1\t1\r\n2\t0\r\n".encode())
    assert read_gold(tmp_path / "gold.tsv") == {"1": True, "2": False}
