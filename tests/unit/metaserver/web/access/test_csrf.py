import base64
import secrets

import pytest

from metaserver.web.access import csrf

VALUE = secrets.token_urlsafe(32)


def test_a_masked_value_is_another_text_each_time_and_matches():
    texts = {csrf.masked(VALUE) for _ in range(100)}
    assert len(texts) == 100
    assert all(csrf.matches(text, VALUE) for text in texts)
    assert not any(VALUE[at : at + 9] in text for text in texts for at in range(len(VALUE) - 8))


@pytest.mark.parametrize(
    "given",
    [
        "", VALUE, csrf.masked("another"), csrf.masked(secrets.token_urlsafe(32)), "ä" * 86,
        "*" * 86, "\ud800", base64.urlsafe_b64encode(b"\0" * 85).decode(), csrf.masked(""),
        csrf.masked(VALUE)[:-4], csrf.masked(VALUE) + "AAAA", " " + csrf.masked(VALUE),
    ],
    ids=range(12),  # masks are drawn at random, and each process of the tests must name them alike
)  # fmt: skip
def test_nothing_else_matches(given):
    assert not csrf.matches(given, VALUE)
