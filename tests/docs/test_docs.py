"""The documents say what the code does: what they leave out fails here."""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import yaml

from metaserver.cli.main import build_parser
from metaserver.config import Settings
from metaserver.model.states import Outcome
from tests.shared import ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
TEXTS = {path: path.read_text("utf-8") for path in DOCUMENTS}


def commands(parser: argparse.ArgumentParser, words: str) -> Iterator[tuple[str, str]]:
    """Yield (command, option) of a parser and its commands; the option is empty for a command."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield f"{words} {name}", ""
                yield from commands(below, f"{words} {name}")
        else:
            for option in action.option_strings:
                if option not in ("-h", "--help", "--version"):
                    yield words, option


@pytest.mark.parametrize(("command", "option"), [*commands(build_parser(), "metaserver")])
def test_every_command_and_option_is_documented(command: str, option: str) -> None:
    told = [text for text in TEXTS.values() if command in text]
    assert told, command
    assert any(f"`{option}" in text or f" {option}" in text for text in told), option


def test_the_settings_file_has_every_setting_with_its_default() -> None:
    written = yaml.safe_load((ROOT / "config.yaml").read_text("utf-8"))
    assert written == msgspec.to_builtins(Settings())


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_code_is_documented(outcome: Outcome) -> None:
    assert f"`{outcome}`" in TEXTS[ROOT / "docs" / "wire.md"]


def anchors(path: Path) -> set[str]:
    """Return what a link may name after `#`: the headings of a page, as GitHub spells them."""
    text = re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {
        re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings
    }


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", TEXTS[path]):
        if "://" not in target:
            linked = path.parent / target if target else path
            assert linked.exists(), target
            assert not anchor or anchor in anchors(linked), f"{target}#{anchor}"


@pytest.mark.parametrize("package", ["metaserver", "scoring", "annotators"])
def test_the_architecture_names_every_module(package: str) -> None:
    told = TEXTS[ROOT / "docs" / "architecture.md"]
    modules = {
        path.stem
        for path in (ROOT / package).iterdir()
        if (path.suffix == ".py" or (path / "__init__.py").exists()) and path.stem[0] != "_"
    }
    missing = {name for name in modules if not re.search(rf"\b{name}\b", told)}
    assert not missing


def test_the_glossary_is_in_order() -> None:
    terms = re.findall(
        r"^\| ([a-zA-Z][^|]*?) \|", TEXTS[ROOT / "docs" / "glossary.md"], re.MULTILINE
    )
    assert terms[0] == "term"
    assert terms[1:] == sorted(terms[1:], key=str.lower)


def test_tasks_are_named_only_in_their_package() -> None:
    """Everything that differs between tasks is behind the plug-in (ADR 7)."""
    named = re.compile(r"""["'](ACT|INT|IPT|NER)["']""")
    allowed = {  # the sample data, and the published scores, are of these
        "metaserver/cli/demo.py",
        "metaserver/cli/rehearsal/published.py",
    }
    found = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "metaserver").rglob("*.py")
        if "tasks" not in path.parts and named.search(path.read_text("utf-8"))
    }
    assert found <= allowed
