"""Names as they are compared: without case, accents of writing, and what separates their parts."""

from __future__ import annotations

import re

GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ζ": "zeta",
    "η": "eta", "θ": "theta", "κ": "kappa", "λ": "lambda", "μ": "mu", "ω": "omega",
}  # fmt: skip
_LETTERS = str.maketrans(GREEK)
_WORD = re.compile(r"[^\W_]+")


def words(text: str) -> list[str]:
    """Return a name's words.

    Example: `words("TNF-α (mouse)")` returns `["tnf", "alpha", "mouse"]`.
    """
    return _WORD.findall(text.casefold().translate(_LETTERS))


def folded(text: str) -> str:
    """Return a name as symbols are compared: `TNF-α`, `TNF alpha` and `Tnfalpha` are equal."""
    return "".join(words(text))
