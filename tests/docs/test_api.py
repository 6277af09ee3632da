"""The reference of the operations is what the table of operations says."""

from metaserver.operations.catalogue import OPERATIONS
from metaserver.operations.outline import Outline
from metaserver.operations.reference import API_FILE, to_markdown


def test_the_reference_is_up_to_date() -> None:
    """If it fails, run `python -m metaserver.operations.reference`."""
    assert API_FILE.read_text("utf-8") == to_markdown(OPERATIONS)


def test_every_operation_has_its_text_and_every_field_its_help() -> None:
    outlines = [Outline.of(operation) for operation in OPERATIONS.values()]
    assert [one.name for one in outlines if not one.summary.endswith(".")] == []
    fields = [(one.name, given) for one in outlines for given in one.parameters]
    assert [(name, given.name) for name, given in fields if not given.help] == []
