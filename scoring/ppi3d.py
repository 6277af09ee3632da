"""A score of protein interaction predictors from two areas, next to AUROC and AUPRC.

"Evaluating Protein-protein Interaction Predictors with a Novel 3-Dimensional Metric", Wang &
Ganapathiraju 2015 (arXiv:1511.02196).

Thresholds are the distinct confidences, descending; at each, pairs with at least that confidence
are predicted to interact (tp, fp), the others not (tn). The paper's Tables 2 (AUPRC) and 3 (AUROC)
are reproduced within 0.005 by `simulate`. Its Table 4 (the score itself) is not: no literal reading
of the definitions gives its values (the best, built here, has RMSE 0.032 and an error of up to
0.062 over the 20 cells). They are within 0.006 of a fit that the paper does not mention: thresholds
at every 1/15 alone, and the product divided by the root of 2. Its sets b, c and d are in the
printed order; in set a the score does not depend on the share of interacting pairs, which is all
that is varied there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from scoring.errors import OptionError, Problems
from scoring.text import read_lines

Points: TypeAlias = NDArray[np.float64]

MEASURES = ("a1", "a2", "score", "auroc", "auprc")
RESAMPLES = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class Ppi3dScorecard:
    """The measures of one list of scored pairs."""

    positives: int
    negatives: int
    a1: float  # area under (tp/fp) / max(tp/fp) against recall, in [0, 1]
    a2: float  # area under 1 - fp/tn against recall, at most 1; negative for bad rankings
    score: float  # a1 · a2
    auroc: float  # in [0, 1]; ties count half
    auprc: float  # average precision, in [0, 1]

    def to_dict(self) -> dict[str, float]:
        """Return the scorecard as JSON-ready values."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class Curves:
    """Both curves against recall, from recall 0, then those of PR and ROC."""

    recall1: Points
    ratio: Points  # (tp/fp) / max(tp/fp), 1 where fp is 0
    recall2: Points  # without the thresholds where tn is 0
    specificity: Points  # 1 - fp/tn
    recall: Points
    precision: Points  # tp/(tp + fp); before the first threshold that of the first
    false_rate: Points  # fp over all other pairs
    roc_recall: Points

    @property
    def above(self) -> Points:
        """The second curve where it is not below 0, which it has no lower limit to."""
        return np.maximum(self.specificity, 0.0)


def evaluate(
    labels: Sequence[bool] | NDArray[np.bool_], confidences: Sequence[float] | Points
) -> Ppi3dScorecard:
    """Score pairs by label (True: they interact) and confidence (any finite number).

    Raises `OptionError` unless there are pairs of both kinds: no measure is defined without.
    """
    tp, fp = _counts(labels, confidences)
    curves = _curves(tp, fp)
    a1 = float(np.trapezoid(curves.ratio, curves.recall1))
    a2 = float(np.trapezoid(curves.specificity, curves.recall2))
    recall, false_rate = np.append(0.0, tp / tp[-1]), np.append(0.0, fp / fp[-1])
    return Ppi3dScorecard(
        positives=int(tp[-1]),
        negatives=int(fp[-1]),
        a1=a1,
        a2=a2,
        score=a1 * a2,
        auroc=float(np.trapezoid(recall, false_rate)),
        auprc=float(np.sum(np.diff(recall) * (tp / (tp + fp)))),
    )


def curves(
    labels: Sequence[bool] | NDArray[np.bool_], confidences: Sequence[float] | Points
) -> Curves:
    """Return the two curves whose areas `evaluate` multiplies, and those of PR and ROC."""
    return _curves(*_counts(labels, confidences))


def _counts(labels: Iterable[bool], confidences: Iterable[float]) -> tuple[Points, Points]:
    """Return true and false positives at each distinct confidence, descending."""
    known = np.asarray(labels, dtype=bool)
    values = np.asarray(confidences, dtype=float)
    if known.all() or not known.any():
        raise OptionError("pairs of both kinds are needed; expected labels 0 and 1")
    order = np.argsort(-values, kind="stable")
    last = np.append(np.flatnonzero(np.diff(values[order])), len(values) - 1)
    tp = np.cumsum(known[order])[last].astype(float)
    return tp, last + 1 - tp


def _curves(tp: Points, fp: Points) -> Curves:
    """Return both curves; before the first threshold fp is 0, so both begin at 1."""
    ratio = np.divide(tp, fp, out=np.full(len(tp), np.nan), where=fp > 0)
    ratio = np.where(fp > 0, ratio / np.nanmax(ratio), 1.0)
    tn = fp[-1] - fp
    kept = tn > 0
    recall = tp / tp[-1]
    return Curves(
        recall1=np.append(0.0, recall),
        ratio=np.append(1.0, ratio),
        recall2=np.append(0.0, recall[kept]),
        specificity=np.append(1.0, 1 - fp[kept] / tn[kept]),
        recall=np.append(0.0, recall),
        precision=(tp / (tp + fp))[[0, *range(len(tp))]],
        false_rate=np.append(0.0, fp / fp[-1]),
        roc_recall=np.append(0.0, recall),
    )


def simulate(
    *, alpha: float, beta: float, positive_share: float, pairs: int, seed: int
) -> tuple[NDArray[np.bool_], Points]:
    """Return labels and confidences of the paper's predictor P(alpha, beta).

    It is sure of the share `alpha` of the interacting pairs (confidence 1) and of the share `beta`
    of the others (confidence 0). The rest of the interacting pairs lie evenly in [1/4, 1], the rest
    of the others in [0, 3/4], so that AUROC is 1 - 2/9 · (1 - alpha) · (1 - beta). Shares lie in
    [0, 1].
    """
    random = np.random.default_rng(seed)
    labels = np.arange(pairs) < round(positive_share * pairs)
    spread = 0.75 * random.random(pairs) + np.where(labels, 0.25, 0.0)
    sure = random.random(pairs) < np.where(labels, alpha, beta)
    return labels, np.where(sure, labels, spread)


TABLES: Sequence[tuple[str, float, float, float]] = (
    *(("a", share, 0.10, 0.10) for share in (0.05, 0.10, 0.15, 0.20, 0.25)),
    *(("b", 0.10, alpha, 0.10) for alpha in (0.05, 0.10, 0.15, 0.20, 0.25)),
    *(("c", 0.10, 0.10, beta) for beta in (0.45, 0.40, 0.35, 0.30, 0.25)),
    *(("d", 0.10, alpha, round(0.50 - alpha, 2)) for alpha in (0.05, 0.10, 0.15, 0.20, 0.25)),
)
"""The cells of the paper's Tables 2 to 4: set, share of interacting pairs, alpha, beta."""

_FITTED_STEPS = 15


def simulated_tables(pairs: int, *, seed: int = 2009) -> list[dict[str, str | float]]:
    """Return the cells of Tables 2 to 4 from simulated predictors of so many pairs.

    `limit` is the score of infinitely many pairs; `Table 4, fitted` is that of thresholds at every
    1/15 alone, divided by the root of 2. Raises `OptionError` for too few pairs.
    """
    rows: list[dict[str, str | float]] = []
    for number, (name, share, alpha, beta) in enumerate(TABLES):
        labels, confidences = simulate(
            alpha=alpha, beta=beta, positive_share=share, pairs=pairs, seed=seed + number
        )
        card = evaluate(labels, confidences)
        coarse = evaluate(labels, np.floor(_FITTED_STEPS * confidences))
        rows.append(
            {
                "set": name,
                "positive share": share,
                "alpha": alpha,
                "beta": beta,
                "AUPRC": card.auprc,
                "AUROC": card.auroc,
                "score": card.score,
                "limit": expected_score(alpha=alpha, beta=beta),
                "Table 4, fitted": coarse.score / math.sqrt(2),
            }
        )
    return rows


def expected_score(*, alpha: float, beta: float) -> float:
    """Return the score of P(alpha, beta) over infinitely many pairs (beta < 1), in closed form."""
    a1 = (1 + 2 * alpha) / 3
    a2 = 1 + (1 - alpha) * (2 / 3 + math.log(1 - 2 * (1 - beta) / 3) / (1 - beta))
    return a1 * a2


def intervals(
    labels: Sequence[bool] | NDArray[np.bool_],
    confidences: Sequence[float] | Points,
    *,
    resamples: int = RESAMPLES,
    level: float = 0.95,
    seed: int = 2009,
) -> dict[str, tuple[float, float]]:
    """Return the bootstrap interval of each measure, interacting and other pairs drawn apart."""
    found = on_resamples(labels, confidences, resamples=resamples, seed=seed)
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2], axis=0).tolist()
    return dict(zip(MEASURES, zip(low, high, strict=True), strict=True))


def on_resamples(
    labels: Sequence[bool] | NDArray[np.bool_],
    confidences: Sequence[float] | Points,
    *,
    resamples: int = RESAMPLES,
    seed: int = 2009,
) -> Points:
    """Return `MEASURES` (columns) on each resample: the same ones for the same labels."""
    known, values = np.asarray(labels, dtype=bool), np.asarray(confidences, dtype=float)
    kinds = [np.flatnonzero(known), np.flatnonzero(~known)]
    random = np.random.default_rng(seed)
    found = np.empty((resamples, len(MEASURES)))
    for row in found:
        drawn = np.concatenate([random.choice(kind, len(kind)) for kind in kinds])
        card = evaluate(known[drawn], values[drawn]).to_dict()
        row[:] = [card[name] for name in MEASURES]
    return found


def scores_on_resamples(
    labels: Sequence[bool] | NDArray[np.bool_],
    confidences: Sequence[float] | Points,
    resamples: int = RESAMPLES,
) -> Points:
    """Return the score on each resample."""
    found = on_resamples(labels, confidences, resamples=resamples)
    return found[:, MEASURES.index("score")]


def read_scores(path: Path | str) -> tuple[list[bool], list[float]]:
    r"""Read `label<TAB>confidence` lines (0 or 1, a finite number); raises `FormatError`.

    >>> _ = Path("scores.tsv").write_text("1\t0.9\n0\t-1.5\n")
    >>> read_scores("scores.tsv")
    ([True, False], [0.9, -1.5])
    """
    labels: list[bool] = []
    confidences: list[float] = []
    problems = Problems()
    for number, line in enumerate(read_lines(Path(path)), start=1):
        label, _, text = line.partition("\t")
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if label in ("0", "1") and math.isfinite(value):
            labels.append(label == "1")
            confidences.append(value)
        else:
            message = f"{line[:60]!r}; expected label<TAB>confidence, 0 or 1 and a number"
            problems.add(path, number, 0, message)
    if not problems and len(set(labels)) < 2:
        message = "only one kind of label; expected pairs labelled 0 and 1"
        problems.add(path, 0, 0, message)
    problems.finish()
    return labels, confidences
