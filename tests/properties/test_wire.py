"""The codec against arbitrary bytes, against itself, and against the standard library's."""

import gzip
import re
import xmlrpc.client
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaserver.exchange.wire.contract import Report
from metaserver.exchange.wire.stream import Stream
from metaserver.exchange.wire.values import Fault, FaultError, Limits, MethodResponse, WireError
from metaserver.exchange.wire.xmlrpc import (
    Decoder,
    Inflater,
    call_template,
    decode_call,
    decode_response,
    encode_call,
    encode_fault,
    encode_response,
    escape_text,
)
from tests.effort import examples

MORE = settings(max_examples=examples(200))

TEXT = st.text(
    st.characters(
        exclude_categories=["Cs"],
        exclude_characters=[chr(c) for c in range(32) if c not in (9, 10, 13)]
        + ["\ufffe", "\uffff"],
    ),
    max_size=20,
)
MOMENTS = st.datetimes().map(lambda moment: moment.replace(microsecond=0, fold=0))
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


def nested(scalars: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXT, inner, max_size=5),
        max_leaves=20,
    )


VALUES = nested(
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | FLOATS
    | TEXT
    | st.binary(max_size=20)
    | MOMENTS
)
# What both codecs have: the standard library wraps bytes and times, and sends no i8.
COMMON = nested(st.booleans() | st.integers(-(2**31), 2**31 - 1) | FLOATS | TEXT)

PARTS = [
    *(f"<{slash}{tag}>" for slash in ("", "/") for tag in (
        "methodResponse", "methodCall", "methodName", "params", "param", "fault", "value", "int",
        "i8", "double", "string", "boolean", "nil", "base64", "dateTime.iso8601", "array", "data",
        "struct", "member", "name", "ex:nil")),
    "<value/>", "<nil/>", "1", "-", "x", " ", "nan", "1e400", "&amp;", "&#0;", "&e;", "<!--", "-->",
    "<![CDATA[", "]]>", "<?x ?>", "<!DOCTYPE a [<!ENTITY e 'e'>]>", "\x00", "é", "faultCode",
]  # fmt: skip
MARKUP = st.lists(st.sampled_from(PARTS), max_size=40).map("".join)
HEAD = "<methodResponse><params><param>"


# What an XML parser takes apart, and what may stand before a message.
BITS = [*PARTS, "<!-- a -->", "<![CDATA[<i8>&]]>", "<?x y?>", "&#13;", "&#xe9;", "&#xffff;", "]]>",
        "\r\n", " a='1'>", "<ex:i8>7</ex:i8>", "\x7f", "\ufffe", "\U0010ffff", "<int>x</int>",
        "<double>nan</double>", "<date/>", "<a b='c'><int>1</int></a>", "\0",
        "<member><name>x</name><value/></member>" * 2]  # fmt: skip
HEADS = [
    *(f"<?xml version={v!r}{e}?>{s}" for v in ("1.0", "1.1") for e in ("", " encoding='UTF-8'",
      ' encoding="utf-8"', " encoding='iso-8859-1'", " encoding='utf-16'", " standalone='yes'")
      for s in ("", "\r\n")),
    "", " ", "\ufeff", "<!-- a -->", "<?x y?>", "<!DOCTYPE methodResponse [<!ENTITY e 'e'>]>",
]  # fmt: skip


def attempt(body: bytes, size: int) -> object:
    """Return what a body gives when it comes in pieces of `size`: a message, or our own error."""
    stream = Stream(Limits(bytes=10_000, values=500, depth=8))
    try:
        for start in range(0, len(body), size):
            stream.feed(body[start : start + size])
        return stream.close()
    except WireError as error:
        return type(error), error.outcome


@MORE
@given(st.binary(max_size=500), st.integers(1, 600))
def test_any_bytes_give_a_value_or_our_error(body: bytes, size: int) -> None:
    attempt(body, size)


@MORE
@given(MARKUP, st.sampled_from(["", HEAD, HEAD + "<value>", "<methodCall>"]), st.integers(1, 600))
def test_any_markup_gives_a_value_or_our_error(markup: str, head: str, size: int) -> None:
    attempt((head + markup).encode(), size)


@MORE
@given(VALUES, st.data())
def test_a_spoilt_message_gives_a_value_or_our_error(value: Any, data: st.DataObject) -> None:
    body = bytearray(encode_response(value))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(body)))
        end = data.draw(st.integers(start, min(len(body), start + 10)))
        body[start:end] = data.draw(st.binary(max_size=6))
    attempt(bytes(body), data.draw(st.integers(1, 2_000)))


def outcome(kind: type[Decoder | Stream], body: bytes, charset: str | None = None) -> str:
    """Return a body's message in full detail, to the last bit, or the error in full."""
    report = Report()
    reader = kind(Limits(), charset=charset, report=report)
    try:
        reader.feed(body)
        return f"{reader.close()!r} {report.problem_count} {report.problems}"
    except WireError as error:
        return f"{error.outcome} {error.message}"


@MORE
@given(VALUES, st.sampled_from(HEADS), st.data())
def test_a_short_message_is_read_as_a_stream_would_be(value, head, data):
    text = encode_response(value).decode().partition("?>")[2]
    for bit in data.draw(st.lists(st.sampled_from(BITS), max_size=4)):
        place = data.draw(st.sampled_from([edge.start() for edge in re.finditer("[<>]|$", text)]))
        place += data.draw(st.integers(0, 1))
        text = text[:place] + bit + text[place:]
    coding = data.draw(st.sampled_from(["utf-8", "utf-8", "iso-8859-1", "utf-16"]))
    body = (head + text).encode(coding, "replace")
    charset = data.draw(st.sampled_from([None, None, "utf-8", "us-ascii", "iso-8859-1", "utf-7"]))
    assert outcome(Decoder, body, charset) == outcome(Stream, body, charset)


@MORE
@given(MARKUP)
def test_short_markup_is_read_as_a_stream_would_be(markup: str) -> None:
    body = f"{HEAD}<value>{markup}</value></param></params></methodResponse>".encode()
    assert outcome(Decoder, body) == outcome(Stream, body)


@MORE
@given(VALUES, st.integers(1, 600))
def test_what_is_written_is_read_back(value: Any, size: int) -> None:
    stream = Stream(Limits())
    body = encode_response(value)
    for start in range(0, len(body), size):
        stream.feed(body[start : start + size])
    read = decode_response(body)
    assert stream.close() == MethodResponse(value=read)
    assert read == value
    assert repr(read) == repr(value)  # 1 is not 1.0, and neither is True


@MORE
@given(TEXT, st.lists(VALUES, max_size=3))
def test_a_call_is_read_back(method: str, params: list[Any]) -> None:
    method = f"Annotator.{method.strip()}"
    call = decode_call(encode_call(method, params))
    assert (call.method, call.params) == (method.strip(), params)


@MORE
@given(COMMON)
def test_the_standard_library_reads_what_we_write(value):
    # expat reports "\r" as it came: the reference arrives as the character it names.
    assert xmlrpc.client.loads(encode_response(value))[0][0] == value


# It sends "\r" bare, and an XML parser makes a line feed of that.
@MORE
@given(COMMON.filter(lambda value: r"\r" not in repr(value)))
def test_we_read_what_the_standard_library_writes(value: Any) -> None:
    body = xmlrpc.client.dumps((value,), methodresponse=True).encode()
    assert decode_response(body) == value


@MORE
@given(st.binary(max_size=50), MOMENTS.filter(lambda moment: moment.year >= 1000))
def test_bytes_and_times_of_the_standard_library(data: bytes, moment: datetime) -> None:
    theirs = xmlrpc.client.dumps(([data, moment],), methodresponse=True).encode()
    assert decode_response(theirs) == [data, moment]
    (read,), _ = xmlrpc.client.loads(encode_response([data, moment]), use_builtin_types=True)
    assert read == [data, moment]


@MORE
@given(st.integers(-(2**31), 2**31 - 1), TEXT)
def test_a_fault_is_read_back(code: int, string: str) -> None:
    with pytest.raises(FaultError) as caught:
        decode_response(encode_fault(code, string))
    assert caught.value.fault == Fault(code=code, string=string)


@MORE
@given(st.text(max_size=200))
def test_any_article_can_be_sent_and_keeps_its_length(text: str) -> None:
    body = call_template("f").body(escape_text(text))
    (read,) = decode_call(body).params
    assert isinstance(read, str)
    assert len(read) == len(text)
    assert all(a == b or a == "\ufffd" for a, b in zip(read, text, strict=True))


@MORE
@given(st.binary(max_size=2_000), st.integers(1, 300), st.booleans())
def test_any_bytes_inflate_or_give_our_error(data: bytes, size: int, real: bool) -> None:
    inflater = Inflater()
    body = gzip.compress(data) if real else data
    pieces = []
    try:
        for start in range(0, len(body), size):
            pieces += inflater.feed(body[start : start + size])
        inflater.close()
    except WireError:
        assert not real
    else:
        assert b"".join(pieces) == data or not real
