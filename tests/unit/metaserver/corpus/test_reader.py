"""The reader: every format, every error of a file, and the real corpora."""

import gzip
import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaserver.base.errors import InputError
from metaserver.base.publications import Publication
from metaserver.base.records import Article
from metaserver.corpus import read_articles
from metaserver.corpus.files import article_files, read_bytes
from metaserver.corpus.markup import MOST_OBJECTS, MOST_TAGS
from metaserver.corpus.reader import read_drafts
from tests.shared import shared
from tests.unit.metaserver.corpus import samples


def _write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def _read(*paths: Path) -> list[Article]:
    return list(read_articles(paths))


def _refusal(*paths: Path) -> str:
    with pytest.raises(InputError) as caught:
        _read(*paths)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("sample", samples.SAMPLES.values(), ids=samples.SAMPLES)
def test_a_file_of_each_kind_keeps_its_lines_in_order(tmp_path, sample):
    path = _write(tmp_path, sample.name, sample.content)
    articles = _read(path)
    lines = [line for article in articles for line in article.text.split("\n")]
    assert lines == [line for _, line in sample.kept]
    assert [article.id for article in articles] == sample.ids
    titles = [line.strip() for part, line in sample.kept if part == "title"]
    assert [article.title for article in articles if article.title] == titles
    assert {article.source for article in articles} == {str(path)}


@pytest.mark.parametrize(
    ("without", "expected"),
    [
        ((), "900001"),
        (("pmid",), "PMC123"),
        (("pmid", "pmc"), "10.1000/j.1"),
        (("pmid", "pmc", "doi"), "a.b"),
    ],
)
def test_jats_id_is_pmid_then_pmcid_then_doi_then_stem(tmp_path, without, expected):
    text = samples.JATS
    for kind in without:
        text = text.replace(f'pub-id-type="{kind}"', 'pub-id-type="other"')
    assert _read(_write(tmp_path, "a.b.nxml.gz", gzip.compress(text.encode())))[0].id == expected


_JATS_FRONT = """<article><front><journal-meta><journal-title-group><journal-title>J. Examples
</journal-title></journal-title-group></journal-meta><article-meta>
<article-id pub-id-type="pmid">900001</article-id><article-id pub-id-type="pmc">123</article-id>
<article-id pub-id-type="doi">10.1000/j.1</article-id><contrib-group>
<contrib contrib-type="editor"><name><surname>Other</surname></name></contrib>
<contrib contrib-type="author"><name><surname>First</surname></name></contrib>
</contrib-group><pub-date pub-type="epub"><year>2005</year></pub-date>
<pub-date pub-type="ppub"><year>2006</year></pub-date></article-meta></front>
<body><p>T</p></body></article>"""
_MEDLINE = """<PubmedArticle><MedlineCitation><PMID>900001</PMID><Article><Journal><JournalIssue>
<PubDate><MedlineDate>2006 Jan-Feb</MedlineDate></PubDate></JournalIssue><Title>J. Examples</Title>
</Journal><ArticleTitle>T</ArticleTitle><AuthorList><Author><LastName>First</LastName></Author>
</AuthorList></Article></MedlineCitation><PubmedData><ArticleIdList>
<ArticleId IdType="pmc">PMC123</ArticleId><ArticleId IdType="doi">10.1000/j.1</ArticleId>
</ArticleIdList></PubmedData></PubmedArticle>"""
_PMC_BIOC = """[{"documents": [{"id": "123", "passages": [{"text": "T", "infons": {"keyword": ["a"],
"article-id_pmid": "900001", "article-id_pmc": "123", "article-id_doi": "10.1000/j.1",
"year": "2006"}}]}]}]"""


@pytest.mark.parametrize(
    ("name", "content", "journal", "author"),
    [
        ("a.xml", _JATS_FRONT, "J. Examples", "First"),
        ("a.xml", _MEDLINE, "J. Examples", "First"),
        ("a.json", _PMC_BIOC, "", ""),
    ],
)
def test_the_publication_of_an_article_is_read(tmp_path, name, content, journal, author):
    (tmp_path / name).write_text(content)
    [draft] = read_drafts(tmp_path / name)
    assert draft.publication == Publication(
        pmid="900001", pmcid="PMC123", doi="10.1000/j.1", journal=journal, author=author, year=2006
    )


@pytest.mark.parametrize("name", ["a.txt", "a.pubtator"])
def test_pubtator_keeps_offsets_and_skips_annotations(tmp_path: Path, name: str) -> None:
    first, second = _read(_write(tmp_path, name, samples.PUBTATOR))
    assert (first.id, first.title) == ("900001", "Xa1 binds Yb2.")
    assert first.text == "Xa1 binds Yb2.\nThey bind | or so."
    assert (second.id, second.text) == ("900002", "A title alone")


def test_pubtator_with_an_abstract_of_another_article_is_refused(tmp_path: Path) -> None:
    path = _write(tmp_path, "a.pubtator", samples.PUBTATOR.replace("900001|a|", "900003|a|"))
    assert _refusal(path).startswith(
        f"{path}:2: '900003|a|They bind | or so.'; expected ID|t|TITLE"
    )


_GRAPHIC = '<graphic href="f1.gif"/>'
_MML = '<mml:math xmlns:mml="http://www.w3.org/1998/Math/MathML">{}</mml:math>'


@pytest.mark.parametrize(
    ("inside", "line"),
    [
        (_MML.format("<mml:mi>K</mml:mi>\n  <mml:mi>d</mml:mi><mml:mo> = </mml:mo>"), "a Kd= b"),
        (_MML.format("<mml:mtext>if p </mml:mtext><mml:mi>x</mml:mi>"), "a if px b"),
        (f"<inline-formula>{_GRAPHIC}</inline-formula>", "a [formula] b"),
        ("<inline-formula><tex-math>\\alpha</tex-math></inline-formula>", "a [formula] b"),
        ('<inline-graphic href="alpha.gif"/>', "a [image] b"),
        (f"<disp-formula><label>(1)</label>{_GRAPHIC}</disp-formula>", "a [formula] b"),
        ("<disp-formula><italic>E</italic> = 1</disp-formula>", "a E = 1 b"),
    ],
)
def test_formulas_leave_readable_text(tmp_path: Path, inside: str, line: str) -> None:
    content = f"<article><front/><body><p>a {inside} b</p></body></article>"
    assert _read(_write(tmp_path, "a.xml", content))[0].text == line


def test_elsevier_bare(tmp_path: Path) -> None:
    start, end = samples.ELSEVIER.index("<ja:item-info>"), samples.ELSEVIER.index("</ja:article>")
    ours, common = "http://www.elsevier.com/xml/ja/dtd", "http://www.elsevier.com/xml/common/dtd"
    root = f'<article xmlns="{ours}" xmlns:ce="{common}">'
    content = samples.ELSEVIER[start:end].replace("ja:", "")
    [article] = _read(_write(tmp_path, "a.xml", f"{root}{content}</article>"))
    assert article.text.split("\n") == [line for _, line in samples.SAMPLES["Elsevier"].kept]
    assert article.id == "10.1016/j.x.1"


def test_an_article_of_rsc_may_be_without_a_namespace(tmp_path: Path) -> None:
    """Its root has the name of JATS'; what is in it shows whose it is."""
    content = samples.RSC.replace(' xmlns="http://www.rsc.org/schema/rscart38"', "")
    [article] = _read(_write(tmp_path, "a.xml", content))
    assert article.text.split("\n") == [
        line for _, line in samples.SAMPLES["Royal Society of Chemistry"].kept
    ]


def test_elsevier_without_full_text_gives_title_and_abstract(tmp_path: Path) -> None:
    start, end = samples.ELSEVIER.index("<originalText>"), samples.ELSEVIER.index("</full-text")
    response = samples.ELSEVIER[:start] + samples.ELSEVIER[end:]
    [article] = _read(_write(tmp_path, "a.xml", response))
    assert article.text == "Xa1 binds Yb2\nAn abstract."


@pytest.mark.parametrize(
    ("root", "begin", "end"),
    [
        ("MedlineCitation", "<MedlineCitation>", "</MedlineCitation>"),
        ("PubmedArticle", "<PubmedArticle>", "</PubmedArticle>"),
        ("MedlineCitationSet", "<MedlineCitation>", "</MedlineCitation>"),
        ("PubmedBookArticle", "<PubmedBookArticle>", "</PubmedBookArticle>"),
        ("PubmedBookArticleSet", "<PubmedBookArticle>", "</PubmedBookArticle>"),
    ],
)
def test_every_root_of_pubmed_is_read(tmp_path: Path, root: str, begin: str, end: str) -> None:
    record = samples.PUBMED[samples.PUBMED.index(begin) :].partition(end)[0] + end
    text = record if root == begin[1:-1] else f"<{root}>{record}</{root}>"
    [article] = _read(_write(tmp_path, "a.xml", f'<!DOCTYPE {root} SYSTEM "p.dtd">{text}'))
    assert (article.id, article.title) in {("11", "A bcl-2 study."), ("12", "A book")}


@pytest.mark.parametrize(
    ("content", "article_id"),
    [
        (samples.JATS, "900001"),
        (samples.PUBMED, "11"),
        (samples.BIOC_XML, "21"),
        (samples.BIOC, "31"),
        ("Plain words.", "a"),
    ],
)
def test_the_kind_is_found_by_the_content(tmp_path: Path, content: str, article_id: str) -> None:
    marked = b"\xef\xbb\xbf" + content.encode()
    assert _read(_write(tmp_path, "a.dat", marked))[0].id == article_id
    assert _read(_write(tmp_path, "b/a.dat.gz", gzip.compress(marked)))[0].id == article_id


def test_text_is_kept_but_for_its_line_ends(tmp_path: Path) -> None:
    path = _write(tmp_path, "77.txt", b"\xef\xbb\xbf<p> one\r\n\r\ntwo\rthree\x01\n")
    [article] = _read(path)
    assert (article.id, article.text) == ("77", "<p> one\n\ntwo\nthree\x01\n")


def test_a_folder_is_read_sorted_and_without_other_files(tmp_path: Path) -> None:
    for name in ["b/2.txt", "b/1.txt", "a.TXT", "c.txt.gz"]:
        content = f"text of {name}".encode()
        _write(tmp_path, name, gzip.compress(content) if name.endswith("gz") else content)
    for name in ["README.txt", "LICENSE.txt", ".hidden.txt", "d.pdf", "e.tsv"]:
        _write(tmp_path, name, "no article")
    found = [path.relative_to(tmp_path).as_posix() for path in article_files([tmp_path])]
    assert found == ["a.TXT", "b/1.txt", "b/2.txt", "c.txt.gz"]
    assert [article.id for article in _read(tmp_path)] == ["a", "1", "2", "c"]


def test_nothing_is_fetched_and_no_entity_is_expanded(tmp_path: Path) -> None:
    secret = _write(tmp_path, "secret", "secret")
    declared = f'<!DOCTYPE article [<!ENTITY x SYSTEM "{secret.as_uri()}">]>'
    text = "<article>\n<body><p>&x;</p></body></article>"
    path = _write(tmp_path, "a.xml", declared + text)
    assert _refusal(path) == f"{path}:2: unknown entity &x;"


def _refused() -> dict[str, tuple[str, bytes, str]]:
    one = b'{"id": "1", "passages": [{"text": "a"}]}'
    return {
        "not UTF-8": ("a.txt", b"one\ntwo \xff", ":2: not UTF-8"),
        "a PDF": ("a.pdf", b"%PDF-1.4\n1 0 obj", ": a PDF is not read"),
        "a PDF as text": ("a.txt", b"%PDF-1.7\n%\xe2\xe3", ": a PDF is not read"),
        "no text": ("a.txt", b" \n ", ":1: article a has no text"),
        "broken XML": ("a.xml", b"<article>\n<body>\n</article>", ":3: broken XML: "),
        "empty XML": ("a.xml", b"", ": broken XML: "),
        "XML that is none": ("a.nxml", b"words", ":1: broken XML: "),
        "bad bytes in XML": ("a.xml", b"<article>\n<body>\xff</body></article>", ":2: broken XML"),
        "an entity without a DTD": (
            "a.xml",
            b"<article>\n<body><p>&beta;</p></body></article>",
            ":2: broken XML: Entity 'beta' not defined",
        ),
        "other root": ("a.xml", b"\n<html/>", ":2: root element <html>; expected JATS"),
        "an article of an unknown kind": (
            "a.xml",
            b'<article xmlns="http://docbook.org/ns/docbook">\n<info/><title/><para>T</para></article>',
            ":1: root element <article> with <info>, <title>, <para>; expected JATS",
        ),
        "an empty article": ("a.xml", b"<article/>", ": root element <article> with nothing in it"),
        "a collection of another kind": (
            "a.xml",
            b"<collection><record/></collection>",
            ": no article in it; expected <document>",
        ),
        "JATS without text": ("a.xml", b"<article><front/></article>", ":1: article a has no text"),
        "PubMed without text": (
            "a.xml",
            b"<PubmedArticleSet>\n<PubmedArticle><PMID>5</PMID></PubmedArticle></PubmedArticleSet>",
            ":2: article 5 has no text",
        ),
        "broken JSON": ("a.json", b'{"documents":\n [}', ":2: broken JSON: "),
        "other JSON": ("a.json", b'{"a": 1}', ":1: JSON without documents or passages"),
        "JSON of another shape": ("a.json", b'{"passages": [1]}', "$.passages[0]"),
        "lone surrogate": ("a.json", b'{"passages": [{"text": "\\ud800"}]}', ":1: broken JSON"),
        "document without text": (
            "a.json", b'{"id": "5", "passages": []}', "article 5 has no text",
        ),
        "tab in an id": ("a.json", one.replace(b'"1"', b'"1\\t2"'), "article id '1\\t2'"),
        "broken gzip": ("a.gz", gzip.compress(b"text " * 99)[:-9], ": broken gzip file: "),
        "id twice in one file": ("a.json", b"[%s,\n%s]" % (one, one), "article 1 is in "),
    }  # fmt: skip


@pytest.mark.parametrize("case", _refused())
def test_bad_input_is_refused_with_file_and_line(tmp_path: Path, case: str) -> None:
    name, content, expected = _refused()[case]
    path = _write(tmp_path, name, content)
    message = _refusal(path)
    assert message.startswith(str(path))
    assert expected in message


def test_bad_paths_are_refused(tmp_path: Path) -> None:
    missing, empty = tmp_path / "missing", tmp_path / "empty"
    empty.mkdir()
    assert _refusal(missing) == f"{missing}: no such file or folder"
    assert _refusal(empty).startswith(f"{empty}: no article in this folder; expected .json")


def test_errors_of_the_system_are_reported_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read_bytes(tmp_path)


def test_an_id_in_two_files_names_both(tmp_path: Path) -> None:
    first, second = _write(tmp_path, "a.xml", samples.JATS), _write(tmp_path, "900001.txt", "Words")
    found = _refusal(first, second)
    assert found == f"{second}:1: article 900001 is in {first} too; an id comes once"


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_file_above_the_limit_is_refused_compressed_or_not(tmp_path, pack):
    whole = b"x" * 2**20
    assert read_bytes(_write(tmp_path, "a.txt", pack(whole)), limit=2**20) == whole
    with pytest.raises(InputError, match="larger than 1 MiB"):
        read_bytes(_write(tmp_path, "a.txt", pack(whole + b"x")), limit=2**20)


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 16, 128])
def test_a_small_file_that_unpacks_to_much_is_refused(size: int, tmp_path: Path) -> None:
    bomb = _write(tmp_path, "a.txt", gzip.compress(b"\n" * (size << 20)))
    with pytest.raises(InputError, match="unpacks to more than 200 times its size"):
        read_bytes(bomb)


@pytest.mark.parametrize(
    ("before", "tags", "after"),
    [
        pytest.param(
            b"<article><body><p>", b"<b/>", b"</p></body></article>", marks=pytest.mark.slow
        ),
        pytest.param(
            b"<PubmedArticleSet>", b"<b/>", b"</PubmedArticleSet>", marks=pytest.mark.slow
        ),
        (b"<collection><document><id>1</id>", b"<passage/>", b"</document></collection>"),
    ],
)
def test_more_tags_than_an_article_has_are_refused(before, tags, after, tmp_path):
    path = _write(tmp_path, "a.xml", before + tags * (MOST_TAGS + 1) + after)
    assert "more than 1,000,000 tags in one article" in _refusal(path)


@pytest.mark.slow
def test_many_articles_may_have_more_tags_than_one(tmp_path: Path) -> None:
    """The bound applies to the tree in memory at a time: blocks end between articles."""
    record = b"<PubmedArticle><PMID>%d</PMID><Abstract><AbstractText>T</AbstractText></Abstract>"
    end = b"<x/>" * 150_000 + b"</PubmedArticle>"
    records = b"".join(record % one + end for one in range(10))
    path = _write(tmp_path, "a.xml", b"<PubmedArticleSet>" + records + b"</PubmedArticleSet>")
    assert len(_read(path)) == 10


def test_an_encoding_that_hides_tags_is_refused(tmp_path: Path) -> None:
    text = "<?xml version='1.0' encoding='cp037'?><article><p>Words</p></article>"
    path = _write(tmp_path, "a.xml", text.encode("cp037"))
    assert "encoding EBCDIC; expected UTF-8" in _refusal(path)


@pytest.mark.parametrize("encoding", ["utf-7", "JAVA", "C99"])
def test_an_encoding_with_other_spellings_of_a_tag_is_refused(encoding, tmp_path):
    head = f"<?xml version='1.0' encoding='{encoding}'?><PubmedArticleSet><PubmedArticle>"
    end = "</PubmedArticle></PubmedArticleSet>"
    path = _write(tmp_path, "a.xml", (head + "+ADw-b/+AD4-" * 10 + end).encode())
    assert f"encoding {encoding}; expected UTF-8" in _refusal(path)


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1", "windows-1252", "us-ascii"])
def test_other_encodings_are_read(encoding: str, tmp_path: Path) -> None:
    text = f"<?xml version='1.0' encoding='{encoding}'?>" + samples.JATS.partition("?>")[2]
    path = _write(tmp_path, "a.xml", text.encode(encoding, "xmlcharrefreplace"))
    assert [article.id for article in _read(path)] == ["900001"]


def test_more_objects_than_a_file_may_have_are_refused(tmp_path: Path) -> None:
    text = b'{"documents":[' + b"{}," * MOST_OBJECTS + b"{}]}"
    assert "more than 1,000,000 JSON objects" in _refusal(_write(tmp_path, "a.json", text))


def test_infons_that_are_not_read_take_no_memory(tmp_path: Path) -> None:
    """A hundred thousand keys of one passage are skipped."""
    infons = {f"key {number}": number for number in range(100_000)}
    document = {"id": "1", "passages": [{"infons": infons | {"type": "title"}, "text": "T"}]}
    path = _write(tmp_path, "a.json", json.dumps(document))
    tracemalloc.start()
    [article] = _read(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert article.title == "T"
    assert peak < 3 * path.stat().st_size


_TEXTS = st.text(st.characters(codec="utf-8"), max_size=60)


@given(passages=st.lists(_TEXTS, min_size=1, max_size=4))
def test_bioc_text_is_its_passages_for_any_characters(tmp_path_factory, passages):
    document = {"id": "1", "passages": [{"text": text} for text in passages]}
    path = _write(tmp_path_factory.mktemp("bioc"), "a.json", json.dumps(document))
    kept = "\n".join(text.replace("\r", " ") for text in passages if text)
    if kept.strip():
        [article] = _read(path)
        assert article.text == kept
        assert "\r" not in article.text
    else:
        assert "has no text" in _refusal(path)


@given(content=st.binary(max_size=200), suffix=st.sampled_from([".txt", ".xml", ".json", ".gz"]))
def test_arbitrary_bytes_give_an_article_or_our_own_error(tmp_path_factory, content, suffix):
    path = _write(tmp_path_factory.mktemp("bytes"), "a" + suffix, content)
    try:
        [article] = _read(path)
    except InputError:
        return
    assert article.text.strip()
    assert "\r" not in article.text


def test_craft_full_texts() -> None:
    articles = {article.id: article for article in _read(shared("data/craft"))}
    assert len(articles) == samples.CRAFT
    for article in articles.values():
        lines = article.text.split("\n")
        assert lines[0] == article.title
        assert all(line == line.strip(" ") and line for line in lines)
        assert "  " not in article.text
        assert "References" not in lines
    brn3c = articles["12585968"].text
    assert "\nTable 1 Numbers of hair cells and sensory neurons in P7 wildtype" in brn3c
    assert "Dynamic in vivo imaging and cell tracking" in articles["15619330"].text


@pytest.mark.parametrize(("name", "count"), samples.BIOCREATIVE.items())
def test_bc6pm_abstracts(name: str, count: int) -> None:
    path = shared(f"data/bc6pm/{name}.json")
    documents = json.loads(path.read_text())["documents"]
    articles = _read(path)
    assert len(articles) == count
    assert [article.id for article in articles] == [document["id"] for document in documents]
    for article, document in zip(articles, documents, strict=True):
        assert article.text == "\n".join(passage["text"] for passage in document["passages"])
