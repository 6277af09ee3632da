import gzip

import pytest
import zstandard
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer, make_mocked_request

from metaserver.web.access.aside import LARGE
from metaserver.web.access.encodings import LEAST, Encoding, compressed, preferred

ALL = (Encoding.ZSTD, Encoding.GZIP)


@pytest.mark.parametrize(
    ("header", "encoding"),
    [
        ("", Encoding.IDENTITY),
        ("gzip, deflate, br, zstd", Encoding.ZSTD),
        ("gzip, deflate", Encoding.GZIP),
        ("GZIP", Encoding.GZIP),
        ("deflate, br", Encoding.IDENTITY),
        ("*", Encoding.ZSTD),
        ("*;q=0", Encoding.IDENTITY),
        ("zstd;q=0, *", Encoding.GZIP),
        ("gzip;q=0.5, identity", Encoding.GZIP),
        ("gzip;q=0", Encoding.IDENTITY),
        ("gzip; q=0.000, zstd ;q=1", Encoding.ZSTD),
        ("gzip;q=nan", Encoding.IDENTITY),
        ("gzip;q=x", Encoding.IDENTITY),
        ("x-gzip", Encoding.IDENTITY),
        (",;,;q=1," + "a," * 50 + "gzip", Encoding.IDENTITY),
    ],
)
def test_the_preferred_encoding_that_a_client_takes(header, encoding):
    request = make_mocked_request("GET", "/", headers={"Accept-Encoding": header})
    assert preferred(request, ALL) is encoding


def site(body, **options):
    async def answer(_):
        response = web.Response(body=body, **{"content_type": "text/html", **options})
        response.etag = "one"
        return response

    app = web.Application(middlewares=[compressed])
    app.router.add_get("/", answer)
    return TestClient(TestServer(app), auto_decompress=False)


OPENED = {"gzip": gzip.decompress, "zstd": zstandard.decompress}


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
@pytest.mark.parametrize("size", [LEAST, 5 * LARGE])
async def test_an_answer_is_compressed_as_its_client_takes_it(encoding, size):
    body = b"row " * (size // 4)
    async with site(body) as client:
        for method in ("GET", "HEAD"):
            headers = {"Accept-Encoding": encoding}
            async with client.request(method, "/", headers=headers) as response:
                raw = await response.read()
                assert response.headers["Content-Encoding"] == encoding
                assert response.headers["Vary"] == "Accept-Encoding"
                assert response.headers["ETag"] == 'W/"one"'
                assert int(response.headers["Content-Length"]) < size / 10
                assert method == "HEAD" or OPENED[encoding](raw) == body


@pytest.mark.parametrize(
    ("options", "varies"),
    [
        ({"accepted": ""}, True),
        ({"body": b"short"}, False),
        ({"content_type": "image/png"}, False),
        ({"status": 404}, False),
        ({"headers": {"Content-Encoding": "br"}}, False),
    ],
)
async def test_what_does_not_gain_stays_as_it_is(options, varies):
    given = {"accepted": "gzip, zstd", "body": b"row " * LEAST, **options}
    accepted, body = given.pop("accepted"), given.pop("body")
    async with (
        site(body, **given) as client,
        client.get("/", headers={"Accept-Encoding": accepted}) as response,
    ):
        assert await response.read() == body
        assert response.headers.get("Content-Encoding", "br") == "br"
        assert ("Vary" in response.headers) is varies
        assert response.headers["ETag"] == '"one"'
