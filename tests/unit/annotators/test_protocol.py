from contextlib import suppress
from xmlrpc.client import Fault, dumps, loads

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotators.errors import RequestError
from annotators.protocol import (
    INVALID_REQUEST,
    PARSE_ERROR,
    Call,
    decode_call,
    encode_answer,
    encode_fault,
)


def test_white_space_and_every_script_arrive_unchanged():
    text = "  α-synuclein \n\t蛋白质 🧬 <a & b>  "
    body = dumps((text, {"attempt": 1}), "Annotator.getAnnotation").encode()
    assert decode_call(body) == Call("Annotator.getAnnotation", (text, {"attempt": 1}))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"hello",
        b"<methodCall><methodName>x</methodName>",
        dumps((7,), "x").replace("7", "many").encode(),
        b'<!DOCTYPE m [<!ENTITY a "b">]><methodCall><methodName>&a;</methodName></methodCall>',
        '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE m><methodCall/>'.encode("utf-16"),
    ],
)
def test_what_is_not_xml_rpc_is_a_parse_error(body):
    with pytest.raises(RequestError) as caught:
        decode_call(body)
    assert caught.value.code == PARSE_ERROR


def test_a_response_is_not_a_call():
    with pytest.raises(RequestError) as caught:
        decode_call(dumps((1,), methodresponse=True).encode())
    assert caught.value.code == INVALID_REQUEST


@given(st.binary(max_size=200))
def test_any_bytes_give_a_call_or_a_request_error(body):
    with suppress(RequestError):
        assert isinstance(decode_call(body), Call)


def test_answers_may_hold_numpy_values_and_tuples():
    answer = {"interaction": (np.bool_(True), np.float64(0.5)), "counts": np.array([1, 2])}
    (value,), _ = loads(encode_answer(answer))
    assert value == {"interaction": [True, 0.5], "counts": [1, 2]}


def test_characters_that_xml_forbids_are_replaced():
    (value,), _ = loads(encode_answer({"evidence": "form\x0cfeed"}))
    assert value == {"evidence": "form\ufffdfeed"}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"pairs": None}, "answer.pairs: NoneType"),
        ({"interaction": [True, float("nan")]}, r"answer.interaction\[1\]: nan"),
        ({"interaction": [True, float("inf")]}, r"answer.interaction\[1\]: inf"),
        ({"normalizations": [{"dbid": {1}}]}, r"answer.normalizations\[0\].dbid: set"),
    ],
)
def test_what_cannot_be_sent_names_its_path(answer, expected):
    with pytest.raises((TypeError, ValueError), match=expected):
        encode_answer(answer)


def test_a_fault_string_is_cut():
    with pytest.raises(Fault) as caught:
        loads(encode_fault(7, "x" * 5000))
    assert (caught.value.faultCode, len(caught.value.faultString)) == (7, 2000)
