"""Pictures of bars, read by another library."""

import io

import pytest

from metaserver.web.ui.pictures import BARS, HEIGHT, MARGIN, WIDTH, bars

Image = pytest.importorskip("PIL.Image")


def test_a_picture_has_a_bar_for_each_share_as_long_as_its_value() -> None:
    with Image.open(io.BytesIO(bars([1.0, 0.5, 0.0, *[0.2] * BARS]))) as picture:
        picture.load()
        assert (picture.format, picture.size) == ("PNG", (WIDTH, HEIGHT))
        colours = picture.convert("RGB")
    length, step = WIDTH - 2 * MARGIN, (HEIGHT - 2 * MARGIN) // BARS
    blue, grey, white = (0x2A, 0x5B, 0xD0), (0xE4, 0xE7, 0xEC), (255, 255, 255)
    seen = [
        [
            colours.getpixel((MARGIN + round(at * (length - 1)), MARGIN + place * step))
            for at in (0, 0.49, 0.51, 1)
        ]
        for place in range(4)
    ]
    assert seen == [[blue] * 4, [blue, blue, grey, grey], [grey] * 4, [blue, grey, grey, grey]]
    assert colours.getpixel((MARGIN, HEIGHT - MARGIN)) == white
