"""The reference of the settings is what the code and config.yaml say."""

import msgspec

from metaserver.config import Settings
from tests.docs.settings import PAGE, comments, to_markdown


def test_the_reference_is_up_to_date() -> None:
    """If it fails, run `python -m tests.docs.settings`."""
    assert PAGE.read_text("utf-8") == to_markdown()


def test_every_setting_is_in_the_reference() -> None:
    written = to_markdown()
    for name, value in msgspec.to_builtins(Settings()).items():
        inner = value if isinstance(value, dict) else {name: value}
        for one in inner:
            assert f"| `{one}` |" in written, one


def test_comments_are_found_by_path() -> None:
    text = "a: 1  # first\nb:  # second\n  c: 2  # third\n  d: 3\ne: []\n"
    assert comments(text) == {"a": "first", "b": "second", "b.c": "third", "b.d": "", "e": ""}
