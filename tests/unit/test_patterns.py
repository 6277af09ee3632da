"""No pattern, and no other call in C, takes longer than its text is long: all threads wait for it.

A pattern must not match a text in two ways: each is tried before the text is refused.
"""

import ast
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import Any

import pytest

from metaserver.base.errors import PeerError
from metaserver.cli.logs import hidden
from metaserver.corpus.fingerprints import fingerprints
from metaserver.curation.texts import folded_id
from metaserver.exchange.protocols import polling
from metaserver.exchange.protocols.polling import job_address
from metaserver.operations.fields import NAME
from metaserver.tasks.ipt import IPT
from metaserver.uniprot.sources import KINDS
from metaserver.web.access.refusals import WORDS
from tests.patterns import Pumps, grows, pattern_sites, sources, work_of

AT_RUN_TIME: Mapping[str, tuple[str, Sequence[re.Pattern[Any]]]] = {
    "annotators.llm.grounding": ("finditer", [re.compile(r"(?<!\w)a\-a a(?!\w)")]),
    "metaserver.operations.misfits": ("match", [re.compile(NAME), re.compile("[A-Za-z0-9._-]")]),
    "metaserver.store.schema": ("search", [re.compile(r'^key = "?(\w+)"?$', re.MULTILINE)]),
    "metaserver.uniprot.build": ("fullmatch", [re.compile(r"\.a\.([0-9]+)\.building")]),
    "metaserver.uniprot.sources": ("match", [kind.mark for kind in KINDS]),
    "metaserver.web.access.refusals": ("fullmatch", [pattern for pattern, _ in WORDS]),
    "metaserver.exchange.wire.usual": ("split", [IPT._usual._hit]),
    "scoring.teams": ("search", []),  # its user's own pattern, an option of a command
}
"""By module, examples of the patterns that a function makes of what it is given, and their use."""

LONG_MARKS = ["\u0315\u0334", "\uff9e\u0334", "\u0f73\u0334", "\u0301"]
"""Combining marks that change places when a text is normalised, some of them in disguise."""


@pytest.mark.slow
def test_no_pattern_of_the_packages_takes_longer_than_its_text_is_long() -> None:
    wrong, seen = [], set()
    for site in pattern_sites():
        try:
            examples = list(product(site.uses, [site.pattern()]))
        except NameError:
            seen.add(site.module)
            assert site.module in AT_RUN_TIME, f"AT_RUN_TIME needs an example of {site}"
            use, patterns = AT_RUN_TIME[site.module]
            examples = list(product([use], patterns))
        for use, pattern in examples:
            work = work_of(pattern, use)
            wrong += [(site, text(20)) for text in Pumps(pattern).texts() if grows(work, text)]
    assert wrong == []
    assert seen == AT_RUN_TIME.keys()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pattern", "use"),
    [
        (r"[+-]?(?:\d+\.?\d*|\.\d+)", "fullmatch"),
        (r"^(pmc)?0+(?=[0-9]+$)", "sub"),
        (r"\w*(?:token|secret)\w*=", "sub"),
        (r"\s+$", "search"),
        (r"<[^>]*>", "sub"),
        (r"!?\[([^\]]*)\]\([^)]*\)", "sub"),
        (r"(?:a+)+b", "match"),
        (r"(?:\w+\s?)*$", "match"),
        (r"(a|ab|b)*c", "fullmatch"),
        (r"x*x*x*y", "match"),
    ],
)
def test_a_pattern_that_matches_in_two_ways_is_found(pattern: str, use: str) -> None:
    made = re.compile(pattern)
    assert any(grows(work_of(made, use), text) for text in Pumps(made).texts())


@pytest.mark.parametrize("pattern", [r"\d+(?:\.\d*)?", r"(?>\w*token\w*)=", r"a{1,40}(b{0,40})?"])
def test_a_pattern_that_matches_in_one_way_is_not(pattern: str) -> None:
    made = re.compile(pattern)
    assert not any(grows(made.fullmatch, text) for text in Pumps(made).texts())


@pytest.mark.slow
def test_patterns_are_made_where_the_test_of_patterns_sees_them() -> None:
    imports = [
        ast.unparse(node)
        for tree in sources().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert "import re" in imports
    found = [one for one in imports if re.match(r"from (re|regex) |import (regex|re as)\b", one)]
    assert found == []


@pytest.mark.parametrize("marks", LONG_MARKS)
@pytest.mark.parametrize("work", [fingerprints, folded_id])
def test_marks_in_a_row_are_normalised_in_linear_time(work, marks):
    assert not grows(work, lambda size: "a" + marks * (size // 2))


@pytest.mark.slow
def test_texts_are_normalised_in_one_module() -> None:
    modules = {
        module
        for module, tree in sources().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in ("normalize", "is_normalized")
    }
    assert modules == {"metaserver.corpus.fingerprints"}


def test_a_long_address_is_refused_before_it_is_normalised(monkeypatch):
    read: list[object] = []
    monkeypatch.setattr(polling, "URL", read.append)
    with pytest.raises(PeerError):
        job_address("http://a" + "\u0315\u0334" * 5_000, "http://a/", "http://a/", [])
    assert read == []


def test_secrets_are_hidden_in_linear_time() -> None:
    for unit in ("-", "token", "token='", "http://", "@", "bearer "):
        assert not grows(hidden, lambda size, unit=unit: unit * (size // len(unit)))  # type: ignore[misc]


@pytest.mark.parametrize("digits", ["{0}", "0.{0}", "{0}e{0}", "1e-{0}", " {0} ", "-{0}x"])
@pytest.mark.parametrize("kind", [int, float])
def test_numbers_of_many_digits_are_read_in_linear_time(kind, digits):
    def work(text: str) -> None:
        with suppress(ValueError):
            kind(text)

    assert not grows(work, lambda size: digits.format("7" * 10 * size))
    assert sys.get_int_max_str_digits() == sys.int_info.default_max_str_digits
