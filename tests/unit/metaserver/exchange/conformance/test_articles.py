"""The articles of a conformance run: each has what it is named for."""

import unicodedata

from metaserver.exchange.conformance.procedure import ARTICLES, FIRST, LONG_BYTES, TOGETHER

TEXTS = {article.name: article.text for article in ARTICLES}


def test_each_article_has_a_name_and_an_id_of_its_own() -> None:
    assert len(TEXTS) == len({article.id for article in ARTICLES}) == len(ARTICLES)


def test_the_first_articles_are_of_a_kind_that_is_never_forgiven() -> None:
    assert not any(ARTICLES[place].forgiven for place in (FIRST, *TOGETHER))


def test_the_long_article_is_plain_and_does_not_repeat_itself() -> None:
    text = TEXTS["long article (300 KB)"]
    assert LONG_BYTES <= len(text.encode()) < LONG_BYTES + 10_000
    assert text.isascii()
    lines = text.splitlines()
    assert len(set(lines)) == len(lines)


def test_characters_are_those_of_the_names() -> None:
    assert not TEXTS["non-ASCII article"].isascii()
    assert max(TEXTS["non-ASCII article"]) <= "\uffff" < max(TEXTS["astral article"])
    assert TEXTS["empty article"] == ""
    controls = {one for one in TEXTS["control characters"] if unicodedata.category(one) == "Cc"}
    assert {"\x00", "\x01", "\x0b", "\x0c", "\x1f", "\x7f", "\x85"} <= controls
