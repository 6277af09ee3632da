"""The team kit: a server, a self-test and ready baselines. Needs no hub, no evaluator."""

from annotators.contract import Answer, Context, Mention, Normalization, Pair
from annotators.server import serve

__all__ = ["Answer", "Context", "Mention", "Normalization", "Pair", "serve"]
