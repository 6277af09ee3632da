"""JSON with all that is known: round trip, schema, hostile texts."""

import json

import msgspec
from hypothesis import given, settings
from jsonschema import Draft202012Validator

from metaserver.curation.exports.characters import unicode_tree
from metaserver.curation.exports.finished import read_json, schema, write_json
from tests.shared import ROOT
from tests.unit.metaserver.curation.samples import SAMPLE, curations


@settings(max_examples=50)
@given(curations())
def test_any_curation_is_read_back_but_for_half_characters(curation) -> None:
    [found] = read_json(write_json([curation]))
    sent = msgspec.to_builtins(curation)
    assert unicode_tree(msgspec.to_builtins(found)) == unicode_tree(sent)


def test_the_schema_is_the_documented_one() -> None:
    """Write it again with python -m tests.unit.metaserver.curation.exports.test_json."""
    assert json.loads(DOCUMENT.read_text("utf-8")) == json.loads(json.dumps(schema()))


def test_the_schema_describes_what_is_written() -> None:
    validator = Draft202012Validator(schema())
    validator.validate(json.loads(write_json([SAMPLE])))
    assert not validator.is_valid({"curations": [{"id": "c42"}]})


DOCUMENT = ROOT / "docs" / "curation.schema.json"

if __name__ == "__main__":
    DOCUMENT.write_text(json.dumps(schema(), indent=1) + "\n", "utf-8")
