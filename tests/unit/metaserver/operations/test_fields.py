"""The fields that operations share."""

import msgspec
import pytest

from metaserver.base.errors import RefusedError
from metaserver.operations.fields import OnePhase, OneServer, require_one_of

NAMES = ["a", "A9", "blue-1", "a.b_c-d", "0"]
OTHERS = ["", "-a", ".a", "_a", "a b", "a/b", "ä", "a\n", "\na", "a\x00"]


@pytest.mark.parametrize(("kind", "most"), [(OneServer, 64), (OnePhase, 200)])
def test_a_name_is_letters_digits_dots_and_dashes(kind, most) -> None:
    [field] = kind.__struct_fields__
    for name in [*NAMES, "x" * most]:
        assert getattr(msgspec.convert({field: name}, kind), field) == name
    for name in [*OTHERS, "x" * (most + 1)]:
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert({field: name}, kind)


def test_a_value_is_one_of_those_that_are_known() -> None:
    require_one_of("b", iter("ab"), "letter")
    with pytest.raises(RefusedError, match="'c' is none of a, b") as caught:
        require_one_of("c", iter("ab"), "letter")
    assert caught.value.field == "letter"
