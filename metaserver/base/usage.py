"""Tokens and costs of answers, as teams declare them: the hub reads them and checks none.

An annotator that asks a language model says in its answer's `meta` what the answer took.
"""

from __future__ import annotations

from typing import Final

import msgspec

DECLARED: Final = (
    *("declared_tokens_in", "declared_tokens_out", "declared_cost", "declared_currency"),
    "declared_articles",
)
"""Names of what a run's answers took, in tables: an article on average, as its team declares."""
CURRENCIES: Final = 4
"""The run's currencies that are summed up; costs in further currencies are left out."""


class DeclaredUsage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An answer's tokens and cost; None if not declared.

    `cost` is in `currency` (ISO 4217). `model` is the model's name, `prompt` the prompt's name,
    `requests` the number of requests to it.
    """

    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    currency: str = ""
    model: str = ""
    prompt: str = ""
    requests: int | None = None

    @property
    def amount(self) -> str:
        """The cost with its currency, in words; empty for none."""
        return "" if self.cost is None else f"{self.cost:.6g} {self.currency}"


class RunUsage(msgspec.Struct, frozen=True, kw_only=True):
    """A run's mean tokens and cost per answered article, as its team declares.

    `articles` are those whose answers declare something; the others count in no mean. `cost` is the
    mean cost in `currency` over the `priced` articles. None: nothing is declared.
    """

    articles: int
    tokens_in: float | None = None
    tokens_out: float | None = None
    cost: float | None = None
    currency: str = ""
    priced: int = 0

    @property
    def tokens(self) -> float | None:
        """The tokens in both directions; None unless both are declared."""
        if self.tokens_in is None or self.tokens_out is None:
            return None
        return self.tokens_in + self.tokens_out

    @property
    def declared(self) -> tuple[float | str | None, ...]:
        """The values that `DECLARED` names."""
        return self.tokens_in, self.tokens_out, self.cost, self.currency, self.articles

    @property
    def amount(self) -> str:
        """The cost with its currency, in words; n/a for none."""
        return "n/a" if self.cost is None else f"{self.cost:.3g} {self.currency}"


def tokens_text(tokens: float | None) -> str:
    """Write a number of tokens; n/a for none."""
    return "n/a" if tokens is None else f"{tokens:,.0f}"


class UsageTotals(msgspec.Struct, array_like=True):
    """The sums of what a run's answers declare, each with its number of answers."""

    declared: int = 0
    tokens_in: tuple[int, int] = (0, 0)
    tokens_out: tuple[int, int] = (0, 0)
    costs: dict[str, tuple[int, float]] = {}

    def add(self, usage: DeclaredUsage) -> None:
        """Count an answer."""
        self.declared += 1
        self.tokens_in = _added(self.tokens_in, usage.tokens_in)
        self.tokens_out = _added(self.tokens_out, usage.tokens_out)
        if usage.cost is not None and (
            usage.currency in self.costs or len(self.costs) < CURRENCIES
        ):
            count, total = self.costs.get(usage.currency, (0, 0.0))
            self.costs[usage.currency] = (count + 1, total + usage.cost)

    def of_run(self, currency: str) -> RunUsage | None:
        """Return the means, with the costs in a single currency; None if nothing is declared."""
        if not self.declared:
            return None
        priced, cost = self.costs.get(currency, (0, 0.0))
        return RunUsage(
            articles=self.declared,
            tokens_in=_mean(self.tokens_in),
            tokens_out=_mean(self.tokens_out),
            cost=cost / priced if priced else None,
            currency=currency if priced else "",
            priced=priced,
        )

    def copy(self) -> UsageTotals:
        """Return the same sums, which later answers do not change."""
        return msgspec.structs.replace(self, costs=dict(self.costs))


def _added(sums: tuple[int, int], value: int | None) -> tuple[int, int]:
    return sums if value is None else (sums[0] + 1, sums[1] + value)


def _mean(sums: tuple[int, int]) -> float | None:
    count, total = sums
    return total / count if count else None
