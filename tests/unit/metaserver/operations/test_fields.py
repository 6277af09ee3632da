"""The fields that operations share."""

import msgspec
import pytest

from metaserver.base.errors import RefusedError
from metaserver.operations.fields import OnePhase, OneServer, require_one_of

NAMES = ["a", "A9", "blue-1", "a.b_c-d", "0", "x" * 64]
OTHERS = ["", "-a", ".a", "_a", "a b", "a/b", "ä", "a\n", "\na", "x" * 65, "a\x00"]


@pytest.mark.parametrize("kind", [OneServer, OnePhase])
def test_a_name_is_letters_digits_dots_and_dashes(kind: type[msgspec.Struct]) -> None:
    [field] = kind.__struct_fields__
    for name in NAMES:
        assert getattr(msgspec.convert({field: name}, kind), field) == name
    for name in OTHERS:
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert({field: name}, kind)


def test_a_value_is_one_of_those_that_are_known() -> None:
    require_one_of("b", iter("ab"), "letter")
    with pytest.raises(RefusedError, match="'c' is none of a, b") as caught:
        require_one_of("c", iter("ab"), "letter")
    assert caught.value.field == "letter"
