"""ACT by a linear model over words, word pairs, and counts of sentences (logistic regression).

Proteins and mutations are masked, so that the model learns how they are written about and not
which they are; sentences are counted by the proteins, interaction words and mutations in them.
Training needs scikit-learn (the extra `train`), prediction only numpy. A model is an `.npz` file of
plain arrays, so loading one never runs code. It remembers the names that it was trained with by
their digest.
"""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import file_digest
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
import numpy.typing as npt

from annotators.baselines.entities import COUNTED, entities, masked, sentence_counts
from annotators.baselines.proteins import read_proteins
from annotators.contract import Answer
from annotators.errors import BadInputError
from annotators.matching import Dictionary

FORMAT = 2
FEATURES = 2**18  # hash buckets; 4,000 abstracts fill about two thirds
STRENGTH = 4.0  # inverse of the L2 penalty, chosen by cross-validation on BC6PM's training set
COUNTS_SCALE = 0.02  # of standardised counts beside TF-IDF rows of length 1; chosen likewise
FOLDS = 5
MIN_FOR_THRESHOLD = 200  # articles; the threshold of fewer is noise, and 0.5 is kept
FLAT = 0.01  # MCC within which thresholds are as good as the best
MOST_BYTES = 16 * 2**20  # of a model's unpacked arrays; they have 2 MiB

_NO_MODEL = (ValueError, KeyError, TypeError, EOFError, MemoryError, zipfile.BadZipFile)

EXTRA = "pip install 'biocreative-metaserver[train]'"
WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")

Floats: TypeAlias = npt.NDArray[np.float32]
Scores: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Model:
    """A trained model: `idf` and `weights` have one value a feature, `counts` one a count.

    `names` is the digest of the table of names that it was trained with.
    """

    idf: Floats
    weights: Floats
    counts: Floats
    intercept: float
    names: str

    def probability(self, known: Dictionary, text: str) -> float:
        """Return a number in ]0, 1[ that grows with relevance; relevant is what is above 0.5."""
        words, counted = _features(known, text)
        features = np.fromiter(words, dtype=np.int64)
        values = (1 + np.log(np.fromiter(words.values(), dtype=np.float32))) * self.idf[features]
        length = float(np.linalg.norm(values)) or 1.0
        score = float(values @ self.weights[features]) / length + self.intercept
        score += float(counted @ self.counts)
        return float(1 / (1 + np.exp(-np.clip(score, -30, 30))))

    def save(self, path: Path) -> None:
        """Write the model as a compressed `.npz` file at exactly `path`, atomically."""
        part = path.with_name(path.name + ".part")
        try:
            with part.open("wb") as out:
                np.savez_compressed(
                    out,
                    format=FORMAT,
                    idf=self.idf,
                    weights=self.weights,
                    counts=self.counts,
                    intercept=self.intercept,
                    names=self.names,
                )
            part.replace(path)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise BadInputError(path, f"cannot be written: {error.strerror}") from error

    @classmethod
    def load(cls, path: Path) -> Model:
        """Read a model that `save` wrote; anything else raises `BadInputError`."""
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                if sum(part.file_size for part in arrays.zip.infolist()) > MOST_BYTES:
                    raise BadInputError(
                        path, "too large for a model; expected what train-act writes"
                    )
                version = int(arrays["format"])
                if version != FORMAT:
                    raise BadInputError(path, f"a model of format {version}; expected {FORMAT}")
                model = cls(
                    idf=arrays["idf"],
                    weights=arrays["weights"],
                    counts=arrays["counts"],
                    intercept=float(arrays["intercept"]),
                    names=str(arrays["names"]),
                )
        except OSError as error:
            raise BadInputError(path, f"cannot be read: {error.strerror or error}") from error
        except _NO_MODEL as error:
            raise BadInputError(path, "not a model; expected what train-act writes") from error
        shapes = (model.idf.shape, model.weights.shape, model.counts.shape)
        if shapes != ((FEATURES,), (FEATURES,), (len(COUNTED),)):
            raise BadInputError(path, "a model of other features; expected what train-act writes")
        numbers = (model.idf, model.weights, model.counts, np.asarray(model.intercept))
        if not all(each.dtype.kind == "f" and np.isfinite(each).all() for each in numbers):
            raise BadInputError(path, "a model with other values than finite numbers")
        return model

    def require_names(self, path: Path) -> None:
        """Raise `BadInputError` where the table of names is another than that of the training."""
        if digest(path) != self.names:
            raise BadInputError(
                path, "not the names that the model was trained with; expected the same table"
            )


def digest(names: Path) -> str:
    """Return the SHA-256 of a table of names."""
    try:
        with names.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise BadInputError(names, f"cannot be read: {error.strerror}") from error


def annotate(model: Model, known: Dictionary, text: str) -> Answer:
    """Answer ACT: relevant where the probability is above 0.5; its surer side is the confidence."""
    probability = model.probability(known, text)
    return {"interaction": [probability > 0.5, max(probability, 1 - probability)]}


def train(gold: Mapping[str, bool], texts: Mapping[str, str], names: Path) -> Model:
    """Fit a model on the articles that have both a text and a label; needs both classes.

    `names` is a UniProt table. The threshold is the one with the best MCC in cross-validation.
    Without scikit-learn it raises `BadInputError`.
    """
    if find_spec("sklearn") is None:
        raise BadInputError("train-act", f"it needs scikit-learn; expected {EXTRA}")
    known = Dictionary(read_proteins(names))
    articles = [article for article in gold if article in texts]
    rows = [_features(known, texts[article]) for article in articles]
    words = _matrix([row for row, _ in rows])
    counts = np.stack([counted for _, counted in rows])
    labels = np.array([gold[article] for article in articles])
    fitted = _Fitted(words, counts, labels)
    return Model(
        idf=fitted.idf,
        weights=fitted.weights,
        counts=fitted.counts,
        intercept=fitted.intercept - _threshold(words, counts, labels),
        names=digest(names),
    )


class _Fitted:
    """A fit: what standardises the counts is part of its weights and its intercept."""

    def __init__(self, words: Any, counts: Floats, labels: npt.NDArray[np.bool_]) -> None:
        from scipy.sparse import csr_array, hstack
        from sklearn.feature_extraction.text import TfidfTransformer
        from sklearn.linear_model import LogisticRegression

        self.scaler = TfidfTransformer(sublinear_tf=True)
        scale = COUNTS_SCALE / (counts.std(axis=0) + 1e-9)
        scale[counts.std(axis=0) == 0] = 0.0
        mean = counts.mean(axis=0)
        both = hstack([self.scaler.fit_transform(words), csr_array((counts - mean) * scale)])
        classifier = LogisticRegression(C=STRENGTH, class_weight="balanced", max_iter=1000)
        classifier.fit(both.tocsr(), labels)
        found = classifier.coef_[0]
        self.idf = self.scaler.idf_.astype(np.float32)
        self.weights = found[:FEATURES].astype(np.float32)
        self.counts = (found[FEATURES:] * scale).astype(np.float32)
        self.intercept = float(classifier.intercept_[0] - mean @ (found[FEATURES:] * scale))

    def scores(self, words: Any, counts: Floats) -> Scores:
        """Return the log-odds of each row."""
        found: Scores = self.scaler.transform(words) @ self.weights + counts @ self.counts
        return found + self.intercept


def _threshold(words: Any, counts: Floats, labels: npt.NDArray[np.bool_]) -> float:
    """Return the log-odds above which articles count as relevant: the best MCC by folds.

    Where many are about as good, it is the middle one of them; 0 for a small training set.
    """
    from sklearn.model_selection import StratifiedKFold

    if len(labels) < MIN_FOR_THRESHOLD or min(labels.sum(), (~labels).sum()) < FOLDS:
        return 0.0
    scores = np.zeros(len(labels))
    for seen, left in StratifiedKFold(FOLDS, shuffle=True, random_state=1).split(words, labels):
        fold = _Fitted(words[seen], counts[seen], labels[seen])
        scores[left] = fold.scores(words[left], counts[left])
    thresholds = np.quantile(scores, np.linspace(0.05, 0.95, 181))
    found = np.array([_mcc(labels, scores > threshold) for threshold in thresholds])
    return float(np.median(thresholds[found >= found.max() - FLAT]))


def _mcc(labels: npt.NDArray[np.bool_], predicted: npt.NDArray[np.bool_]) -> float:
    """Return Matthews' correlation coefficient, in [-1, 1]; 0 where it is undefined."""
    if labels.all() or not labels.any() or predicted.all() or not predicted.any():
        return 0.0
    return float(np.corrcoef(labels, predicted)[0, 1])


def _matrix(rows: Sequence[Mapping[int, int]]) -> Any:
    from scipy.sparse import csr_array

    columns = [feature for row in rows for feature in row]
    values = [float(count) for row in rows for count in row.values()]
    ends = np.cumsum([0, *map(len, rows)])
    return csr_array((values, columns, ends), shape=(len(rows), FEATURES))


def _features(known: Dictionary, text: str) -> tuple[Counter[int], Floats]:
    """Return the words of a text with entities masked, by hash, and the logs of its counts."""
    found = entities(known, text)
    counted = np.zeros(len(COUNTED), dtype=np.float32)
    for place, count in sentence_counts(text, found).items():
        counted[place] = np.log1p(count)
    return _counts(masked(text, found)), counted


def _counts(text: str) -> Counter[int]:
    """Count the text's words and word pairs by hash; the title's also as such."""
    title, _, body = text.partition("\n")
    terms = [
        *_terms(title),
        *_terms(body),
        *(f"title:{word}" for word in WORD.findall(title.lower())),
    ]
    return Counter(crc32(term.encode()) % FEATURES for term in terms)


def _terms(text: str) -> Iterator[str]:
    words = WORD.findall(text.lower())
    yield from words
    yield from map(" ".join, pairwise(words))
