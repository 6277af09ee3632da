"""The conformance run: what must pass before a server's first article counts (docs/teams.md)."""

from metaserver.services.conformance.run import conformance
from metaserver.services.conformance.steps import (
    Conformance,
    Step,
    StepState,
    Terms,
    Verdict,
)

__all__ = ["Conformance", "Step", "StepState", "Terms", "Verdict", "conformance"]
