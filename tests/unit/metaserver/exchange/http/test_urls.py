"""Valid URLs of servers, their masked secrets, and the meaning of *** in a submitted URL."""

import time

import pytest

from metaserver.base.errors import InputError
from metaserver.exchange.http.urls import (
    address,
    check_url,
    completed,
    masked,
    shown,
    shown_webhook,
    without_secrets,
)


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("http://example.org:81/RPC2", "http://example.org:81/RPC2"),
        ("http://team:secret@example.org/RPC2", "http://***@example.org/RPC2"),
        ("http://team@example.org", "http://***@example.org"),
        ("http://example.org/a?key=secret#part", "http://example.org/a?***"),
        ("http://example.org/#secret", "http://example.org/#***"),
        ("http://example.org/a@b?c=d@e", "http://example.org/a@b?***"),
        ("http://u:p@[::1]:80/x", "http://***@[::1]:80/x"),
        ("http://u:p@e.org?secret", "http://***@e.org?***"),
        ("secret@example.org", "***@example.org"),
    ],
)
def test_secrets_are_not_shown(url: str, seen: str) -> None:
    assert shown(url) == shown(seen) == seen
    assert "secret" not in shown(url)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("http://h/", "http://h/"),
        ("http://h/#secret", "http://h/#***"),
        ("http://h/p?a@secret", "http://h/p?***"),
        ("http://h/p#a@secret", "http://h/p#***"),
        ("http://u:secret@h/p?a@secret", "http://***@h/p?***"),
        ("http://h:80/a@b", "http://h:80/a@b"),
        ("http://[::1]:80/?secret@x", "http://[::1]:80/?***"),
        ("//u:secret@h/", "//***@h/"),
        ("svn+ssh://u:secret@h/p?secret", "svn+ssh://***@h/p?***"),
        ("http://u:se?cret@h/", "http://***@h/"),  # passwords that are not quoted
        ("http://u:se#cret@h/", "http://***@h/"),
        ("http://u:se/cret@h/?secret", "http://***@h/?***"),
        ("secret@h/#secret", "***@h/#***"),
        ("h/?secret", "h/?***"),
        ("h/#secret", "h/#***"),
    ],
)
def test_secrets_are_masked_in_whatever_is_given_as_a_url(text: str, seen: str) -> None:
    assert masked(text) == masked(seen) == seen
    found = without_secrets(f"no answer of {text} yet").count("secret")
    assert found == (text.count("secret") if "//" not in text else 0)


def test_secrets_are_masked_in_the_urls_of_a_text() -> None:
    text = "sent from https://a:b@h/x to //u:p@h/?t, c//d; 1 // 2"
    assert without_secrets(text) == "sent from https://***@h/x to //***@h/?*** c//d; 1 // 2"


def test_a_webhook_is_shown_by_its_host() -> None:
    url = "https://u:p@hooks.example.org:444/services/T0/SECRET?x=y"
    assert shown_webhook(url) == "https://hooks.example.org:444/***"
    assert shown_webhook("") == ""


KEPT = "https://team:secret@example.org/RPC2?key=hidden"


@pytest.mark.parametrize(
    ("given", "becomes"),
    [
        (shown(KEPT), KEPT),
        ("https://***@example.org/other?***", "https://team:secret@example.org/other?key=hidden"),
        ("https://***@example.org:443/", "https://team:secret@example.org:443/"),
        ("https://new:pass@example.org/?***", "https://new:pass@example.org/?key=hidden"),
        ("https://***@EXAMPLE.org/x?y=1", "https://team:secret@EXAMPLE.org/x?y=1"),
        ("https://example.org/RPC2", "https://example.org/RPC2"),  # taken away
        ("http://elsewhere.org/?a=b", "http://elsewhere.org/?a=b"),
    ],
)
def test_masked_secrets_are_kept(given: str, becomes: str) -> None:
    assert completed(given, KEPT, "url") == becomes


@pytest.mark.parametrize(
    "given",
    [
        "https://***@attacker.org/RPC2",  # a secret is for one host alone
        "https://attacker.org/RPC2?***",
        "http://***@example.org/RPC2",  # and not to be sent in plain text
        "https://***@example.org:8443/RPC2",
        "https://team:***@example.org/RPC2",
        "https://***@example.org/RPC2?key=***",
        "https://***@example.org/RPC2#***",
    ],
)
def test_a_secret_is_not_kept_for_another_host(given: str) -> None:
    kept = KEPT.removesuffix("?key=hidden") if "#" in given else KEPT
    with pytest.raises(InputError, match=r"stands for the stored secret"):
        completed(given, kept, "url")


def test_a_mask_without_a_stored_secret_is_refused() -> None:
    with pytest.raises(InputError, match="enter the secret"):
        completed("http://***@example.org/", "", "url")
    with pytest.raises(InputError, match="enter the secret"):
        completed("http://***@example.org/?***", "http://me@example.org/", "url")


@pytest.mark.parametrize("part", ["a.", "a-b+", "//", "a:", "//a@", "x", "a//", "http://"])
def test_the_time_to_mask_grows_with_the_text_and_no_more(part: str) -> None:
    """A server chooses the text, such as a `Location`: 16 times the time, not 256 times."""

    def seconds(length: int) -> float:
        text = (part * length)[:length]
        begun = time.thread_time()
        for _ in range(5):
            without_secrets(text)
        return time.thread_time() - begun

    assert seconds(80_000) < 100 * seconds(5_000) + 0.5


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8100/", "https://annotate.example.org", "http://[::1]:8100/RPC2",
        "http://team:secret@example.org/x?y=z", "http://bücher.example/",
    ],
)  # fmt: skip
def test_a_url_is_kept_as_it_is(url: str) -> None:
    assert check_url(url, "--server") == url


@pytest.mark.parametrize(
    "text",
    [
        "", "127.0.0.1:8100", "localhost:8100", "ftp://example.org/", "http://", "http:///path",
        "http://example.org:0/", "http://example.org:99999/", "http://example.org:port/",
        "http://[::1/", "http://exa mple.org/", "http://example.org/\n", "http://a..b/",
        f"http://{'a' * 64}.org/", f"http://{'ü' * 70}.org/",
    ],
)  # fmt: skip
def test_an_invalid_url_is_reported_in_one_line(text: str) -> None:
    with pytest.raises(InputError) as caught:
        check_url(text, "--server a")
    found = str(caught.value)
    assert found == f"--server a: {text!r} is not the URL of a server; expected http://HOST:PORT/"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://team:secret@example.org:8100/x?token=y#z", "http://example.org:8100"),
        ("https://example.org/", "https://example.org"),
    ],
)
def test_nothing_secret_of_a_url_is_shown(url: str, shown: str) -> None:
    assert address(url) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://team:secret@example.org:0/", "http://***@example.org:0/"),
        ("ftp://secret@example.org/", "ftp://***@example.org/"),
        ("http://team:sec@ret@example.org/ ", "http://***@example.org/ "),
        ("http://team:sec/ret@[::1/", "http://***@[::1/"),
        ("team:secret@example.org", "***@example.org"),
        ("http:///x?token=secret", "http:///x?***"),
        ("one http://team:secret@example.org/", "***@example.org/"),
        ("http://example.org:port/", "http://example.org:port/"),
    ],
)
def test_an_invalid_url_is_reported_without_its_secrets(text: str, shown: str) -> None:
    assert masked(text) == shown
    with pytest.raises(InputError) as caught:
        check_url(text, "--server a")
    assert "secret" not in str(caught.value)
