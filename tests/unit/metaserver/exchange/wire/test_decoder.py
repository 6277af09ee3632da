"""The decoder: messages that it accepts from peers, and messages that it refuses."""

import contextlib
import encodings
import gc
import xmlrpc.client
from datetime import UTC, datetime
from typing import Any

import pytest

from metaserver.base.records import Problem
from metaserver.base.states import Outcome
from metaserver.exchange.wire.contract import Report, Severity
from metaserver.exchange.wire.stream import Stream
from metaserver.exchange.wire.values import (
    CHUNK,
    Fault,
    FaultError,
    Limits,
    MethodCall,
    MethodResponse,
    Unreadable,
    WireError,
)
from metaserver.exchange.wire.xmlrpc import Decoder, decode_call, decode_response

EX = "xmlns:ex='http://ws.apache.org/xmlrpc/namespaces/extensions'"


def response(value: str, attributes: str = "") -> bytes:
    return (
        f"<methodResponse {attributes}><params><param>{value}</param></params></methodResponse>"
    ).encode()


def array(items: str) -> str:
    return f"<value><array><data>{items}</data></array></value>"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("<value>x</value>", "x"),
        ("<value> x\n </value>", " x\n "),
        ("<value><string> x </string></value>", " x "),
        ("<value/>", ""),
        ("<value><string/></value>", ""),
        ("<value>a&amp;b&#13;&#x3b1;</value>", "a&b\rα"),
        ("<value><![CDATA[<b>]]></value>", "<b>"),
        ("<value><!-- why --><int>7</int></value>", 7),
        ("<value> <int> -7 </int> </value>", -7),
        ("<value><i4>+7</i4></value>", 7),
        ("<value><int>007</int></value>", 7),
        ("<value><i8>9223372036854775807</i8></value>", 2**63 - 1),
        ("<value><int>4294967296</int></value>", 2**32),
        ("<value><double>3</double></value>", 3.0),
        ("<value><double> 1.5E-3 </double></value>", 0.0015),
        ("<value><boolean>1</boolean></value>", True),
        ("<value><boolean>true</boolean></value>", True),
        ("<value><boolean>False</boolean></value>", False),
        ("<value><nil/></value>", None),
        ("<value><ex:nil/></value>", None),
        ("<value><ex:i8>7</ex:i8></value>", 7),
        ("<value><ex:i1>7</ex:i1></value>", 7),
        ("<value><ex:float>0.5</ex:float></value>", 0.5),
        ("<value><ex:biginteger>-9007199254740993</ex:biginteger></value>", -9007199254740993),
        ("<value><ex:bigdecimal>0.50</ex:bigdecimal></value>", 0.5),
        ("<value><ex:bigdecimal>1E-7</ex:bigdecimal></value>", 1e-7),
        ("<value><ex:serializable>aGVsbG8=</ex:serializable></value>", b"hello"),
        ("<value><ex:dateTime>2026-01-02T03:04:05.678Z</ex:dateTime></value>",
         datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)),
        ("<value><double>1e-05</double></value>", 1e-5),
        ("<value><double>.5</double></value>", 0.5),
        ("<value><double>+1.</double></value>", 1.0),
        ("<value xml:space='preserve'><string xml:lang='en'> x </string></value>", " x "),
        ("<value><?php x?><![CDATA[a]]><!-- b -->c</value>", "ac"),
        ("<value><dateTime.iso8601>1998-07-17T14:08:55+02:00</dateTime.iso8601></value>",
         datetime(1998, 7, 17, 12, 8, 55, tzinfo=UTC)),
        ("<value><dateTime.iso8601>19980717T140855</dateTime.iso8601></value>",
         datetime(1998, 7, 17, 14, 8, 55)),
        ("<value><base64>aGVs\n bG8=</base64></value>", b"hello"),
        ("<value><base64/></value>", b""),
        ("<value><dateTime.iso8601>19980717T14:08:55</dateTime.iso8601></value>",
         datetime(1998, 7, 17, 14, 8, 55)),
        ("<value><dateTime.iso8601>2026-01-02T03:04:05Z</dateTime.iso8601></value>",
         datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("<value><array/></value>", []),
        ("<value><array><data/></array></value>", []),
        ("<value><struct/></value>", {}),
        ("<value><struct><member><value>1</value><name>a b</name></member></struct></value>",
         {"a b": "1"}),
        ("<value><struct><member><name/><value/></member></struct></value>", {"": ""}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("attributes", ["", EX], ids=["bare", "declared"])
def test_reads_every_type_and_what_peers_make_of_it(text, value, attributes):
    read = decode_response(response(text, attributes))
    assert read == value
    assert type(read) is type(value)


ENCODINGS = ["utf-8", "utf8", "iso-8859-1", "latin1", "utf-16", "utf-16-be", "windows-1252", "gbk"]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_declared_encoding_is_read_whole_or_in_pieces(encoding: str) -> None:
    text = f"<?xml version='1.0' encoding='{encoding}'?>{response('<value>é</value>').decode()}"
    assert decode_response(text.encode(encoding)) == "é"
    stream = Stream(Limits())
    for byte in text.encode(encoding):
        stream.feed(bytes([byte]))
    assert stream.close() == MethodResponse(value="é")


@pytest.mark.parametrize("encoding", ["x-none", "zlib", "hex", "rot13", "idna", "a" * 40, "utf-32"])
def test_an_encoding_that_is_not_known_is_not_looked_for(encoding: str) -> None:
    before = set(encodings._cache)
    with pytest.raises(WireError, match="is not known"):
        decode_response(f"<?xml version='1.0' encoding='{encoding}'?><methodResponse/>".encode())
    far = f"<?xml version='1.0'{' ' * 2_000}encoding='{encoding}'?><methodResponse/>"
    with pytest.raises(WireError, match="is not known"):
        decode_response(far.encode())
    assert set(encodings._cache) == before


def test_bytes_that_are_not_in_the_declared_encoding_are_refused() -> None:
    body = b"<?xml version='1.0' encoding='ascii'?>" + response("<value>é</value>")
    with pytest.raises(WireError, match="not the declared encoding: 'ascii' codec"):
        decode_response(body)


def fed(decoder: Decoder | Stream, body: bytes, size: int) -> Any:
    """Return the decoder, fed with a body in pieces of `size`."""
    for start in range(0, len(body), size):
        decoder.feed(body[start : start + size])
    return decoder


def noted(body: bytes) -> tuple[Any, Report]:
    """Return the value of a response, and what was noted of it."""
    report = Report()
    return fed(Decoder(report=report), body, len(body)).response(), report


@pytest.mark.parametrize("size", [1, 2, 3, 7, 65_536])
def test_chunks_may_end_anywhere(size: int) -> None:
    body = xmlrpc.client.dumps(({"é": [1, "α&<"]},), methodresponse=True).encode()
    for decoder in (Decoder(), Stream(Limits())):
        assert fed(decoder, body, size).close() == MethodResponse(value={"é": [1, "α&<"]})


@pytest.mark.parametrize("size", [999, 65_536, 65_537, 10**6])
def test_a_long_message_becomes_a_stream_wherever_chunks_end(size: int) -> None:
    value = [{"é": number} for number in range(1_500)]
    body = xmlrpc.client.dumps((value,), methodresponse=True).encode()
    assert len(body) > 2 * CHUNK
    assert fed(Decoder(), body, size).response() == value


def test_an_invalid_message_is_refused_before_its_end() -> None:
    with pytest.raises(WireError, match="<html> is not allowed here"):
        Decoder().feed(b"<html><body>")
    decoder = Decoder()
    decoder.feed(b"<?xml version='1.0'?><html><body>")
    with pytest.raises(WireError, match="<html> is not allowed here"):
        decoder.feed(b" " * CHUNK)


@pytest.mark.slow
@pytest.mark.parametrize("tail", ["", "<junk/>"])
@pytest.mark.parametrize("attributes", ["", EX], ids=["plain", "stream"])
def test_values_are_freed_with_their_last_reference(tail: str, attributes: str) -> None:
    body = response(array("<value><struct/></value>" * 1_000) + tail, attributes)
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(5):
            with contextlib.suppress(WireError):
                decode_response(body)
        assert len(gc.get_objects()) - before < 1_000
    finally:
        gc.enable()


UNREADABLE = [
    ("<int>x</int>", "int", "'x' is no int"),
    ("<int/>", "int", "'' is no int"),
    ("<int>1_0</int>", "int", "'1_0' is no int"),
    ("<int>1.0</int>", "int", "'1.0' is no int"),
    ("<int>١</int>", "int", "'١' is no int"),
    ("<i8>9223372036854775808</i8>", "i8", "'9223372036854775808' is no i8"),
    (f"<int>{'9' * 100_000}</int>", "int", f"'{'9' * 40}' is no int"),
    ("<double>nan</double>", "double", "'nan' is no double"),
    ("<double>NaN</double>", "double", "'NaN' is no double"),
    ("<double>INF</double>", "double", "'INF' is no double"),
    ("<double>-Infinity</double>", "double", "'-Infinity' is no double"),
    ("<double>1e999</double>", "double", "'1e999' is no double"),
    ("<double>0,5</double>", "double", "'0,5' is no double"),
    ("<double/>", "double", "'' is no double"),
    ("<boolean>2</boolean>", "boolean", "'2' is no boolean"),
    ("<nil>0</nil>", "nil", "'0' is no nil"),
    ("<base64>a</base64>", "base64", "'a' is no base64"),
    ("<dateTime.iso8601>soon</dateTime.iso8601>", "dateTime.iso8601",
     "'soon' is no dateTime.iso8601"),
    ("<dateTime.iso8601/>", "dateTime.iso8601", "'' is no dateTime.iso8601"),
    ("<dateTime.iso8601>00000000T00:00:00</dateTime.iso8601>", "dateTime.iso8601",
     "'00000000T00:00:00' is no dateTime.iso8601"),
    ("<ex:i2>x</ex:i2>", "i2", "'x' is no ex:i2"),
    ("<ex:biginteger>9223372036854775808</ex:biginteger>", "biginteger",
     "'9223372036854775808' is no ex:biginteger"),
    ("<ex:bigdecimal>1,5</ex:bigdecimal>", "bigdecimal", "'1,5' is no ex:bigdecimal"),
    ("<date>1</date>", "type", "<date> is no type of XML-RPC"),
    ("<long a='1' b='2'>7</long>", "type", "<long> is no type of XML-RPC"),
    ("<ex:node><value><int>1</int></value><member/>x<ex:node/></ex:node>", "type",
     "<ex:node> is no type of XML-RPC"),
    ("<value>1</value>", "type", "<value> is no type of XML-RPC"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "message"), UNREADABLE)
def test_a_value_of_an_answer_that_cannot_be_read_costs_only_itself(text, kind, message):
    hits = array(f"<value>a</value><value>{text}</value><value>b</value>")
    struct = f"<struct><member><name>hits</name>{hits}</member></struct>"
    value, report = noted(response(f"<value>{struct}</value>", EX))
    assert value == {"hits": ["a", Unreadable(kind), "b"]}
    assert report.problems == [Problem(path="hits[1]", message=message)]
    assert report.count(Severity.NOTE) == 1


@pytest.mark.parametrize(("text", "kind", "message"), UNREADABLE)
def test_a_value_of_a_call_that_cannot_be_read_is_refused(text, kind, message):
    params = f"<params><param><value>{text}</value></param></params>"
    call = f"<methodCall {EX}><methodName>f</methodName>{params}</methodCall>"
    if kind == "type":
        message = message.replace("no type of XML-RPC", "not allowed here")
    with pytest.raises(WireError) as caught:
        decode_call(call.encode())
    assert (caught.value.outcome, caught.value.message) == (Outcome.SYNTAX, message)


def test_the_first_values_that_cannot_be_read_are_noted_and_the_others_counted() -> None:
    value, report = noted(response(array("<value><int>x</int></value>" * 5_000)))
    assert value == [Unreadable("int")] * 5_000
    assert all(one is value[0] for one in value)  # none takes memory of its own
    assert (report.problem_count, len(report.problems)) == (5_000, 100)
    assert report.problems[99].path == "[99]"


@pytest.mark.parametrize("attributes", ["", EX], ids=["plain", "stream"])
def test_of_members_with_one_name_the_last_counts_and_that_is_noted(attributes: str) -> None:
    def member(name: str, text: str) -> str:
        return f"<member><name>{name}</name><value>{text}</value></member>"

    inner = f"<struct>{member('a', '1')}{member('b', '2')}{member('a', '3')}</struct>"
    outer = f"<struct>{member('x', inner)}{member('x', inner)}</struct>"
    value, report = noted(response(f"<value>{outer}</value>", attributes))
    assert value == {"x": {"a": "3", "b": "2"}}
    assert [problem.path for problem in report.problems] == ["x.a", "x.a", "x"]
    assert {problem.message.partition(" of")[0] for problem in report.problems} == {
        "a second member"
    }


@pytest.mark.parametrize("before", [b"\n", b"\r\n \t\n", b"\xef\xbb\xbf", b"\n\xef\xbb\xbf\n" * 2])
@pytest.mark.parametrize("size", [1, 3, 1_000])
@pytest.mark.parametrize("encoding", [None, "utf-8", "iso-8859-1"])
def test_white_space_before_the_declaration_is_skipped(before, size, encoding):
    said = f" encoding='{encoding}'" if encoding else ""
    coding = "utf-8" if b"\xef" in before or not encoding else encoding
    body = before + f"<?xml version='1.0'{said}?>{response('<value>é</value>').decode()}".encode(
        coding
    )
    assert fed(Decoder(), body, size).response() == "é"


def test_an_errors_line_counts_the_lines_before_the_message() -> None:
    with pytest.raises(WireError, match="line 4, column 16"):
        decode_response(b"\n\n<?xml version='1.0'?>\n<methodResponse>&e;</methodResponse>")


@pytest.mark.parametrize("behind", [b"\0", b"\0" * 100_000, b"\n\0\r\n \t\0"])
@pytest.mark.parametrize("size", [1, 7, 10**6])
def test_nul_bytes_behind_a_message_are_passed_over(behind: bytes, size: int) -> None:
    for decoder in (Decoder(), Stream(Limits())):
        read = fed(decoder, response("<value>x</value>") + behind, size).close()
        assert read == MethodResponse(value="x")


@pytest.mark.parametrize("behind", [b"x", b"\0x", b"\n<a/>", b"\0<!-- -->", b"<br>", b"\0\0\xff"])
@pytest.mark.parametrize("size", [1, 10**6])
def test_anything_else_behind_a_message_is_refused(behind: bytes, size: int) -> None:
    body = response("<value>x</value>") + behind
    with pytest.raises(WireError, match="not well-formed XML"):
        fed(Decoder(), body, size).close()


@pytest.mark.parametrize("cut", [b"\0", b"</methodResponse\0>"])
def test_a_nul_byte_within_a_message_is_refused(cut: bytes) -> None:
    body = response("<value>x</value>").replace(b"</methodResponse>", cut)
    with pytest.raises(WireError, match="not well-formed XML"):
        decode_response(body)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("<value><int>1</int><int>2</int></value>", "two values where one is expected"),
        ("<value><int>1</int><array/></value>", "two values where one is expected"),
        ("<value/><value/>", "two values where one is expected"),
        ("", "a value is missing"),
        ("<int>1</int>", "<int> is not allowed here"),
        ("<value><struct><member><value/></member></struct></value>",
         "?: a member needs a name and a value"),
        ("<value><struct><member><name>a</name></member></struct></value>",
         "a: a member needs a name and a value"),
        ("<value id='1'/>", "<value> has attributes; XML-RPC has none"),
        ("<value><int>1<b/></int></value>", "<b> is not allowed here"),
        ("<value><array><date/></array></value>", "[0]: <date> is not allowed here"),
        ("<value><date/><date/></value>", "two values where one is expected"),
        ("<value><int>1</int><date/></value>", "two values where one is expected"),
        ("<value>" + "<date>" * 265, "nested deeper than 64"),
        ("<value><struct><member><name>hits</name>"
         + array("<value/>" + array("<value/><value id='1'/>"))
         + "</member></struct></value>", "hits[1][1]: <value> has attributes; XML-RPC has none"),
    ],
)  # fmt: skip
def test_an_invalid_value_is_refused_with_its_path(value: str, message: str) -> None:
    with pytest.raises(WireError) as caught:
        decode_response(response(value, EX))
    assert caught.value.outcome is Outcome.SYNTAX
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "not well-formed XML: no element found"),
        (b"<html><p>busy</html>", "<html> is not allowed here"),
        (b"<!-- --><?xml version='1.0'?><methodResponse/>", "declaration not at start"),
        (b"<?xml version='1.0' encoding='x-none'?><methodResponse/>", "'x-none' is not known"),
        (b"<methodResponse><params><param><value>\xe9</value>", "invalid token"),
        (b"<methodResponse><params><param><value>&e;</value>", "undefined entity"),
        (response("<value>&#0;</value>"), "reference to invalid character number"),
        (response("<value/>")[:-3], "not well-formed XML"),
        (response("<value/>") + b"<x/>", "junk after document element"),
        (b"<methodResponse/>", "a response holds one value or a fault"),
        (b"<methodResponse><params/></methodResponse>", "a response holds one value or a fault"),
        (response("<value/></param><param><value/>"), "a response holds one value or a fault"),
        (b"<methodResponse><params/><params/></methodResponse>", "a second <params>"),
        (b"<methodResponse><fault/></methodResponse>", "a value is missing"),
        (b"<methodCall><methodName>f</methodName></methodCall>", "got <methodCall>; expected"),
    ],
)  # fmt: skip
def test_a_message_that_is_no_response_is_refused(body: bytes, message: str) -> None:
    with pytest.raises(WireError) as caught:
        decode_response(body)
    assert caught.value.outcome is Outcome.SYNTAX
    assert message in caught.value.message


@pytest.mark.parametrize(
    "doctype",
    [
        "<!DOCTYPE methodResponse>",
        "<!DOCTYPE a [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;'>]>",
        "<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>",
        "<!DOCTYPE a SYSTEM 'http://127.0.0.1:9/x.dtd'>",
    ],
)
def test_refuses_a_document_type_before_it_can_do_anything(doctype: str) -> None:
    with pytest.raises(WireError, match="a document type is not allowed"):
        decode_response(doctype.encode() + response("<value>&x;&b;</value>"))


class TestLimits:
    @pytest.mark.parametrize("attributes", ["", EX], ids=["plain", "stream"])
    def test_nesting(self, attributes: str) -> None:
        def nested(depth: int) -> bytes:
            arrays = "<value><array><data>" * depth + "</data></array></value>" * depth
            return response(arrays, attributes)

        value = decode_response(nested(64))
        for _ in range(63):
            value = value[0]
        assert value == []
        for depth in (65, 1_400):
            with pytest.raises(WireError, match="nested deeper than 64") as caught:
                decode_response(nested(depth))
            assert caught.value.outcome is Outcome.SYNTAX

    @pytest.mark.parametrize(
        ("body", "limit", "most", "value"),
        [
            (response("<value/>"), "bytes", len(response("<value/>")), ""),
            (response(array("<value/>" * 9)), "values", 10, [""] * 9),
            (
                response("<value><ex:node><a/><a/></ex:node></value>"),
                "values",
                4,
                Unreadable("type"),
            ),
        ],
    )
    def test_bytes_and_values(self, body: bytes, limit: str, most: int, value: object) -> None:
        assert decode_response(body, Limits(**{limit: most})) == value
        with pytest.raises(WireError, match=rf"more than {most - 1} {limit}") as caught:
            decode_response(body, Limits(**{limit: most - 1}))
        assert caught.value.outcome is Outcome.TOO_LARGE

    @pytest.mark.parametrize(
        "markup", ["<!--", "<?p ", "<value a='", "</value "], ids=["comment", "pi", "tag", "end"]
    )
    def test_markup(self, markup: str) -> None:
        body = response("<value>").partition(b"</param>")[0] + markup.encode()
        stream = Stream(Limits())
        stream.feed(body)
        for _ in range((2**20 - len(body)) // 16):  # the work must not grow with what is unread
            stream.feed(b" " * 16)
        with pytest.raises(WireError, match="a tag or comment of more than 1,048,576 bytes"):
            stream.feed(b" " * (len(body) + 16))
        assert decode_response(response("<!--" + " " * 2**19 + "--><value/>")) == ""

    def test_text_is_no_markup(self) -> None:
        letters = "x" * 2**21
        assert decode_response(response(f"<value>{letters}</value>")) == letters
        assert decode_response(response(f"<value><![CDATA[{letters}]]></value>")) == letters
        assert decode_response(b" " * 2**21 + response("<value/>") + b" " * 2**21) == ""

    def test_names_with_a_prefix(self) -> None:
        def nils(count: int) -> bytes:
            return response(array("".join(f"<value><e{n}:nil/></value>" for n in range(count))))

        assert decode_response(nils(32)) == [None] * 32
        declared = response(array("".join(f"<value xmlns:e{n}='urn:{n}'/>" for n in range(33))))
        strange = "".join(f"<e{n} a{n}=''/>" for n in range(17))
        for many in (nils(33), declared, response(f"<value><ex:node>{strange}</ex:node></value>")):
            with pytest.raises(WireError, match="more than 32 names that XML-RPC does not have"):
                decode_response(many)

    def test_a_text_of_character_references_keeps_its_order(self) -> None:
        text = "".join(chr(0x3B1 + place % 20) for place in range(50_000))
        body = response(f"<value>{''.join(f'&#{ord(letter)};' for letter in text)}</value>")
        assert len(body) > 4 * 65_536
        assert decode_response(body) == text


CODE = "<member><name>faultCode</name><value>"
STRING = "<member><name>faultString</name><value>"
END = "</value></member>"


class TestFaults:
    @pytest.mark.parametrize(
        ("members", "fault"),
        [
            (f"{CODE}<int>4</int>{END}{STRING}no{END}", Fault(code=4, string="no")),
            (f"{STRING}no{END}{CODE}Server.Error{END}", Fault(code="Server.Error", string="no")),
            (f"{CODE}<double>4.5</double>{END}", Fault(code="4.5", string="")),
            ("", Fault(code=0, string="")),
            (f"{CODE}<nil/>{END}{STRING}<nil/>{END}", Fault(code=0, string="")),
            (f"{CODE}<array/>{END}{STRING}<struct/>{END}",
             Fault(code="array of 0", string="struct")),
            (f"{CODE}x{END}{STRING}<int>7</int>{END}", Fault(code="x", string="7")),
            (f"{CODE}<double>NaN</double>{END}{STRING}<date/>{END}",
             Fault(code="unreadable double", string="unreadable type")),
            (f"{CODE}{'x' * 100_000}{END}{STRING}no{END}", Fault(code="x" * 80, string="no")),
        ],
    )  # fmt: skip
    def test_any_order_and_any_code(self, members: str, fault: Fault) -> None:
        body = f"<methodResponse><fault><value><struct>{members}</struct></value></fault>"
        with pytest.raises(FaultError) as caught:
            decode_response(f"{body}</methodResponse>".encode())
        assert caught.value.fault == fault
        assert caught.value.outcome is Outcome.FAULT
        assert caught.value.message == f"{fault.code}: {fault.string}"

    @pytest.mark.parametrize(
        ("value", "string"),
        [("no", "no"), ("<int>7</int>", "7"), ("", ""), ("<array/>", "array of 0")],
    )
    def test_a_fault_that_is_no_struct_is_its_string(self, value: str, string: str) -> None:
        body = f"<methodResponse><fault><value>{value}</value></fault></methodResponse>"
        with pytest.raises(FaultError) as caught:
            decode_response(body.encode())
        assert caught.value.fault == Fault(code=0, string=string)

    def test_a_long_string_is_cut_in_the_message(self) -> None:
        assert len(FaultError(Fault(code=1, string="x" * 5_000)).message) == len("1: ") + 2_000


class TestCalls:
    def test_with_and_without_params(self) -> None:
        body = xmlrpc.client.dumps((1, "a"), "Servers.list").encode()
        assert decode_call(body) == MethodCall(method="Servers.list", params=[1, "a"])
        body = b"<methodCall><methodName> f </methodName></methodCall>"
        assert decode_call(body) == MethodCall(method="f", params=[])

    @pytest.mark.parametrize(
        ("body", "message"),
        [
            (b"<methodCall><params/></methodCall>", "a call without a method name"),
            (b"<methodCall><methodName> </methodName></methodCall>", "without a method name"),
            (response("<value/>"), "got <methodResponse>; expected <methodCall>"),
        ],
    )
    def test_a_message_that_is_no_call_is_refused(self, body: bytes, message: str) -> None:
        with pytest.raises(WireError, match=message):
            decode_call(body)
