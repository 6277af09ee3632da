"""The encoder: messages that it writes, and values that it refuses."""

import math
import xmlrpc.client
from datetime import UTC, datetime, timedelta, timezone
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from metaserver.exchange.wire.values import EncodeError
from metaserver.exchange.wire.xmlrpc import (
    CallTemplate,
    call_template,
    decode_call,
    decode_response,
    encode_call,
    encode_fault,
    encode_response,
    escape_text,
)


class Word(StrEnum):
    OK = "ok"


class Code(IntEnum):
    GONE = 410


@pytest.mark.parametrize(
    ("value", "markup"),
    [
        ("P12345", "<string>P12345</string>"),
        ("", "<string></string>"),
        (" a\r\n<b>&\t]]>", "<string> a&#13;\n&lt;b&gt;&amp;\t]]&gt;</string>"),
        (True, "<boolean>1</boolean>"),
        (2**31 - 1, "<int>2147483647</int>"),
        (2**31, "<i8>2147483648</i8>"),
        (-(2**31) - 1, "<i8>-2147483649</i8>"),
        (0.5, "<double>0.5</double>"),
        (b"hello", "<base64>aGVsbG8=</base64>"),
        (datetime(98, 7, 7, 4, 8, 5), "<dateTime.iso8601>00980707T04:08:05</dateTime.iso8601>"),
        (datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=1))),
         "<dateTime.iso8601>20251231T23:00:00</dateTime.iso8601>"),
        ((1,), "<array><data><value><int>1</int></value></data></array>"),
        ([], "<array><data></data></array>"),
        (MappingProxyType({"a&b": ""}),
         "<struct><member><name>a&amp;b</name><value><string></string></value></member></struct>"),
        (Word.OK, "<string>ok</string>"),
        (Code.GONE, "<int>410</int>"),
        (np.float64(0.1), "<double>0.1</double>"),
    ],
)  # fmt: skip
def test_writes_every_type(value: Any, markup: str) -> None:
    body = encode_response(value).decode()
    assert f"<param><value>{markup}</value></param>" in body
    inside = encode_response({"member": value}).decode()
    assert f"<name>member</name><value>{markup}</value></member>" in inside


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (math.nan, "XML-RPC has no nan"),
        ({"a": -math.inf}, "XML-RPC has no -inf"),
        (2**63, "beyond 64 bits"),
        (None, "XML-RPC has no type for NoneType"),
        ({1, 2}, "XML-RPC has no type for set"),
        ("a\x00", r"XML cannot carry U\+0000"),
        ("\x0b", r"U\+000B"),
        ("\ufffe", r"U\+FFFE"),
        ("\ud800", r"U\+D800"),
        ({"\x1f": 1}, r"U\+001F"),
    ],
)
def test_values_without_an_xml_rpc_form_are_refused(value: Any, message: str) -> None:
    with pytest.raises(EncodeError, match=message):
        encode_response([value])


def test_refuses_to_nest_without_end() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(EncodeError, match="nested deeper than 64"):
        encode_response(endless)


def test_nil_is_encoded_only_on_request() -> None:
    assert b"<value><nil/></value>" in encode_response({"a": None}, nil=True)
    assert b"<value><nil/></value>" in encode_call("f", [None], nil=True)


def test_a_fault_is_read_by_the_standard_library() -> None:
    with pytest.raises(xmlrpc.client.Fault) as caught:
        xmlrpc.client.loads(encode_fault(404, "no <such> server"))
    assert (caught.value.faultCode, caught.value.faultString) == (404, "no <such> server")


class TestCallTemplate:
    def test_the_body_is_the_call(self) -> None:
        text = "A & B <interact>\r\n strongly"
        body = call_template("Annotator.getAnnotation").body(escape_text(text))
        assert body == encode_call("Annotator.getAnnotation", [text])
        assert decode_call(body).params == [text]

    def test_with_context(self) -> None:
        context = {"article_id": "1", "tasks": ["INT"], "timeout": 600.0, "attempt": 1}
        template = call_template("f", context)
        assert template.body(escape_text("x y")) == encode_call("f", ["x y", context])

    def test_the_length_is_known_before_the_text(self) -> None:
        template, text = CallTemplate(prefix=b"<a>", suffix=b"</a>"), escape_text("α")
        assert len(template.body(text)) == len(template.prefix) + 2 + len(template.suffix)


@pytest.mark.parametrize("code", [0x0, 0x8, 0xB, 0xC, 0xE, 0x1F, 0xFFFE, 0xFFFF, 0xD800, 0xDFFF])
def test_an_article_keeps_its_offsets_without_its_forbidden_characters(code: int) -> None:
    text = f"before{chr(code)}after\t\n\r𝛂"
    read = decode_response(
        b"<methodResponse><params><param><value>%b</value></param></params></methodResponse>"
        % escape_text(text)
    )
    assert read == text.replace(chr(code), "\ufffd")


def test_utc_is_assumed_of_no_time() -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    assert decode_response(encode_response(moment)) == moment.replace(tzinfo=None)
