"""PPI-3D: the score for 3-D protein interaction predictors, from a confidence for each pair.

The gold is `pair<TAB>label` (0 or 1), a run `pair<TAB>confidence`. Pairs are what articles are to
other tasks; a pair's payload is its confidence.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from metaserver.base.boards import Column, Score
from metaserver.base.errors import InputError
from metaserver.base.records import ArticleId, TaskName
from metaserver.tasks.plugin import RunFile
from metaserver.tasks.result_files import (
    ResampledRun,
    WholeRunScorer,
    WholeRunTask,
    faults,
)
from metaserver.tasks.scores import input_error, undefined
from scoring import SCORER_VERSION, FormatError
from scoring.pair_files import read_confidences, read_labels
from scoring.ppi3d import RESAMPLES, evaluate, scores_on_resamples

MOST_PAIRS = 100_000
"""The maximum number of pairs in a gold: a run's intervals then take half a minute, in a thread."""

COLUMNS = (
    Column(key="score", heading="Score", help="A1 × A2"),
    Column(key="a1", heading="A1", help="Area under (tp/fp) / max(tp/fp) against recall"),
    Column(key="a2", heading="A2", help="Area under 1 - fp/tn against recall; at most 1"),
    Column(key="auroc", heading="AUROC", help="Area under the ROC curve; ties count half"),
    Column(key="auprc", heading="AUPRC", help="Average precision"),
)


@dataclass(frozen=True, kw_only=True)
class PairPrediction(WholeRunTask):
    """The task PPI-3D."""

    columns: tuple[Column, ...] = COLUMNS
    order: tuple[str, ...] = ("score", "auroc")
    upload: str = "a table (pair, confidence) with every pair"
    resampling: str = f"{RESAMPLES:,} resamples of the pairs, seed 2009"
    items: str = "pairs"
    command: str = "scoring ppi3d --tests"
    largest: int = field(default=MOST_PAIRS, repr=False)

    def read_gold(self, path: Path) -> Mapping[str, bool]:
        """Read all pairs' labels; raises `InputError` with file and line."""
        try:
            labels = read_labels(path)
        except FormatError as error:
            raise input_error(error) from error
        if len(labels) > self.largest:
            raise InputError(path, f"{len(labels):,} pairs; expected at most {self.largest:,}")
        return labels

    def scorer(self, gold: Mapping[str, bool]) -> WholeRunScorer:
        """Return an empty scorer for a run against `gold`."""
        return WholeRunScorer(gold.keys(), partial(self._score, gold))

    def read_upload(self, path: Path, gold: Mapping[str, bool]) -> RunFile:
        """Read all pairs' confidences; a fault's path is its line and column."""
        try:
            values = read_confidences(path, gold)
        except FormatError as error:
            return RunFile(faults=faults(error, path))
        return RunFile(payloads={ArticleId(pair): value for pair, value in values.items()})

    def gold_articles(self, gold: Mapping[str, bool]) -> Collection[str]:
        """Return the gold's pairs."""
        return gold.keys()

    def counted(
        self, _gold: Mapping[str, bool], payloads: Mapping[ArticleId, float]
    ) -> Mapping[str, object]:
        """Return each pair's place by its confidence: only their order counts."""
        ordered = sorted(payloads, key=lambda pair: (payloads[pair], pair))
        return {str(pair): place for place, pair in enumerate(ordered)}

    def labels(self, gold: Mapping[str, bool]) -> Mapping[ArticleId, frozenset[str]]:
        """Return whether each pair interacts."""
        words = {True: frozenset(["interacts"]), False: frozenset(["does not interact"])}
        return {ArticleId(pair): words[label] for pair, label in gold.items()}

    def _score(self, gold: Mapping[str, bool], payloads: Mapping[ArticleId, float]) -> Score:
        """Score a run; a pair of a newer gold that it has no confidence for ranks last."""
        lowest = min(payloads.values(), default=0.0)
        last = np.nextafter(lowest, -np.inf)
        labels = np.fromiter(gold.values(), dtype=bool)
        in_order = (payloads.get(ArticleId(pair), last) for pair in gold)
        confidences = np.fromiter(in_order, dtype=float)
        card = evaluate(labels, confidences).to_dict()
        values = undefined(
            {column.key: card[column.key] for column in self.columns}, answered=bool(payloads)
        )
        counts = {"articles_scored": len(payloads), "articles_in_gold": len(gold)}
        signature = f"{self.name}|articles:all|version:{SCORER_VERSION}"
        return Score(
            values=values,
            **counts,
            curve=(),
            detail={"task": self.name, **counts, **card, "signature": signature},
            card=ResampledRun(
                values[self.order[0]], partial(scores_on_resamples, labels, confidences), len(gold)
            ),
        )


PPI_3D = PairPrediction(name=TaskName("PPI-3D"), title="3-D protein interaction prediction")
