"""Short articles in every format, written for the tests, and what is kept of each."""

from collections.abc import Sequence
from typing import NamedTuple

JATS = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE article PUBLIC "-//NLM//DTD JATS v1.2//EN" "JATS-archivearticle1.dtd">
<article xmlns:xlink="http://www.w3.org/1999/xlink"><front><article-meta>
  <article-id pub-id-type="doi">10.1000/j.1</article-id>
  <article-id pub-id-type="pmc">123</article-id>
  <article-id pub-id-type="pmid">900001</article-id>
  <title-group><article-title>Binding of <italic>Xa</italic>1 to
     Yb2</article-title><alt-title>Short</alt-title></title-group>
  <contrib-group><contrib><name><surname>Author</surname></name></contrib></contrib-group>
  <abstract><title>Summary</title><p>Xa1 binds Yb2.</p></abstract>
  <trans-abstract xml:lang="fr"><p>Xa1 lie Yb2.</p></trans-abstract>
  <kwd-group><kwd>binding</kwd></kwd-group>
</article-meta></front>
<body><sec><label>1.</label><title>Results</title>
<p>Ca<sup>2+</sup> and H<sub>2</sub>O.<sup><xref ref-type="bibr" rid="b1">1</xref>,
<xref ref-type="bibr" rid="b2">2</xref></sup> As shown [<xref ref-type="bibr" rid="b3">3</xref>]
in <xref ref-type="fig" rid="f1">Figure 1</xref><fig id="f1"><label>Figure 1</label><caption>
<title>A gel.</title><p>Lane 1, <bold>Xa1</bold>.</p></caption><graphic/></fig>, both
bind<!-- a comment --> well.<xref ref-type="bibr" rid="b4"><sup>4</sup></xref></p>
<p>Steps:<list><list-item><label>(a)</label><p>mix</p></list-item>
<list-item><label>(b)</label><p>wash</p></list-item></list>then read.</p>
<table-wrap><label>Table 1</label><caption><p>Pairs.</p></caption><table><thead><tr><th>A</th>
<th>B</th></tr></thead><tbody><tr><td>Xa1</td><td><italic>Yb</italic>2</td></tr></tbody></table>
<table-wrap-foot><fn><p>Measured twice.</p></fn></table-wrap-foot></table-wrap>
<fig><label>Figure 2</label><graphic/></fig>
<disp-formula><label>(1)</label>K = k<sub>1</sub></disp-formula>
<p>An <inline-graphic xlink:href="a.gif"/> twice.</p>
</sec></body>
<back><ack><title>Thanks</title><p>To all.</p></ack>
<ref-list><title>References</title><ref><mixed-citation>Old work.</mixed-citation></ref></ref-list>
</back><sub-article><body><p>A review.</p></body></sub-article></article>
"""

ELSEVIER = """<full-text-retrieval-response xmlns="http://www.elsevier.com/xml/svapi/article/dtd"
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:prism="http://prismstandard.org/namespaces/basic/2.0/"
 xmlns:ce="http://www.elsevier.com/xml/common/dtd" xmlns:ja="http://www.elsevier.com/xml/ja/dtd">
<coredata><prism:doi>10.1016/j.x.1</prism:doi><dc:title>Xa1 binds Yb2</dc:title>
<dc:description>An abstract.</dc:description></coredata>
<originalText><ja:article><ja:item-info><ce:doi>10.1016/j.x.1</ce:doi></ja:item-info>
<ce:floats><ce:figure id="fig1"><ce:label>Fig. 1</ce:label><ce:caption><ce:simple-para>A gel.
</ce:simple-para></ce:caption></ce:figure></ce:floats>
<ja:head><ce:title>Xa<ce:inf>1</ce:inf> binds Yb2</ce:title><ce:author-group><ce:author>
<ce:surname>Author</ce:surname></ce:author></ce:author-group>
<ce:abstract><ce:section-title>Abstract</ce:section-title><ce:abstract-sec><ce:simple-para>They
bind.</ce:simple-para></ce:abstract-sec></ce:abstract></ja:head>
<ja:body><ce:sections><ce:section><ce:label>1</ce:label><ce:section-title>Methods</ce:section-title>
<ce:para>Seen before<ce:footnote><ce:label>a</ce:label>
<ce:note-para>A note.</ce:note-para></ce:footnote>.<ce:cross-ref refid="bib1"><ce:sup>1</ce:sup>
</ce:cross-ref> See
<ce:cross-ref refid="fig1">Fig. 1</ce:cross-ref>
<ce:display><ce:table><ce:label>Table 1</ce:label><ce:caption><ce:simple-para>Pairs.
</ce:simple-para></ce:caption><tgroup xmlns="http://www.elsevier.com/xml/common/cals/dtd"><tbody><row><entry>Xa1</entry>
<entry>Yb2</entry></row></tbody></tgroup></ce:table></ce:display>and the table, <mml:math
 xmlns:mml="http://www.w3.org/1998/Math/MathML"><mml:mi>K</mml:mi> <mml:mo>=</mml:mo>
 <mml:mn>1</mml:mn></mml:math>, <ce:inline-figure><ce:link locator="si1"/>
</ce:inline-figure>.</ce:para>
<ce:para>Steps:<ce:list><ce:list-item><ce:label>1.</ce:label><ce:para>mix</ce:para></ce:list-item>
</ce:list></ce:para>
</ce:section></ce:sections></ja:body>
<ja:tail><ce:acknowledgment><ce:section-title>Thanks</ce:section-title><ce:para>To all.</ce:para>
</ce:acknowledgment><ce:bibliography><ce:section-title>References</ce:section-title>
<ce:bibliography-sec><ce:bib-reference><ce:other-ref><ce:textref>Old work.</ce:textref>
</ce:other-ref></ce:bib-reference></ce:bibliography-sec></ce:bibliography></ja:tail>
</ja:article></originalText></full-text-retrieval-response>
"""

IOP = """<?xml version="1.0"?>
<!DOCTYPE article SYSTEM "http://ej.iop.org/dtd/iopv1_5_2.dtd">
<article artid="xa000001"><article-metadata><jnl-data><jnl-fullname>Xa</jnl-fullname></jnl-data>
<article-data><pii>S1</pii><doi>10.1088/0001/1/1/1</doi></article-data></article-metadata>
<header><title-group><title>Xa<sub>1</sub> binds Yb2</title><short-title>Xa1</short-title>
</title-group><author-group><author><second-name>Author</second-name></author></author-group>
<abstract-group><abstract lang="english"><heading>Abstract</heading><p>They bind.</p></abstract>
<abstract lang="french"><heading>Sommaire</heading><p>Ils se lient.</p></abstract></abstract-group>
<classifications><keywords><keyword>binding</keyword></keywords></classifications></header>
<body><sec-level1 id="s1" label="1"><heading>Results</heading>
<p>Seen [<cite linkend="b1">1</cite>]<sup><cite linkend="b2">2</cite></sup>
in figure <figref linkend="f1">1</figref>
<figure id="f1"><graphic><graphic-file filename="f1"/></graphic><caption label="Figure 1">
<p>A gel.</p></caption></figure>
<inline-eqn><?TeX K_1 ?><math-text><italic>K</italic></math-text></inline-eqn> twice.</p>
<p>Steps:<itemized-list><list-item><p>mix</p></list-item></itemized-list></p>
<table id="t1"><caption label="Table 1"><p>Pairs.</p></caption><tgroup><tbody><row>
<entry>Xa1</entry><entry>Yb2</entry></row></tbody><tfoot>Measured twice.</tfoot></tgroup></table>
</sec-level1>
<acknowledgment><heading>Thanks</heading><p>To all.</p></acknowledgment></body>
<back><references><heading>References</heading><reference-list><journal-ref><jnl-title>Old</jnl-title>
</journal-ref></reference-list></references><footnotes><footnote><p>A note.</p></footnote>
</footnotes></back></article>
"""

NATURE = """<?xml version="1.0"?>
<!DOCTYPE article PUBLIC "-//NPG//DTD XML Article//EN" "NPG_XML_Article.dtd">
<article id="nature00001" language="eng"><pubfm><jtl>Nature</jtl><vol>1</vol>
<doi>10.1038/nature00001</doi></pubfm>
<fm><atl><topic>Binding</topic>Xa<super>1</super> binds Yb2</atl>
<aug><au><snm>Author</snm></au></aug>
<abs><p>They bind.</p></abs><websumm>For the web.</websumm></fm>
<bdy><fp><p>Seen before<bibr rid="b1"/>, and by ref. <bibrinl rid="b2">2</bibrinl>.</p></fp>
<crosshd>Aside</crosshd><sec><sectitle>Methods</sectitle>
<p>As in <figr rid="f1">Fig. 1</figr>, 10<super>-1</super> M.<super><bibrinl rid="b3">3</bibrinl>
</super></p><p>Steps:<list><li><p>mix</p></li></list></p><fd><i>K</i> = 1</fd></sec></bdy>
<bm><objects><fig id="f1"><figtl>A gel.</figtl><caption><p>Lane 1, <b>Xa1</b>.</p></caption></fig>
<table id="t1"><title>Pairs</title><tgroup><tbody><row><entry>Xa1</entry><entry>Yb2</entry></row>
</tbody></tgroup></table></objects><ack><p>To all.</p></ack><fn id="n1"><p>A note.</p></fn>
<bibl><bib id="b1"><reftxt><atl>Old work</atl></reftxt></bib></bibl></bm></article>
"""

RSC = """<?xml version="1.0"?>
<article xmlns="http://www.rsc.org/schema/rscart38" type="ART"><art-admin><ms-id>b000001a</ms-id>
<doi>10.1039/b000001a</doi></art-admin>
<published type="print"><pubfront><fpage>1</fpage></pubfront></published>
<art-front><titlegrp><title>Xa<inf>1</inf> binds Yb2</title></titlegrp><authgrp><author><person>
<persname><surname>Author</surname></persname></person></author></authgrp>
<abstract><p>They bind.</p></abstract></art-front>
<art-body><section><no>1</no><title>Results</title><p>Seen<citref idrefs="c1">1</citref> in
<citref idrefs="c2" position="baseline">ref. 2</citref>, as <figref idrefs="f1">Fig. 1</figref>
shows <figure id="f1"><title>A gel.</title></figure>well.<footnote id="fn1">A note.</footnote></p>
<table-entry id="t1"><title>Pairs.</title><table><tgroup><tbody><row><entry>Xa1</entry>
<entry>Yb2</entry></row></tbody></tgroup></table></table-entry>
<subsect1><title>Steps</title><list><item>mix</item><item>wash</item></list></subsect1></section></art-body>
<art-back><ack><p>To all.</p></ack><biblist><title>References</title><citgroup id="c1"><journalcit>
<title>Old</title></journalcit></citgroup></biblist></art-back></article>
"""

PUBMED = """<?xml version="1.0"?>
<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle//EN" "https://dtd.nlm.nih.gov/p.dtd">
<PubmedArticleSet>
<PubmedArticle><MedlineCitation><PMID Version="1">11</PMID><Article>
<ArticleTitle>A <i>bcl</i>-2 study.</ArticleTitle><Abstract>
<AbstractText Label="AIM">To see TGF-&beta;<sub>1</sub>.</AbstractText>
<AbstractText Label="RESULT">Seen.</AbstractText>
<CopyrightInformation>Copyright.</CopyrightInformation></Abstract></Article>
<CommentsCorrectionsList><CommentsCorrections><PMID>99</PMID></CommentsCorrections>
</CommentsCorrectionsList></MedlineCitation></PubmedArticle>
<PubmedBookArticle><BookDocument><PMID>12</PMID><Book><BookTitle>A book</BookTitle></Book>
</BookDocument></PubmedBookArticle>
</PubmedArticleSet>
"""

BIOC_XML = """<?xml version="1.0"?>
<!DOCTYPE collection SYSTEM "BioC.dtd">
<collection><source>own</source><date>2010</date><key>k</key>
<document><id>21</id>
<passage><infon key="type">title</infon><offset>0</offset>
<text>A  title &amp; more.</text></passage>
<passage><infon key="type">abstract</infon><offset>18</offset><text/>
<sentence><offset>18</offset><text>One.</text></sentence>
<sentence><offset>23</offset><text>Two.</text></sentence></passage>
<passage><infon key="section_type">REF</infon><offset>30</offset><text>Old work.</text></passage>
</document>
<document><id>22</id><passage><offset>0</offset><text>Text.</text></passage></document>
</collection>
"""

BIOC = """{"source": "own", "documents": [
 {"id": "31", "passages": [
  {"infons": {"type": "title"}, "offset": 0, "text": "A  title."},
  {"infons": {"type": "abstract"}, "offset": 10, "text": "Ends in a blank. ", "annotations": []},
  {"infons": {"section_type": "REF", "type": "ref"}, "offset": 28, "text": "Old work."}]},
 {"id": 32, "passages": [{"sentences": [{"text": "One."}, {"text": "Two."}]},
  {"text": "", "sentences": [{"offset": 10, "text": "Three."}]},
  {"text": "Own.", "sentences": [{"text": "Not read."}]}]}]}
"""

SPRINGER = """<?xml version="1.0"?>
<!DOCTYPE Publisher PUBLIC "-//Springer-Verlag//DTD A++ V2.4//EN" "A++V2.4.dtd">
<Publisher><PublisherInfo><PublisherName>Springer</PublisherName></PublisherInfo><Journal><Volume>
<Issue><Article ID="s1"><ArticleInfo><ArticleID>1</ArticleID><ArticleDOI>10.1007/s1</ArticleDOI>
<ArticleTitle Language="En">Xa<Subscript>1</Subscript> binds Yb2</ArticleTitle></ArticleInfo>
<ArticleHeader><AuthorGroup><Author><AuthorName><FamilyName>Author</FamilyName></AuthorName></Author>
</AuthorGroup><Abstract ID="Abs1" Language="En"><Heading>Abstract</Heading><Para>They bind.</Para>
</Abstract><KeywordGroup Language="En"><Keyword>binding</Keyword></KeywordGroup></ArticleHeader>
<Body><Section1 ID="Sec1"><Heading>Results</Heading><Para>Seen [<CitationRef CitationID="CR1">1
</CitationRef>]<Superscript><CitationRef CitationID="CR2">2</CitationRef></Superscript> where
<InlineEquation ID="IE1"><EquationSource Format="TEX">$$K_d$$</EquationSource><EquationSource
 Format="MATHML"><math xmlns="http://www.w3.org/1998/Math/MathML"><msub><mi>K</mi>
 <mi>d</mi></msub> <mo>=</mo> <mn>1</mn></math></EquationSource></InlineEquation> in
<InternalRef RefID="Fig1">Fig. 1</InternalRef>.<Figure ID="Fig1"><Caption Language="En">
<CaptionNumber>Fig. 1</CaptionNumber><CaptionContent><SimplePara>A gel.</SimplePara>
</CaptionContent>
</Caption></Figure></Para><Para>Steps:<UnorderedList><ItemContent><Para>mix</Para></ItemContent></UnorderedList>
</Para><Para>By <InlineMediaObject><ImageObject FileRef="a.gif"/></InlineMediaObject>,<Footnote
 ID="Fn1"><Para>A note.</Para></Footnote> twice.</Para><Table ID="Tab1"><Caption
 Language="En"><CaptionNumber>Table 1</CaptionNumber><CaptionContent>
<SimplePara>Pairs.</SimplePara></CaptionContent></Caption><tgroup cols="2"><tbody><row><entry>
<SimplePara>Xa1</SimplePara></entry><entry><SimplePara>Yb2</SimplePara></entry></row></tbody></tgroup>
</Table></Section1></Body><ArticleBackmatter><Acknowledgments><Heading>Thanks</Heading><SimplePara>To
all.</SimplePara></Acknowledgments><Bibliography ID="Bib1"><Heading>References</Heading><Citation
 ID="CR1"><BibUnstructured>Old</BibUnstructured></Citation></Bibliography></ArticleBackmatter>
</Article></Issue></Volume></Journal></Publisher>
"""

TEI = """<?xml version="1.0" encoding="UTF-8"?>
<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc><titleStmt><title level="a">Xa<hi
 rend="subscript">1</hi> binds Yb2</title></titleStmt><sourceDesc><biblStruct><analytic><author>
<persName><surname>Author</surname></persName></author></analytic><idno type="DOI">10.1000/t.1
</idno><idno type="PMCID">123</idno></biblStruct></sourceDesc></fileDesc><profileDesc><abstract>
<div><p>They bind.</p></div></abstract></profileDesc></teiHeader><text><body><div><head
 n="1">Results</head><p>Seen before<hi rend="superscript"><ref type="bibr" target="#b0">1</ref></hi>
in <ref type="figure">Fig. 1</ref><note place="foot">A note.</note>, twice: <formula xml:id="f0"/>
and so on.</p><p>Steps:<list><item>mix</item></list></p></div>
<figure xml:id="fig_0"><head>Fig. 1</head><figDesc>A gel.</figDesc></figure>
<figure type="table"><head>Table 1</head><table><row><cell>Xa1</cell><cell>Yb2</cell></row></table>
</figure></body><back><div type="acknowledgement"><p>To all.</p></div><div type="references">
<listBibl><biblStruct><note>Old</note></biblStruct></listBibl></div></back></text></TEI>
"""

PUBTATOR = """900001|t|Xa1 binds Yb2.
900001|a|They bind | or so.
900001\t0\t3\tXa1\tGene\t7157|a|1
900001\tppi\t7157\t672

900002|t|A title alone
"""

MEDLINE = (
    '<!DOCTYPE MedlineCitation SYSTEM "p.dtd">'
    + PUBMED[PUBMED.index("<MedlineCitation>") : PUBMED.index("</PubmedArticle>")]
)


class Sample(NamedTuple):
    """A file: its name, its articles' ids, and what each line of their texts is."""

    name: str
    content: str
    ids: Sequence[str]
    kept: Sequence[tuple[str, str]]


SAMPLES = {
    "JATS": Sample("a.nxml", JATS, ["900001"], [
        ("title", "Binding of Xa1 to Yb2"), ("abstract", "Summary"), ("abstract", "Xa1 binds Yb2."),
        ("heading", "1. Results"),
        ("paragraph", "Ca2+ and H2O. As shown [3] in Figure 1, both bind well."),
        ("caption", "Figure 1 A gel."), ("caption", "Lane 1, Xa1."),
        ("paragraph", "Steps:"), ("list", "(a) mix"), ("list", "(b) wash"),
        ("paragraph", "then read."), ("caption", "Table 1 Pairs."), ("row", "A\tB"),
        ("row", "Xa1\tYb2"), ("note", "Measured twice."), ("formula", "(1) K = k1"),
        ("paragraph image", "An [image] twice."), ("heading", "Thanks"), ("paragraph", "To all."),
    ]),
    "Elsevier": Sample("a.xml", ELSEVIER, ["10.1016/j.x.1"], [
        ("title", "Xa1 binds Yb2"), ("abstract", "Abstract"), ("abstract", "They bind."),
        ("heading", "1 Methods"),
        ("paragraph formula image", "Seen before. See Fig. 1 and the table, K=1, [image]."),
        ("note", "a A note."), ("caption", "Table 1 Pairs."), ("row", "Xa1\tYb2"),
        ("paragraph", "Steps:"), ("list", "1. mix"), ("heading", "Thanks"),
        ("paragraph", "To all."), ("caption", "Fig. 1 A gel."),
    ]),
    "IOP Publishing": Sample("a.xml", IOP, ["10.1088/0001/1/1/1"], [
        ("title", "Xa1 binds Yb2"), ("abstract", "Abstract"), ("abstract", "They bind."),
        ("heading", "1 Results"), ("paragraph formula", "Seen [1] in figure 1 K twice."),
        ("caption", "Figure 1 A gel."), ("paragraph", "Steps:"), ("list", "mix"),
        ("caption", "Table 1 Pairs."), ("row", "Xa1\tYb2"), ("note", "Measured twice."),
        ("heading", "Thanks"), ("paragraph", "To all."), ("note", "A note."),
    ]),
    "Nature (NPG)": Sample("a.xml", NATURE, ["10.1038/nature00001"], [
        ("title", "Binding Xa1 binds Yb2"), ("abstract", "They bind."),
        ("paragraph", "Seen before, and by ref. 2."), ("heading", "Aside"), ("heading", "Methods"),
        ("paragraph", "As in Fig. 1, 10-1 M."), ("paragraph", "Steps:"), ("list", "mix"),
        ("formula", "K = 1"), ("caption", "A gel."), ("caption", "Lane 1, Xa1."),
        ("caption", "Pairs"), ("row", "Xa1\tYb2"), ("paragraph", "To all."), ("note", "A note."),
    ]),
    "Royal Society of Chemistry": Sample("a.xml", RSC, ["10.1039/b000001a"], [
        ("title", "Xa1 binds Yb2"), ("abstract", "They bind."), ("heading", "1 Results"),
        ("paragraph", "Seen in ref. 2, as Fig. 1 shows well."), ("caption", "A gel."),
        ("note", "A note."), ("caption", "Pairs."), ("row", "Xa1\tYb2"), ("heading", "Steps"),
        ("list", "mix"), ("list", "wash"), ("paragraph", "To all."),
    ]),
    "Springer (A++)": Sample("a.xml", SPRINGER, ["10.1007/s1"], [
        ("title", "Xa1 binds Yb2"), ("abstract", "Abstract"), ("abstract", "They bind."),
        ("heading", "Results"), ("paragraph formula", "Seen [1 ] where Kd=1 in Fig. 1."),
        ("caption", "Fig. 1 A gel."), ("paragraph", "Steps:"), ("list", "mix"),
        ("paragraph image", "By [image], twice."), ("note", "A note."),
        ("caption", "Table 1 Pairs."), ("row", "Xa1\tYb2"), ("heading", "Thanks"),
        ("paragraph", "To all."),
    ]),
    "TEI": Sample("a.tei", TEI, ["PMC123"], [
        ("title", "Xa1 binds Yb2"), ("abstract", "They bind."), ("heading", "Results"),
        ("paragraph formula", "Seen before in Fig. 1, twice: [formula] and so on."),
        ("note", "A note."), ("paragraph", "Steps:"), ("list", "mix"), ("caption", "Fig. 1"),
        ("caption", "A gel."), ("caption", "Table 1"), ("row", "Xa1\tYb2"),
        ("paragraph", "To all."),
    ]),
    "PubMed": Sample("a.xml", PUBMED, ["11", "12"], [
        ("title", "A bcl-2 study."), ("abstract", "AIM: To see TGF-β1."),
        ("abstract", "RESULT: Seen."), ("title", "A book"),
    ]),
    "PubMed, a `MedlineCitation`": Sample("a.xml", MEDLINE, ["11"], [
        ("title", "A bcl-2 study."), ("abstract", "AIM: To see TGF-β1."),
        ("abstract", "RESULT: Seen."),
    ]),
    "PubTator": Sample("a.pubtator", PUBTATOR, ["900001", "900002"], [
        ("title", "Xa1 binds Yb2."), ("abstract", "They bind | or so."),
        ("title", "A title alone"),
    ]),
    "BioC XML": Sample("a.xml", BIOC_XML, ["21", "22"], [
        ("title", "A  title & more."), ("abstract", "One. Two."), ("paragraph", "Text."),
    ]),
    "BioC JSON": Sample("a.json", BIOC, ["31", "32"], [
        ("title", "A  title."), ("abstract", "Ends in a blank. "), ("paragraph", "One. Two."),
        ("paragraph", "Three."), ("paragraph", "Own."),
    ]),
}  # fmt: skip
"""A file of each kind, by the name that docs/corpus.md has for it."""

CRAFT = 11
"""The full texts of CRAFT, in JATS."""
BIOCREATIVE = {
    "PMtask_Triage_TestSet": 1427,
    "PMtask_Triage_TrainingSet": 4082,
    "PMtask_Relations_TestSet": 635,
    "PMtask_Relations_TrainingSet": 597,
}
"""The abstracts of BioCreative VI in BioC JSON, by file."""
