"""`scoring ppi3d`: the score of 3-D protein interaction predictors."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from scoring import plots
from scoring.intervals import Bounds, resample_count
from scoring.ppi3d import Curves, curves, evaluate, intervals, read_scores
from scoring.tables import Cell, text_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser("ppi3d", help="score 3-D protein interaction predictors")
    parser.add_argument(
        "--scores", required=True, type=Path, metavar="TSV", help="label (0 or 1), confidence"
    )
    parser.add_argument(
        "--resamples", type=resample_count, default=1000, metavar="N", help="0: no intervals"
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw both curves: SVG, PNG, PDF")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=score_pairs)


def score_pairs(args: argparse.Namespace) -> int:
    """Print the measures of one list of scored pairs."""
    if args.plot:
        plots.check(args.plot)
    labels, confidences = read_scores(args.scores)
    values = evaluate(labels, confidences).to_dict()
    bounds = intervals(labels, confidences, resamples=args.resamples) if args.resamples else {}
    if args.plot:
        plots.save(_figure(curves(labels, confidences)), args.plot)
    if args.json:
        print(json.dumps({**values, "intervals": bounds}, indent=2))
        return 0
    shown = {name: str(Bounds(*found)) for name, found in bounds.items()}
    rows: list[list[Cell]] = [[name, value, shown.get(name, "")] for name, value in values.items()]
    print(text_table([["measure", "value", "95 %"], *rows]))
    return 0


def _figure(both: Curves) -> Figure:
    figure, axes = plots.new_figure()
    axes.plot(both.recall1, both.ratio, label="(tp/fp) / max(tp/fp)")
    axes.plot(both.recall2, both.specificity, label="1 - fp/tn")
    axes.set(xlabel="recall", ylabel="value", xlim=(0, 1), ylim=(min(0, *both.specificity), 1.02))
    axes.legend(fontsize="small")
    return figure
