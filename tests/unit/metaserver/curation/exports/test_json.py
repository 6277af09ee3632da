"""JSON with all that is known: round trip, schema, hostile texts."""

import json

import msgspec
from hypothesis import given, settings
from jsonschema import Draft202012Validator

from metaserver.curation.exports.characters import unicode_tree
from metaserver.curation.exports.finished import CurationFile, read_json, write_json
from tests.docs.schemas import schema
from tests.unit.metaserver.curation.samples import SAMPLE, curations


@settings(max_examples=50)
@given(curations())
def test_any_curation_is_read_back_but_for_half_characters(curation) -> None:
    [found] = read_json(write_json([curation]))
    sent = msgspec.to_builtins(curation)
    assert unicode_tree(msgspec.to_builtins(found)) == unicode_tree(sent)


def test_the_schema_describes_what_is_written() -> None:
    validator = Draft202012Validator(schema(CurationFile))
    validator.validate(json.loads(write_json([SAMPLE])))
    assert not validator.is_valid({"curations": [{"id": "c42"}]})
