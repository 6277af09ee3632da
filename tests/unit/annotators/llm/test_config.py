"""The configuration of the annotator that asks a language model."""

from pathlib import Path

import pytest

from annotators.errors import BadInputError
from annotators.llm.config import LlmConfig, read_config

URL = "http://127.0.0.1:8000/v1/"


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "llm.yaml"
    path.write_text(text)
    return path


def test_options_win_over_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, "base_url: http://a/v1\nmodel: a\nprice: {input: 2}\nat_once: 8\n")
    config = read_config(path, base_url=URL, model=None)
    assert (config.url, config.model) == ("http://127.0.0.1:8000/v1/chat/completions", "a")
    assert (config.price.input, config.at_once) == (2, 8)


def test_the_instructions_are_named_by_their_digest() -> None:
    one, other = LlmConfig(prompt="a"), LlmConfig(prompt="b")
    assert one.digest != other.digest
    assert len(LlmConfig().system) > 500


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("modle: x", "unknown field `modle`"),
        ("at_once: 0", r"`\$.at_once`"),
        ("temperature: hot", r"`\$.temperature`"),
        ("price: {input: -1}", r"`\$.price.input`"),
        ("- a", "expected settings"),
        ("a: [", "not YAML"),
        ("a: !!python/object:os.system x", "not YAML"),
        ("x: &a [*a]", "unknown field"),
        ("[" * 1500, "not YAML"),
    ],
)
def test_a_bad_setting_is_named(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(BadInputError, match=expected):
        read_config(written(tmp_path, text), base_url=URL, model="m")


@pytest.mark.parametrize(
    "url",
    ["", "127.0.0.1/v1", "ftp://host/v1", "http:///v1", "http://[::1/v1", "http://h/v1?key=1"],
)
def test_a_bad_address_is_refused(url: str) -> None:
    with pytest.raises(BadInputError, match=r"--base-url: .* is no URL"):
        read_config(None, base_url=url, model="m")


def test_a_key_in_the_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(BadInputError) as caught:
        read_config(None, base_url="http://me:secret@host/v1", model="m")
    assert "secret" not in str(caught.value)


def test_a_key_that_is_no_header_is_refused_and_not_repeated(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1\nX-Other: 2")
    with pytest.raises(BadInputError, match="OPENAI_API_KEY: is no key") as caught:
        read_config(None, base_url=URL, model="m")
    assert "sk-1" not in str(caught.value)
