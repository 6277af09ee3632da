"""The reference of the operations is what the table of operations says."""

import pytest

from metaserver.operations.catalogue import OPERATIONS
from metaserver.operations.outline import Outline
from metaserver.operations.reference import API_FILE, to_markdown
from metaserver.operations.table import Operation


def test_the_reference_is_up_to_date() -> None:
    """If it fails, run `python -m metaserver.operations.reference`."""
    assert API_FILE.read_text("utf-8") == to_markdown(OPERATIONS)


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_every_operation_has_its_text_and_every_field_its_help(operation: Operation) -> None:
    outline = Outline.of(operation)
    assert outline.summary.endswith("."), outline.doc
    unexplained = [given.name for given in outline.parameters if not given.help]
    assert not unexplained
