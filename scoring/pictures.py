"""The options `--out` and `--html`: a chart as a picture, and as a page."""

from __future__ import annotations

import argparse
from pathlib import Path

from scoring import pages, plots
from scoring.charts import Chart


def add_pictures(parser: argparse.ArgumentParser) -> None:
    """Add `--out` and `--html`."""
    parser.add_argument("--out", type=Path, metavar="FILE", help="a picture: .svg, .png or .pdf")
    parser.add_argument("--html", type=Path, metavar="FILE", help="an interactive page, about 5 MB")


def check_pictures(args: argparse.Namespace) -> None:
    """Refuse names of pictures that cannot be drawn."""
    if args.out:
        plots.check(args.out)
    if args.html:
        pages.check(args.html)


def save_pictures(args: argparse.Namespace, chart: Chart) -> None:
    """Write the picture and the page that are asked for."""
    if args.out:
        plots.save(chart, args.out)
    if args.html:
        pages.save(chart, args.html)
