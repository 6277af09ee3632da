"""Figures of scores: curves, F against AUC, article difficulty. Needs the extra `plots`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scoring.analysis import ArticleDifficulty, ArticleRank
from scoring.errors import OptionError
from scoring.scorecard import ActScorecard, Scorecard

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DATED = {".svg": "Date", ".png": "Software", ".pdf": "CreationDate"}
"""The kinds of picture, and what in each would differ from one day or version to the next."""


def new_figure() -> tuple[Figure, Axes]:
    """Return an empty figure of one plot; raises `OptionError` where matplotlib is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        extra = "pip install 'biocreative-metaserver[plots]'"
        raise OptionError(f"plots need matplotlib: {extra}") from error
    figure = Figure(figsize=(7, 5), layout="constrained")
    return figure, figure.add_subplot()


def curves(scorecards: Sequence[Scorecard]) -> Figure:
    """Draw the runs' interpolated precision/recall curves (macro-averaged for INT and IPT)."""
    figure, axes = new_figure()
    for scorecard in scorecards:
        recalls, precisions = [0.0], []
        for recall, precision in scorecard.curve:
            recalls.append(recall)
            precisions.append(precision)
        axes.stairs(precisions, recalls, label=_labelled(scorecard), baseline=None)
    axes.set(xlabel="recall", ylabel="interpolated precision", xlim=(0, 1), ylim=(0, 1.02))
    axes.legend(fontsize="small")
    return figure


def scatter(scorecards: Sequence[Scorecard]) -> Figure:
    """Draw each run's F (ACT: MCC) against its AUC iP/R: classification against ranking."""
    figure, axes = new_figure()
    for card in scorecards:
        if isinstance(card, ActScorecard):
            x, y = card.auc_ipr, card.confusion.mcc
        else:
            x, y = card.means.auc_ipr, card.means.f_score
        axes.scatter([x], [y])
        name, offset = _labelled(card), "offset points"
        axes.annotate(name, (x, y), fontsize="small", xytext=(4, 4), textcoords=offset)
    act = isinstance(scorecards[0], ActScorecard)
    axes.set(xlabel="AUC iP/R", ylabel="MCC" if act else "F")
    return figure


def _labelled(card: Scorecard) -> str:
    """Return a run's name with the articles that it is scored on, of those in the gold."""
    return f"{card.run} ({card.articles_scored}/{card.articles_in_gold})"


def difficulty(articles: Sequence[ArticleRank | ArticleDifficulty]) -> Figure:
    """Draw each article's mean with its deviation over the runs, easiest first.

    ACT: the mean rank, relevant articles apart from the others (Fig. 4 of the BC II.5 overview);
    INT and IPT: the mean AUC iP/R.
    """
    figure, axes = new_figure()
    groups: dict[str, list[tuple[int, float, float]]] = {}
    for place, one in enumerate(articles, start=1):
        name = "articles"
        if isinstance(one, ArticleRank):
            name = "relevant" if one.relevant else "not relevant"
        groups.setdefault(name, []).append((place, one.mean, one.deviation))
    for name, points in groups.items():
        x, means, deviations = zip(*points, strict=True)
        axes.errorbar(x, means, deviations, fmt=".", elinewidth=0.5, label=name)
    ranked = bool(articles) and isinstance(articles[0], ArticleRank)
    label = "mean rank" if ranked else "mean AUC iP/R"
    axes.set(xlabel="articles, easiest first", ylabel=f"{label} (weighted by the runs' AUC)")
    if groups:
        axes.legend(fontsize="small")
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write a figure as SVG, PNG or PDF by the path's suffix; the same figure, the same bytes."""
    import matplotlib

    check(path)
    with matplotlib.rc_context({"svg.hashsalt": "scoring"}):
        figure.savefig(path, dpi=150, metadata={_DATED[path.suffix]: None})


def check(path: Path) -> None:
    """Raise `OptionError` unless the path's suffix is one that can be drawn."""
    if path.suffix not in _DATED:
        raise OptionError(f"{path}: expected a name that ends in {', '.join(_DATED)}")
