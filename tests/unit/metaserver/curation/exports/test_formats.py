"""The table of formats: each writes the sample, and is documented with an example."""

import re

import pytest

from metaserver.curation.exports.formats import FORMATS
from tests.shared import ROOT
from tests.unit.metaserver.curation.samples import SAMPLE

DOCUMENT = ROOT / "docs" / "exports.md"
EXAMPLES = re.compile(r"<!-- example of ([a-z0-9-]+) -->\n```\w*\n(.*?)```\n", re.DOTALL)


@pytest.mark.parametrize("name", FORMATS)
def test_the_document_shows_what_is_written(name: str) -> None:
    """A line `...` of the document stands for any lines."""
    shown = dict(EXAMPLES.findall(DOCUMENT.read_text("utf-8")))[name]
    written = FORMATS[name].write([SAMPLE]).decode("utf-8")
    parts = re.split(r"^ *\.\.\.\n", shown, flags=re.MULTILINE)
    pattern = ".*?".join(map(re.escape, parts))
    assert re.fullmatch(pattern, written if written.endswith("\n") else f"{written}\n", re.DOTALL)


def test_names_and_suffixes_are_unique() -> None:
    assert len({one.suffix for one in FORMATS.values()}) == len(FORMATS)
    assert len({one.title for one in FORMATS.values()}) == len(FORMATS)
