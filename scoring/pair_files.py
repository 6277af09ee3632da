"""Files of protein pairs: the labels of a gold, and the confidences of a predictor.

Both name each pair once, in their first column: `P12345-Q67890`, or whatever the gold calls it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from scoring.errors import Problems
from scoring.text import read_lines

LABELS = {"0": False, "1": True}
MOST_PAIRS = 500_000

_NUMBER = re.compile(r"[+-]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})([eE][+-]?\d{1,2})?", re.ASCII)
_GOLD, _RUN = "pair<TAB>label, 0 or 1", "pair<TAB>confidence, a number"


def read_labels(path: Path | str) -> dict[str, bool]:
    r"""Return the label of each pair of a gold, sorted: lines of `pair<TAB>label`.

    Raises `FormatError` with every problem.

    >>> _ = Path("gold.tsv").write_text("P04637-Q00987\t1\nP04637-P53350\t0\n")
    >>> read_labels("gold.tsv")
    {'P04637-P53350': False, 'P04637-Q00987': True}
    """
    problems = Problems()
    labels: dict[str, bool] = {}
    for number, pair, text in _rows(path, _GOLD, problems):
        if text not in LABELS:
            problems.add(path, number, 2, f"label {text[:40]!r}; expected 0 or 1")
        elif pair in labels:
            problems.add(path, number, 1, f"pair {pair[:60]!r} comes twice; expected it once")
        else:
            labels[pair] = LABELS[text]
    if not problems and len(set(labels.values())) < 2:
        problems.add(path, 0, 0, "only one kind of label; expected pairs labelled 0 and 1")
    problems.finish()
    return dict(sorted(labels.items()))  # what is drawn does not depend on the order of lines


def read_confidences(path: Path | str, labels: Mapping[str, bool]) -> dict[str, float]:
    r"""Return the confidence of each pair of a gold: `pair<TAB>confidence` lines, in any order.

    Raises `FormatError` with every problem: a confidence that is no number, a pair that comes
    twice, is not in the gold, or has no line.

    >>> _ = Path("run.tsv").write_text("P04637-Q00987\t0.8\n")
    >>> read_confidences("run.tsv", {"P04637-Q00987": True})
    {'P04637-Q00987': 0.8}
    """
    problems = Problems()
    lines: dict[str, int] = {}
    confidences: dict[str, float] = {}
    for number, pair, text in _rows(path, _RUN, problems):
        if pair not in labels:
            problems.add(path, number, 1, f"pair {pair[:60]!r} is not in the gold")
        elif pair in lines:
            message = f"pair {pair[:60]!r} comes twice, first in line {lines[pair]}"
            problems.add(path, number, 1, f"{message}; expected it once")
        elif not _NUMBER.fullmatch(text):
            problems.add(path, number, 2, f"{text[:40]!r}; expected a number such as 0.93 or 1e-7")
        else:
            confidences[pair] = float(text)
        lines.setdefault(pair, number)
    for pair in labels:
        if pair not in lines:
            problems.add(path, 0, 0, f"no line for pair {pair[:60]!r}; expected each pair once")
    problems.finish()
    return {pair: confidences[pair] for pair in labels}


def scored_pairs(run: Path | str, labels: Mapping[str, bool]) -> tuple[list[bool], list[float]]:
    """Return labels and confidences in the order of the pairs; raises `FormatError`."""
    return list(labels.values()), list(read_confidences(run, labels).values())


def _rows(path: Path | str, expected: str, problems: Problems) -> Iterator[tuple[int, str, str]]:
    """Yield number, first and second column of the lines that have two."""
    for number, line in enumerate(read_lines(Path(path)), start=1):
        pair, tab, text = line.partition("\t")
        if not pair or not tab or "\t" in text:
            problems.add(path, number, 0, f"{line[:60]!r}; expected {expected}")
        elif number > MOST_PAIRS:
            problems.add(path, number, 0, f"more than {MOST_PAIRS:,} pairs")
            problems.finish()
        else:
            yield number, pair, text
