import gzip
import zlib

from metaserver.files.compression import GZIP_BEGIN, deflated, gzipped

DATA = b"event: frame\n" * 500


def test_deflated_pieces_are_one_stream_in_any_order():
    other = b"data: 1\n\n"
    reader = zlib.decompressobj(31)
    assert reader.decompress(GZIP_BEGIN + deflated(DATA)) == DATA  # at once, not at the end
    assert reader.decompress(deflated(other) + deflated(DATA)) == other + DATA
    assert reader.decompress(deflated(b"")) == b""


def test_gzip_is_read_by_others_and_is_small():
    assert gzip.decompress(gzipped(DATA)) == DATA
    assert gzip.decompress(gzipped(b"")) == b""
    assert max(len(gzipped(DATA)), len(deflated(DATA))) < len(DATA) / 20
