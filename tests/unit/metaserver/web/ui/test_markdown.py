import re
from html.parser import HTMLParser

import pytest

from metaserver.web.ui.formatting import countdown
from metaserver.web.ui.markdown import MOST, render

HOSTILE = [
    "<script>alert(1)</script>", '<img src=x onerror="alert(1)">', "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1))", "[a](data:text/html,<script>alert(1)</script>)", "[a](vbscript:x)",
    "<javascript:alert(1)>", "![a](http://elsewhere.example/pixel.png)",
    '[a](http://b "\\" onmouseover=alert(1) x=\\"")', "`<svg onload=alert(1)>`",
    "```html onload\n<iframe src=//x></iframe>\n```", "<a href='x' onclick=alert(1)>a</a>",
    "# <b id=main>x</b>", "[a]: javascript:alert(1)\n\n[a]", "a\x00<script>",
    "| <style> |\n|---|\n| </table><script>1</script> |",
]  # fmt: skip


class Found(HTMLParser):
    """The tags and attributes of a text of HTML."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes += attributes


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_nothing_in_a_text_becomes_a_script(text):
    found = Found(render(text))
    assert found.tags <= {
        "p", "a", "code", "pre", "h3", "table", "thead", "tbody", "tr", "th", "td"
    }  # fmt: skip
    assert {name for name, _ in found.attributes} <= {"href", "title", "rel", "id"}
    targets = [value for name, value in found.attributes if name == "href"]
    assert all(re.match("https?:|mailto:", target) for target in targets)


def test_links_say_that_they_vouch_for_nothing():
    made = render("[a](https://a.example) <b@c.example> [d](#rules)")
    assert made.count('rel="nofollow noopener"') == 3
    assert 'href="mailto:b@c.example"' in made


def test_only_pictures_of_the_challenge_are_shown():
    text = '![<b>"a" & b](pictures/a.png) ![](http://b.example/b.png)'
    made = render(text)
    assert made.startswith('<p>&lt;b&gt;"a" &amp; b !<a href="http://b.example/b.png"')
    shown = Found(render(text, challenge="bc 8/x"))
    assert ("src", "/pictures/bc%208%2Fx/a.png") in shown.attributes
    assert ("alt", '<b>"a" & b') in shown.attributes
    assert shown.tags == {"p", "img", "a"}
    for place in ("pictures/../x.png", "pictures/x.svg", "pictures//b.example/x.png"):
        assert "<img" not in render(f"![a]({place})", challenge="bc")


def test_headings_stand_below_the_page_with_anchors_of_their_own():
    made = render("# Über Scores\n\n###### Deep\n\n# Über Scores\n\n# 中", "rules")
    assert re.findall(r'<(h\d) id="([^"]+)"', made) == [
        ("h3", "rules-ber-scores"), ("h6", "rules-deep"), ("h3", "rules-ber-scores-2"),
        ("h3", "rules-heading"),
    ]  # fmt: skip
    assert made.count("</h3>") == 3


def test_tables_and_lists_are_kept():
    made = render("| a | b |\n|---|---|\n| 1 | ~~2~~ |\n\n3. three")
    assert "<td>1</td>" in made
    assert "<s>2</s>" in made
    assert '<ol start="3">' in made


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["[", "> ", "- ", "`", "|a"])
def test_a_text_made_to_take_long_is_rendered(piece):
    assert render((piece * MOST)[:MOST])


def test_a_text_that_is_too_long_is_refused():
    with pytest.raises(ValueError, match="at most 50,000 characters"):
        render("a" * (MOST + 1))


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (3 * 86_400 + 4 * 3600 + 59, "in 3 days 4 h"), (86_400, "in 1 day"),
        (4 * 3600 + 720, "in 4 h 12 min"), (119, "in 1 min"), (59, "now"), (-59, "now"),
        (-3600, "1 h ago"), (-200_000, "2 days ago"), (-120, "2 min ago"),
    ],
)  # fmt: skip
def test_a_countdown_is_in_words(seconds, words):
    assert countdown(seconds) == words
