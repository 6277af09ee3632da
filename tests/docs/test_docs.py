"""The documents say what the code does: what they leave out fails here."""

import argparse
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec
import yaml

from metaserver.base.states import Outcome
from metaserver.cli.main import build_parser
from metaserver.cli.remote.outlines import outlines
from metaserver.config import Settings
from tests.shared import ROOT

GENERATED = ROOT / "docs" / "site" / "operations.md"  # by `make docs`
DOCUMENTS = sorted({*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")} - {GENERATED})
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


def test_every_command_and_option_is_documented() -> None:
    """Those of operations are in the reference that `make docs` builds, and have their help."""
    operations = {outline.noun for outline in outlines()}
    missing = []
    naming: dict[str, str] = {}  # the pages that name a command
    for command, option in commands(build_parser(), "metaserver"):
        if command.split()[1:2] and command.split()[1] in operations:
            continue
        if command not in naming:
            naming[command] = "\n".join(text for text in TEXTS.values() if command in text)
        if not naming[command] or not re.search(rf"[` ]{re.escape(option)}", naming[command]):
            missing.append(f"{command} {option}")
    assert missing == []


def test_the_settings_file_has_every_setting_with_its_default() -> None:
    written = yaml.safe_load((ROOT / "config.yaml").read_text("utf-8"))
    assert written == msgspec.to_builtins(Settings())


def test_every_outcome_code_is_documented() -> None:
    wire = TEXTS[ROOT / "docs" / "wire.md"]
    assert [outcome for outcome in Outcome if f"`{outcome}`" not in wire] == []


@cache
def anchors(path: Path) -> set[str]:
    """Return what a link may name after `#`: the headings of a page, as GitHub spells them."""
    text = re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {
        re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings
    }


def test_links_lead_somewhere() -> None:
    wrong = []
    for path, text in TEXTS.items():
        for target, anchor in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", text):
            if "://" not in target:
                linked = path.parent / target if target else path
                if not linked.exists() or (anchor and anchor not in anchors(linked)):
                    wrong.append(f"{path.relative_to(ROOT)}: {target}#{anchor}")
    assert wrong == []


def test_tasks_are_named_only_in_their_package() -> None:
    """Everything that differs between tasks is behind the plug-in (ADR 7)."""
    named = re.compile(r"""["'](ACT|INT|IPT|NER)["']""")
    allowed = {  # the sample data, and the published scores, are of these
        "metaserver/cli/demo.py",
        "metaserver/cli/rehearsal/plan.py",
    }
    found = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "metaserver").rglob("*.py")
        if "tasks" not in path.parts and named.search(path.read_text("utf-8"))
    }
    assert found <= allowed
