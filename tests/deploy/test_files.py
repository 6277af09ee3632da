"""What `deploy/` names exists: units, compose file, Dockerfile, settings, alerts."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from metaserver.cli.main import BAD_INPUT, INTERRUPTED, build_parser
from metaserver.config import read_settings
from tests.shared import ROOT
from tests.tools import tool

DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").iterdir())
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
HUB = "/srv/metaserver/venv/bin/metaserver"


def commands() -> Iterator[tuple[str, list[str]]]:
    """Yield place and arguments of every `metaserver` command of the files."""
    for unit in UNITS:
        for line in re.findall(rf"{HUB} (.*?)'?$", unit.read_text(), re.MULTILINE):
            yield unit.name, shlex.split(line.replace("%i", "web").replace("%%", "%"))
    for name, service in COMPOSE["services"].items():
        if (command := service.get("command")) and "serve" in command:
            yield name, command
    for line in re.findall(r"metaserver (backup .*(?:\\\n.*)*?) \\\n +&&", str(backup_script())):
        yield "backup", shlex.split(line.replace("\\\n", " "))


def backup_script() -> str:
    """Return the script of the service that makes backups."""
    [script] = COMPOSE["services"]["backup"]["command"]
    return str(script)


@pytest.mark.nightly
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_finds_nothing_wrong_with_a_unit(unit: Path, tmp_path: Path) -> None:
    verify = tool("systemd-analyze")
    for one in UNITS:  # with a program that exists
        (tmp_path / one.name).write_text(one.read_text().replace(HUB, "/bin/true"))
    ended = subprocess.run(
        [verify, "verify", str(tmp_path / unit.name)], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_unit_starts_again_all_but_what_a_person_must_change() -> None:
    units = [text for unit in UNITS if f"{HUB} serve" in (text := unit.read_text())]
    assert len(units) == 2
    for text in units:
        settings = dict(re.findall(r"^(\w+)=(.+)$", text, re.MULTILINE))
        assert settings["Restart"] == "on-failure"
        assert settings["RestartPreventExitStatus"] == str(BAD_INPUT)
        assert settings["SuccessExitStatus"] == str(INTERRUPTED)


@pytest.mark.slow
def test_every_command_is_one_that_the_hub_has() -> None:
    found = list(commands())
    assert len(found) >= 6
    for place, arguments in found:
        assert build_parser().parse_args(arguments), place  # a wrong one ends the test


def test_the_compose_file_fits_its_published_schema() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    ended = subprocess.run(
        [*command, str(DEPLOY / "compose.yaml")], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_compose_file_names_files_services_and_volumes_that_there_are() -> None:
    declared = {kind: set(COMPOSE[kind]) for kind in ("services", "networks", "secrets", "volumes")}
    for name, service in COMPOSE["services"].items():
        for kind in ("networks", "secrets"):
            assert set(service.get(kind, [])) <= declared[kind], name
        assert set(service.get("depends_on", [])) <= declared["services"], name
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            made = source in declared["volumes"] or source == "./releases"
            assert made or (DEPLOY / source).is_file(), f"{name}: {volume}"
    build = COMPOSE["services"]["web-a"]["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).is_file()


def test_the_proxy_knows_each_web_process_by_a_name_of_its_own() -> None:
    services = COMPOSE["services"]
    webs = [name for name, one in services.items() if "web" in one.get("command", [])]
    assert len(webs) == 2
    assert services["proxy"]["environment"]["UPSTREAMS"].split() == [f"{web}:8020" for web in webs]
    assert all(services[web].get("deploy", {}).get("replicas", 1) == 1 for web in webs)


def test_the_dockerfile_copies_what_there_is_and_starts_the_hub() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    for sources in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE):
        assert all((ROOT / one).exists() for one in sources.split())
    [started] = re.findall(r"^CMD (\[.+\])$", text, re.MULTILINE)
    assert build_parser().parse_args(yaml.safe_load(started)).config
    assert re.search(r"^USER metaserver$", text, re.MULTILINE)


@pytest.mark.parametrize("name", ["config.yaml", "config.containers.yaml"])
def test_the_settings_are_read(name: str) -> None:
    settings = read_settings(DEPLOY / name)
    assert settings.web.trusted_proxies
    networks: Any = COMPOSE["networks"]["inside"]["ipam"]["config"]
    if "containers" in name:
        assert [one["subnet"] for one in networks] == settings.web.trusted_proxies


def test_alerts_are_of_metrics_that_the_hub_has() -> None:
    rules = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yaml").read_text())["groups"][0][
        "rules"
    ]
    documented = (ROOT / "docs" / "monitoring.md").read_text()
    for rule in rules:
        assert rule["annotations"]["summary"]
        for name in re.findall(r"metaserver_\w+", rule["expr"]):
            assert f"`{name}`" in documented, rule["alert"]
    assert len(rules) >= 6
