"""JSON bodies of operations: bounded before anything is built."""

import base64
import tracemalloc
from typing import Any

import pytest

from metaserver.base.errors import Refusal, RefusedError
from metaserver.operations.outline import Outline
from metaserver.web.api.json_values import NAME_LENGTH, STRIDE, VALUES, check_count, read_object
from tests.unit.metaserver.web.small import SMALL

MAKE = Outline.of(SMALL["boxes.make"])
FILL = Outline.of(SMALL["boxes.fill"])


def refused(body: bytes, outline: Outline = MAKE) -> RefusedError:
    with pytest.raises(RefusedError) as error:
        read_object(body, outline)
    return error.value


def test_fields_are_read_by_name() -> None:
    body = b'{"box": "a", "labels": ["x", "\\u00fc,["], "size": {"width": 3}, "lid": null}'
    assert read_object(body, MAKE) == {
        "box": "a", "labels": ["x", "ü,["], "size": {"width": 3}, "lid": None,
    }  # fmt: skip


def test_a_file_is_read_into_bytes() -> None:
    content = base64.b64encode(bytes(range(256)))
    assert read_object(b'{"content": "%s"}' % content, FILL) == {"content": bytes(range(256))}
    assert read_object(b'{"content": null}', FILL) == {"content": None}
    for wrong in (b"[]", b"7", b'"!"', b"{}"):
        error = refused(b'{"content": %s}' % wrong, FILL)
        assert (error.refusal, error.field) == (Refusal.INVALID, "content")


@pytest.mark.parametrize("value", [b"[" * 10, b"9" * 10, b'"' + b"x" * 10, b"{"])
def test_an_unknown_name_is_refused_before_its_value_is_built(value: bytes) -> None:
    """And is not repeated at length; but what is no JSON is told as that."""
    with pytest.raises((RefusedError, ValueError)):
        read_object(b'{"paint": %s}' % value, MAKE)
    error = refused(b'{"%s": [1]}' % (b"p" * 1_000))
    assert (error.refusal, len(error.field)) == (Refusal.INVALID, NAME_LENGTH)


@pytest.mark.parametrize("value", [b"[],", b"{},", b"1,", b'"",', b"[[]],", b'{"a":1},'])
@pytest.mark.parametrize("times", [1, 4])
def test_the_number_of_values_is_bounded_before_they_are_built(value: bytes, times: int) -> None:
    body = b'{"labels": [' + value * (times * VALUES) + b"0]}"
    tracemalloc.start()
    try:
        error = refused(body)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert error.refusal is Refusal.TOO_LARGE
    assert most < 100_000


def test_as_many_values_as_may_be_are_read() -> None:
    labels: Any = read_object(b'{"labels": [' + b"0," * (VALUES - 4) + b"0]}", MAKE)["labels"]
    assert len(labels) == VALUES - 3
    check_count(b"," * (VALUES - 1))
    for body in (b"," * VALUES, b" " * (STRIDE - 1) + b"[" * VALUES):
        with pytest.raises(RefusedError):
            check_count(body)


@pytest.mark.parametrize("size", [10**4, 10**6])
def test_numbers_and_nesting_without_end_are_not_json(size: int) -> None:
    for value in (b"9" * size, b"-" + b"9" * size, b"[" * min(size, VALUES - 10)):
        with pytest.raises((ValueError, RecursionError)):
            read_object(b'{"weight": ' + value + b"}", MAKE)
