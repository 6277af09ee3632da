"""The team kit: a server, a self-test and ready baselines. Needs no hub, no evaluator.

It imports neither `metaserver` nor `scoring`.
"""

from typing import TYPE_CHECKING, Any

from annotators.contract import Answer, Context, Mention, Normalization, Pair

if TYPE_CHECKING:
    from annotators.server import serve

__all__ = ["Answer", "Context", "Mention", "Normalization", "Pair", "serve"]


def __getattr__(name: str) -> Any:
    """Load the server when it is first asked for: the command's help needs no HTTP library."""
    if name == "serve":
        from annotators.server import serve

        return serve
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
