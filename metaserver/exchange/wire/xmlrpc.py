"""The XML-RPC codec: bytes to values and back, bounded, without I/O.

Decoding: `Decoder` is fed as bytes arrive (through an `Inflater` where they are compressed);
`decode_response` and `decode_call` take a whole body. Encoding: `encode_call`, `encode_response`,
`encode_fault`, and `call_template` with `escape_text` for requests that share one article.
docs/adr/0003-xmlrpc-codec.md says why the hub has its own codec.
"""

from metaserver.exchange.wire.decoder import Decoder, decode_call, decode_response
from metaserver.exchange.wire.encoder import (
    CallTemplate,
    call_template,
    encode_call,
    encode_fault,
    encode_response,
    escape_text,
    unescape_text,
)
from metaserver.exchange.wire.inflate import ENCODINGS, Inflater
from metaserver.exchange.wire.values import (
    CHUNK,
    EncodeError,
    Fault,
    FaultError,
    Limits,
    MethodCall,
    MethodResponse,
    Unreadable,
    Value,
    WireError,
)

__all__ = [
    "CHUNK",
    "ENCODINGS",
    "CallTemplate",
    "Decoder",
    "EncodeError",
    "Fault",
    "FaultError",
    "Inflater",
    "Limits",
    "MethodCall",
    "MethodResponse",
    "Unreadable",
    "Value",
    "WireError",
    "call_template",
    "decode_call",
    "decode_response",
    "encode_call",
    "encode_fault",
    "encode_response",
    "escape_text",
    "unescape_text",
]
