"""Every integer that is asked for is one that a column of any store holds."""

import msgspec
import pytest
from msgspec import inspect

from metaserver.cli.catalogue import OPERATIONS
from metaserver.operations.fields import GREATEST

NOT_STORED = {
    "audit.list.before",  # ids of logs have 64 bits
    "releases.search.taxon",
    "results-package.read.offset",
    "data-package.read.offset",
}


def integers(kind, place, within=frozenset()):
    """Yield the places of integers without a bound, or with one that is too great."""
    match kind:
        case inspect.Metadata():
            yield from integers(kind.type, place, within)
        case inspect.IntType():
            if (kind.le is None or kind.le > GREATEST) and place not in NOT_STORED:
                yield place
        case inspect.UnionType():
            for one in kind.types:
                yield from integers(one, place, within)
        case inspect.CollectionType():
            yield from integers(kind.item_type, place, within)
        case inspect.DictType():
            yield from integers(kind.value_type, place, within)
        case inspect.StructType() if kind.cls not in within:
            for field in kind.fields:
                yield from integers(field.type, f"{place}.{field.name}", within | {kind.cls})


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_integer_is_bounded(name: str) -> None:
    request: type[msgspec.Struct] = OPERATIONS[name].request
    assert list(integers(inspect.type_info(request), name)) == []
