"""Decimal fractions rounded as `float` rounds them, many at once.

A quotient of an integer and a power of ten, both of which are floats, is rounded once. A longer
integer is a float and a rest: the quotient is then computed to twice the precision of a float
(Dekker 1971, "A floating-point technique for extending the available precision"), and rounded.
Where this lies too close to the middle between two floats, the caller is to ask `float`.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Truths: TypeAlias = NDArray[np.bool_]

_EXACT = np.uint64(1 << 53)  # integers up to this are floats
_SPLITTER = 134217729.0  # 2^27 + 1: halves of a float's digits
_DOUBT = 1e-6
"""The part of the distance between two floats that counts as too close; the error is 1e-15."""


def _halves(numbers: Floats) -> tuple[Floats, Floats]:
    """Return two floats of half the digits, whose sum is the number."""
    scaled = _SPLITTER * numbers
    upper = scaled - (scaled - numbers)
    return upper, numbers - upper


_POWERS = np.array([float(10**n) for n in range(23)])
_UPPER, _LOWER = _halves(_POWERS)


def quotients(digits: NDArray[np.uint64], decimals: NDArray[np.int64]) -> tuple[Floats, Truths]:
    """Return digits / 10^decimals, and whether each is what `float` gives.

    `digits` are below 10^18, `decimals` from 0 to 22.
    """
    numbers: Floats = digits / _POWERS[decimals]
    sure = np.ones(len(numbers), dtype=bool)
    long = np.flatnonzero(digits > _EXACT)
    if len(long):
        numbers[long], sure[long] = _long_quotients(digits[long], decimals[long])
    return numbers, sure


def _long_quotients(
    digits: NDArray[np.uint64], decimals: NDArray[np.int64]
) -> tuple[Floats, Truths]:
    power = _POWERS[decimals]
    dividend = digits.astype(np.float64)
    rest = (digits.astype(np.int64) - dividend.astype(np.int64)).astype(np.float64)
    first = dividend / power
    product = first * power
    upper, lower = _halves(first)
    power_upper, power_lower = _UPPER[decimals], _LOWER[decimals]
    excess = upper * power_upper - product  # first * power is exactly product + excess
    excess += upper * power_lower
    excess += lower * power_upper
    excess += lower * power_lower
    second = (((dividend - product) - excess) + rest) / power
    numbers = first + second
    off = np.abs(second - (numbers - first)) / np.spacing(numbers)
    # The middle is half a distance away, or a quarter below a power of two.
    sure = (np.abs(off - 0.5) > _DOUBT) & (np.abs(off - 0.25) > _DOUBT)
    return numbers, sure
