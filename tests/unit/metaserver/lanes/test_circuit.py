"""The circuit of a lane whose server refuses the hub's credentials."""

import random

from metaserver.base.states import Backoff, Outcome
from metaserver.lanes.circuit import Circuit, CircuitState

PROBE = Backoff(base=5.0, cap=60.0)


def test_refused_credentials_open_it_at_once_for_the_longest_time() -> None:
    circuit = Circuit(5, PROBE, random.Random(1))
    circuit.ended(Outcome.CREDENTIALS, "HTTP status 401", 100.0)
    assert circuit.state is CircuitState.OPEN
    assert circuit.reason == "credentials: HTTP status 401"
    assert circuit.probe_at >= 100.0 + PROBE.cap / 2
