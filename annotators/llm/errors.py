"""Failures of a language model's endpoint, each of which becomes a fault with its message.

EndpointError             the endpoint cannot be used, or gave up
├── CredentialsError      it refused the key: asking again is useless
├── TooLongError          the text does not fit into the model's context
├── FormatRefusedError    it does not know the form of output that was asked for
├── ParameterRefusedError it does not take a parameter of the request
└── AnswerError           its answer is no JSON of the agreed shape, or was cut or refused
BudgetError               the tokens that the configuration allows are used up
"""

from __future__ import annotations

from annotators.errors import AnnotatorsError


class EndpointError(AnnotatorsError):
    """An endpoint that cannot be used, or that still failed after all attempts."""


class CredentialsError(EndpointError):
    """A key that the endpoint refused."""


class TooLongError(EndpointError):
    """A text that does not fit into the model's context."""


class FormatRefusedError(EndpointError):
    """A form of output that the endpoint does not know."""


class ParameterRefusedError(EndpointError):
    """A parameter that the endpoint, or its model, does not take."""

    def __init__(self, parameter: str, reason: str) -> None:
        self.parameter = parameter
        super().__init__(reason)


class AnswerError(EndpointError):
    """An answer that is no JSON of the agreed shape, or that was cut or refused."""


class BudgetError(AnnotatorsError):
    """A budget of tokens that is used up."""
