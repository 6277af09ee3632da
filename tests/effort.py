"""The effort of tests by examples: all of them with the nightly tests, else a part."""

whole: list[bool] = [False]
"""Whether all examples are tried; `tests/conftest.py` sets it before any test is read."""
_PART = 4


def examples(count: int) -> int:
    """Return the number of examples to try, of so many."""
    return count if whole[0] else max(5, count // _PART)
