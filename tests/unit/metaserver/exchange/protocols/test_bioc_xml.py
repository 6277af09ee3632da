"""BioC in XML: only what BioC has is read of an element."""

from metaserver.exchange.protocols.bioc import collection_of_xml
from metaserver.exchange.wire.values import Limits


def test_only_the_attributes_of_bioc_are_read() -> None:
    others = " ".join(f'a{place}=""' for place in range(1_000))
    body = f'<collection {others}><location offset="3" length="x" id="L1"/></collection>'
    assert collection_of_xml(body.encode(), Limits()) == {
        "locations": [{"id": "L1", "offset": 3, "length": "x", "infons": {}}],
        "infons": {},
    }
