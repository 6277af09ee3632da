"""Settings: defaults for missing ones, and invalid ones reported with their place."""

from pathlib import Path

import pytest

from metaserver.base.errors import InputError
from metaserver.config import Settings, read_settings
from metaserver.exchange.http.guard import RefusedAddressError
from tests.shared import ROOT


def written(folder: Path, text: str) -> Path:
    path = folder / "config.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("text", ["", "# nothing is set\n", "limits: {}\nweb: {}\n"])
def test_missing_settings_have_their_defaults(tmp_path: Path, text: str) -> None:
    assert read_settings(written(tmp_path, text)) == Settings()


def test_the_file_that_comes_with_the_project_sets_the_defaults() -> None:
    assert read_settings(ROOT / "config.yaml") == Settings()


def test_settings_reach_the_lanes_and_the_client(tmp_path: Path) -> None:
    settings = read_settings(
        written(
            tmp_path,
            "limits: {connect: 3, attempts: 2, answer_bytes: 1000, answer_values: 50}\n"
            "retry: {base: 0.5, cap: 4}\n"
            "circuit: {failures: 7, probe_base: 2, probe_cap: 9, patience: 30, health: 5}\n",
        )
    )
    lanes, http = settings.lane_limits(settings.circuit.patience), settings.http_limits()
    assert (lanes.attempts, lanes.circuit, lanes.patience, lanes.health) == (2, 7, 30.0, 5.0)
    assert (lanes.backoff.base, lanes.backoff.cap) == (0.5, 4.0)
    assert (lanes.probe.base, lanes.probe.cap) == (2.0, 9.0)
    assert (http.connect, http.answer.bytes, http.answer.values) == (3.0, 1000, 50)


def test_networks_that_are_listed_are_let_through(tmp_path: Path) -> None:
    listed = "security: {allow_networks: [127.0.0.1, 10.20.0.0/16, 'fc00::/7']}"
    guard = read_settings(written(tmp_path, listed)).address_guard()
    for address in ("127.0.0.1", "::ffff:10.20.3.4", "fd12::1", "8.8.8.8"):
        guard.check(address)
    for address in ("127.0.0.2", "10.21.0.1", "::1"):
        with pytest.raises(RefusedAddressError, match="does not send articles there"):
            guard.check(address)


@pytest.mark.parametrize(
    ("text", "place", "expected"),
    [
        ("limits: {timeout: 0}", "limits.timeout", "> 0"),
        ("limits: {timeout: .nan}", "limits.timeout", "> 0"),
        ("limits: {timeout: .inf}", "limits.timeout", "<= "),
        ("limits: {timeout: '5'}", "limits.timeout", "`float`"),
        ("limits: {timeout: yes}", "limits.timeout", "`float`"),
        ("limits: {attempts: 0}", "limits.attempts", ">= 1"),
        ("limits: {attempts: 1.5}", "limits.attempts", "`int`"),
        ("limits: {concurrency: 10001}", "limits.concurrency", "<= 10000"),
        ("limits: {answer_bytes: 99999999999}", "limits.answer_bytes", "<= "),
        ("retry: {cap: -1}", "retry.cap", "> 0"),
        ("circuit: {failures: 0}", "circuit.failures", ">= 1"),
        ("circuit: {patience: never}", "circuit.patience", "`float`"),
        ("web: {port: 65536}", "web.port", "<= 65535"),
        ("security: {allow_networks: [10.0.0.1/8]}", "allow_networks", "has host bits set"),
        ("security: {allow_networks: [10/8]}", "allow_networks", "such as 10.20.0.0/16"),
        ("security: {allow_networks: ['localhost']}", "allow_networks", "'localhost'"),
        ("security: {allow_networks: [10]}", "security.allow_networks", "`str`"),
        ("security: {allow_networks: 10.0.0.0/8}", "security.allow_networks", "`array`"),
        ("web: {host: 127}", "web.host", "`str`"),
        ("limits: {timeot: 1}", "limits", "`timeot`"),
        ("limit: {timeout: 1}", "", "`limit`"),
        ("limits: 600", "limits", "`object`"),
        ("limits:", "limits", "`object`"),
        ("- limits", "", "`object`"),
    ],
)
def test_a_bad_setting_is_named(tmp_path: Path, text: str, place: str, expected: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_settings(path)
    assert caught.value.place == f"{path}:1"
    assert place in caught.value.message
    assert expected in caught.value.message
    assert "\n" not in str(caught.value)


NESTED = b"""limits:
  timeout: 5
challenges:
- challenge: bc
  phases:
  - {phase: one, release: r}
  - phase: two
    release: r
    kind: tset
"""


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        (NESTED, ":9", "challenges[0].phases[1].kind"),
        (b"limits:\n  timeout: [1\n", ":3", "expected"),
        (b"limits: {}\n---\nweb: {}\n", ":2", "another document"),
        (b"web: !!python/object:os.system {}\n", ":1", "tag"),
        (b"\x00", "", "not YAML"),
        (b"# \xff\n", "", "not UTF-8"),
    ],
)
def test_invalid_yaml_or_a_bad_setting_is_reported_with_its_line(tmp_path, content, line, words):
    path = tmp_path / "config.yaml"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_settings(path)
    assert caught.value.place == f"{path}{line}"
    assert words in caught.value.message


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_settings(tmp_path / "config.yaml")


def test_dates_stay_as_they_are_written(tmp_path: Path) -> None:
    text = "challenges: [{challenge: bc, phases: [{phase: a, release: r, opens: 2026-12-01}]}]"
    settings = read_settings(written(tmp_path, text))
    assert settings.challenges[0].phases[0].opens == "2026-12-01"
