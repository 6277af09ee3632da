"""ACT by a linear model over word and word-pair counts (TF-IDF, logistic regression).

Training needs scikit-learn; prediction only numpy. A model is an `.npz` file of plain arrays, so
loading one never runs code.
"""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias
from zlib import crc32

import numpy as np
import numpy.typing as npt

from annotators.baselines.articles import read_articles, read_gold
from annotators.contract import Answer
from annotators.errors import BadInputError

FORMAT = 1
FEATURES = 2**18  # hash buckets; 4,000 abstracts fill about two thirds
STRENGTH = 4.0  # inverse of the L2 penalty, chosen by cross-validation on BC6PM's training set

WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")

Floats: TypeAlias = npt.NDArray[np.float32]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Model:
    """A trained model: `idf` and `weights` have one value a feature."""

    idf: Floats
    weights: Floats
    intercept: float

    def probability(self, text: str) -> float:
        """Return the probability, in ]0, 1[, that an article is relevant."""
        counts = _counts(text)
        features = np.fromiter(counts, dtype=np.int64)
        values = (1 + np.log(np.fromiter(counts.values(), dtype=np.float32))) * self.idf[features]
        length = float(np.linalg.norm(values)) or 1.0
        score = float(values @ self.weights[features]) / length + self.intercept
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
                    intercept=self.intercept,
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
                model = cls(
                    idf=arrays["idf"],
                    weights=arrays["weights"],
                    intercept=float(arrays["intercept"]),
                )
                version = int(arrays["format"])
        except OSError as error:
            raise BadInputError(path, f"cannot be read: {error.strerror or error}") from error
        except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
            raise BadInputError(path, "not a model; expected what train-act writes") from error
        if version != FORMAT or not model.idf.shape == model.weights.shape == (FEATURES,):
            raise BadInputError(path, f"a model of format {version}; expected {FORMAT}")
        return model


def annotate(model: Model, text: str) -> Answer:
    """Answer ACT: relevant where the probability is above 0.5; its surer side is the confidence."""
    probability = model.probability(text)
    return {"interaction": [probability > 0.5, max(probability, 1 - probability)]}


def train(gold: Mapping[str, bool], texts: Mapping[str, str]) -> Model:
    """Fit a model on the articles that have both a text and a label; needs both classes."""
    from scipy.sparse import csr_array
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.linear_model import LogisticRegression

    known = [article for article in gold if article in texts]
    rows = [_counts(texts[article]) for article in known]
    columns = [feature for row in rows for feature in row]
    values = [float(count) for row in rows for count in row.values()]
    ends = np.cumsum([0, *map(len, rows)])
    matrix = csr_array((values, columns, ends), shape=(len(rows), FEATURES))
    scaler = TfidfTransformer(sublinear_tf=True)
    classifier = LogisticRegression(C=STRENGTH, class_weight="balanced", max_iter=1000)
    classifier.fit(scaler.fit_transform(matrix), [gold[article] for article in known])
    return Model(
        idf=scaler.idf_.astype(np.float32),
        weights=classifier.coef_[0].astype(np.float32),
        intercept=float(classifier.intercept_[0]),
    )


def train_shipped() -> Model:
    """Train on the small set that comes with the package."""
    data = Path(str(files("annotators"))) / "data"
    texts = read_articles([data / "act_training.tsv"])
    return train(read_gold(data / "act_training_gold.tsv"), texts)


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
