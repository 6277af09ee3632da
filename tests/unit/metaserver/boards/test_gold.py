"""Gold files as they are sent: read under any name, and named in errors as their sender did."""

import pytest

from metaserver.base.errors import InputError
from metaserver.boards.gold import read_gold
from metaserver.tasks.int_ import INT
from metaserver.tasks.plugin import installed_tasks


@pytest.mark.parametrize(
    "source", ["gold.tsv", "a/folder/gold.tsv", "/", "", "..", "a/..", "\0", "\u4e2d" * 200]
)
def test_a_gold_file_may_have_any_name(source: str) -> None:
    gold = read_gold(INT.name, b"100\tP04637\n", source)
    assert gold.items == {"100": {"P04637"}}


def test_an_error_names_the_file_as_its_sender_did() -> None:
    with pytest.raises(InputError) as raised:
        read_gold(INT.name, b"100\tP04637\n200\n", "mine/gold.tsv")
    assert str(raised.value).startswith("mine/gold.tsv:2: 1 column; expected 2")
    with pytest.raises(InputError, match=r"mine/gold\.tsv: empty"):
        read_gold(INT.name, b"", "mine/gold.tsv")


def test_a_task_sees_the_kind_of_file_that_its_sender_said() -> None:
    """XML in UTF-16 does not begin with `<`: what it is can be read from its name alone."""
    [ner] = [name for name in installed_tasks() if name == "NER"]
    text = '<?xml version="1.0" encoding="UTF-16"?><document id="d"></document>'.encode("utf-16")
    with pytest.raises(InputError, match="expected the corpus XML"):
        read_gold(ner, text, "gold.xml")
    with pytest.raises(InputError, match="UTF-8"):
        read_gold(ner, text, "gold.tsv")
