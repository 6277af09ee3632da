"""Bodies that are read at once, and bodies that are left to the stream."""

import xmlrpc.client

import pytest

from annotators.protocol import encode_answer
from metaserver.exchange.wire.plain import plain_response
from metaserver.exchange.wire.xmlrpc import Limits, MethodResponse, encode_response

OPENING, TAIL = (
    "<methodResponse><params><param><value>",
    "</value></param></params></methodResponse>",
)
ANSWER = {
    "interaction": [True, 0.5],
    "normalizations": [{"dbid": "P1", "rank": 1, "confidence": 1.0, "evidence": "a = b!? <é>"}],
}


def plain(body: str | bytes, limits: Limits | None = None) -> object:
    """Return the value of a plain body, None for any other."""
    body = body.encode() if isinstance(body, str) else body
    response = plain_response(body, limits or Limits())
    return None if response is None else response.value


@pytest.mark.parametrize(
    "body",
    [
        encode_response(ANSWER),
        encode_answer(ANSWER),
        xmlrpc.client.dumps((ANSWER,), methodresponse=True, encoding="utf-8").encode(),
        b'<?xml version="1.0" encoding="UTF-8" ?>\r\n'
        + encode_response(ANSWER).partition(b"?>")[2],
    ],
    ids=["hub", "kit", "standard library", "others"],
)
def test_answers_of_common_servers_are_plain(body: bytes) -> None:
    assert plain(body) == ANSWER


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a<!-- b -->c", "ac"),
        ("a<?b c?>d", "ad"),
        ("a<![CDATA[&b;<c>]]>d", "a&b;<c>d"),
        ("<string>a<!-- b -->&lt;<?c d?>e<![CDATA[f]]></string>", "a<ef"),
        ("<int>1<!-- 2 -->3</int>", 13),
        ("x<!-- y --><array>y<data>z</data></array><?z?>", []),
        ("a\r\nb\rc&#13;", "a\nb\nc\r"),
    ],
)
def test_text_split_by_the_parser_is_joined(text: str, value: object) -> None:
    assert plain(f"{OPENING}{text}{TAIL}") == value


@pytest.mark.parametrize(
    "body",
    [
        "",
        f"\ufeff{OPENING}x{TAIL}",
        f"<?xml version='1.0' encoding='iso-8859-1'?>{OPENING}x{TAIL}",
        f"<?xml version='1.0'?>{OPENING}x{TAIL}".encode("utf-16"),
        f"<?xml version='1.0'?><!DOCTYPE x [<!ENTITY e 'e'>]>{OPENING}&e;{TAIL}",
        f"{OPENING}<!DOCTYPE x [<!ENTITY e 'e'>]>&e;{TAIL}",
        f"{OPENING}&e;{TAIL}",
        f"{OPENING}<string a= 'b'>x</string>{TAIL}",
        f"{OPENING}<x:nil/>{TAIL}",
        f"{OPENING}<int>x</int>{TAIL}",
        f"{OPENING}<int>1</int><int>1</int>{TAIL}",
        f"{OPENING}<int>1<int>1</int></int>{TAIL}",
        f"{OPENING}<array/>{TAIL}",
        f"{OPENING}<array><date/></array>{TAIL}",
        f"{OPENING}<struct><member/></struct>{TAIL}",
        f"{OPENING}<boolean>2</boolean>{TAIL}",
        f"{OPENING}<struct><member><value/><name/></member></struct>{TAIL}",
        f"{OPENING}<struct><member><name><b/></name><value/></member></struct>{TAIL}",
        f"{OPENING}x{TAIL}".replace("param>", "parameter>"),
        f"{OPENING}x{TAIL}".replace("Response", "response"),
        f"{OPENING}x",
        "<methodResponse><fault><value/></fault></methodResponse>",
        "<methodCall><methodName>f</methodName></methodCall>",
    ],
)
def test_anything_else_is_left_to_the_stream(body: str | bytes) -> None:
    assert plain(body) is None


def test_a_body_near_a_limit_is_left_to_the_stream() -> None:
    body = f"{OPENING}<array><data><value>x</value></data></array>{TAIL}"
    assert plain(body, Limits(values=len(body), depth=1)) == ["x"]
    assert plain(body, Limits(values=len(body) - 1)) is None
    assert plain(body, Limits(depth=0)) is None


def test_nil_is_a_value() -> None:
    assert plain_response(f"{OPENING}<nil/>{TAIL}".encode(), Limits()) == MethodResponse(value=None)
