"""An annotation server on Python's own xmlrpc.server. Usage: python FILE PORT"""

import sys
import zlib
from xmlrpc.client import Fault
from xmlrpc.server import SimpleXMLRPCServer


def get_annotation(text: str, context: dict[str, str] | None = None) -> dict[str, object]:
    if text.startswith("fault"):
        raise Fault(42, "no model for Ä & <b>")
    if text.startswith("crash"):
        raise RuntimeError("out of memory")
    seen = f"{len(text)} {zlib.crc32(text.encode()):08x}"
    if context:
        seen += f" {context['article_id']}"
    return {
        "interaction": [True, 0.75],
        "normalizations": [
            {
                "dbid": "P04637",
                "dbname": "UniProt",
                "taxid": 9606,
                "rank": 1,
                "confidence": 0.9,
                "evidence": seen,
            },
            {"dbid": "P38398", "rank": 2, "confidence": 1, "evidence": 'Ångström 中 𝔸 <&> "'},
        ],
        "pairs": [{"dbid_a": "P38398", "dbid_b": "P04637", "rank": 1, "confidence": 1e-05}],
    }


server = SimpleXMLRPCServer(("127.0.0.1", int(sys.argv[1])), logRequests=False)
server.register_function(get_annotation, "Annotator.getAnnotation")
server.serve_forever()
