"""Valid URLs of servers, and their public parts."""

import pytest

from metaserver.base.errors import InputError
from metaserver.exchange.http.urls import address, check_url, masked


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
