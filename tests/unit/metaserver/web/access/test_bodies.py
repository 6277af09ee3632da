"""Refusals of request bodies."""

import pytest

from metaserver.web.access.bodies import BODY_BYTES, too_large


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (BODY_BYTES, "larger than 1,048,576 bytes, and no setting allows more."),
        (2**24, "larger than 16,777,216 bytes, as web.upload_bytes says."),
    ],
)
def test_a_refused_body_is_told_its_limit_and_the_setting(limit: int, said: str) -> None:
    assert (too_large(limit).text or "").endswith(said)
