"""Every operation explains itself and its fields."""

from metaserver.cli.catalogue import OPERATIONS
from metaserver.operations.outline import Outline


def test_every_operation_has_its_text_and_every_field_its_help() -> None:
    outlines = [Outline.of(operation) for operation in OPERATIONS.values()]
    assert [one.name for one in outlines if not one.summary.endswith(".")] == []
    fields = [(one.name, given) for one in outlines for given in one.parameters]
    assert [(name, given.name) for name, given in fields if not given.help] == []
