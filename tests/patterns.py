"""The patterns of the packages, and the texts on which a pattern takes longest.

A pattern with two ways to match a text tries both of them, at each character, once the text does
not match in the end. Such texts are made from the pattern itself: what leads to a repeat, a long
run of what it repeats, and a character that ends it.
"""

import ast
import inspect
import re
import string
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]
from typing import Any

import annotators
import metaserver
import scoring

PACKAGES = (annotators, metaserver, scoring)
USES = frozenset({"match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"})
_ARGUMENTS = {
    f"re.{name}": tuple(inspect.signature(getattr(re, name)).parameters)
    for name in USES | {"compile"}
}
MANY = 16
"""A repeat that may go on for longer than this is long."""
CHOICES = 3
"""The most branches that are tried for what is repeated."""
SIZES = [round(18 * 1.5**step) for step in range(14)]
"""Lengths of texts, up to 3,500: where the time doubles with each character, 18 show it."""
QUICK = 0.002
"""Seconds of processor time in which a linear pattern is done with any of the texts."""
GROWTH = 8
"""Times as long as with a quarter of the text: 4 for a linear pattern, 16 for a quadratic one."""

_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)
_ONE = (_constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY, _constants.IN)


@dataclass(frozen=True, kw_only=True)
class PatternSite:
    """A place in the source that makes a pattern: `text` is the source of its first argument.

    `uses` are the functions that it is called with.
    """

    module: str
    line: int
    text: str
    flags: str
    uses: frozenset[str]

    @property
    def key(self) -> tuple[str, str]:
        """What the site is called in a table."""
        return self.module, self.text

    def pattern(self) -> re.Pattern[Any]:
        """Return the pattern; raises NameError where it is made of what a function is given."""
        known = vars(import_module(self.module))
        return re.compile(eval(self.text, known), eval(self.flags, known) if self.flags else 0)


@cache
def sources() -> Mapping[str, ast.Module]:
    """Return the syntax trees of all modules of the packages."""
    found = {}
    for package in PACKAGES:
        [root] = map(Path, package.__path__)
        for path in sorted(root.rglob("*.py")):
            name = ".".join(path.relative_to(root.parent).with_suffix("").parts)
            found[name.removesuffix(".__init__")] = ast.parse(path.read_text("utf-8"))
    return found


def pattern_sites() -> list[PatternSite]:
    """Return all places that make a pattern, by `re` or for msgspec."""
    uses = _uses()
    return [site for module, tree in sources().items() for site in _sites(module, tree, uses)]


def _uses() -> Mapping[tuple[str, str], set[str]]:
    """Return the functions that are called of each module's names, wherever they are imported."""
    found: dict[tuple[str, str], set[str]] = {}
    for module, tree in sources().items():
        imported = {
            alias.asname or alias.name: (node.module or "", alias.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for node in ast.walk(tree):
            match node:
                case ast.Attribute(value=ast.Name(id=name), attr=use) if use in USES:
                    found.setdefault(imported.get(name, (module, name)), set()).add(use)
                case ast.Attribute(
                    value=ast.Attribute(value=ast.Name(id=of), attr=name), attr=use
                ) if use in USES and of in imported:
                    found.setdefault((".".join(imported[of]), name), set()).add(use)
    return found


def _sites(
    module: str, tree: ast.Module, uses: Mapping[tuple[str, str], set[str]]
) -> Iterator[PatternSite]:
    names = dict(_names(tree))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        function = _dotted(node.func)
        given = dict(zip(_ARGUMENTS.get(function, ()), node.args, strict=False))
        given |= {one.arg: one.value for one in node.keywords if one.arg}
        if function == "re.compile":
            used = uses.get((module, names.get(node, "")), USES)
        elif function in _ARGUMENTS:
            used = {function.removeprefix("re.")}
        elif function.endswith("Meta") and "pattern" in given:  # of msgspec
            used = {"search"}
        else:
            continue
        flags = given.get("flags")
        yield PatternSite(
            module=module,
            line=node.lineno,
            text=ast.unparse(given["pattern"]),
            flags=ast.unparse(flags) if flags else "",
            uses=frozenset(used),
        )


def _dotted(function: ast.expr) -> str:
    match function:
        case ast.Attribute(value=ast.Name(id=name), attr=attribute):
            return f"{name}.{attribute}"
        case ast.Name(id=name):
            return name
    return ""


def _names(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """Yield the values of a module that have a name, with it."""
    for node in tree.body:
        targets: Sequence[ast.expr] = ()
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets = [node.target]
        for target in targets:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = zip(node.value.elts, target.elts, strict=True)
            else:
                pairs = zip([node.value], [target], strict=True)
            yield from ((value, name.id) for value, name in pairs if isinstance(name, ast.Name))


# The longest texts of a pattern


class Pumps:
    """The texts that a pattern takes longest for."""

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        self._bytes = isinstance(pattern.pattern, bytes)
        self._tree = _parser.parse(pattern.pattern, pattern.flags)
        self._flags = self._tree.state.flags
        pool = dict.fromkeys(chain(self._literals(self._tree), string.printable, "é٣ﬁ—\u2028\0"))
        tests = [self._test(node) for node in self._ones(self._tree)]
        kinds = {
            tuple(test(one) for test in tests): one for one in reversed(pool) if self._can(one)
        }
        self._letters = list(reversed(kinds.values()))
        """One character of each kind that the pattern tells from the others."""

    def texts(self) -> Iterator[Callable[[int], Any]]:
        """Yield functions that make texts of about a number of characters."""
        found: dict[tuple[str, str, str], None] = {}
        for head, unit, ends in self._pumped(self._tree, ""):
            found |= dict.fromkeys((head, unit, end) for end in ends)
        for head, unit, end in found:
            yield lambda size, it=(head, unit, end): self._given(
                it[0] + it[1] * max(1, size // len(it[1])) + it[2]
            )

    def _given(self, text: str) -> Any:
        return text.encode("latin-1") if self._bytes else text

    def _can(self, letter: str) -> bool:
        return not self._bytes or letter < "\u0100"

    def _test(self, node: Any) -> Callable[[str], bool]:
        made = self._compiled([node])
        return lambda one: bool(made.fullmatch(self._given(one))) if self._can(one) else False

    def _compiled(self, nodes: Sequence[Any]) -> re.Pattern[Any]:
        return _compiler.compile(_parser.SubPattern(self._tree.state, list(nodes)), self._flags)

    def _pumped(self, nodes: Any, head: str) -> Iterator[tuple[str, str, list[str]]]:
        """Yield what leads to a repeat, what it repeats, and what may come after it."""
        for node in nodes:
            kind, given = node
            if kind in _REPEATS:
                _, high, body = given
                if high is _constants.MAXREPEAT or high > MANY:
                    tests = self._test_of(body)
                    units = [one for one in self._letters if tests(one)]
                    others = [one for one in self._letters if one not in units]
                    wholes = [self._sample(body, choice) for choice in range(CHOICES)]
                    units += [whole for whole in dict.fromkeys(wholes) if len(whole) > 1]
                    for unit in units:
                        yield head, unit, ["", *others]
                    if head:  # a search begins at each of them
                        yield "", head + units[0], ["", *others]
                        yield "", head, ["", *others]
                yield from self._pumped(body, head)
            else:
                for inner in _inner(node):
                    yield from self._pumped(inner, head)
            head += self._sample([node])

    def _test_of(self, body: Any) -> Callable[[str], bool]:
        tests = [self._test(node) for node in self._ones(body)]
        return lambda one: any(test(one) for test in tests)

    def _sample(self, nodes: Any, choice: int = 0) -> str:
        """Return a short text that nodes match; `choice` is taken of each of their branches."""
        text = ""
        for node in nodes:
            kind, given = node
            if kind in _ONE:
                text += next(filter(self._test(node), self._letters), "")
            elif kind in _REPEATS:
                text += self._sample(given[2], choice) * max(1, given[0])
            elif kind is not _constants.ASSERT and kind is not _constants.ASSERT_NOT:
                inner = _inner(node)
                text += self._sample(inner[choice % len(inner)], choice) if inner else ""
        return text

    def _ones(self, nodes: Any) -> Iterator[Any]:
        """Yield the nodes that stand for one character."""
        for node in nodes:
            if node[0] in _ONE:
                yield node
            for inner in _inner(node):
                yield from self._ones(inner)

    def _literals(self, nodes: Any) -> Iterator[str]:
        for kind, given in self._ones(nodes):
            for which, what in given if kind is _constants.IN else [(kind, given)]:
                if which in (_constants.LITERAL, _constants.NOT_LITERAL):
                    yield from _around(what)
                elif which is _constants.RANGE:
                    yield from chain(_around(what[0]), _around(what[1]))


def _around(code: int) -> Iterator[str]:
    for one in (code, code + 1, code - 1):
        if 0 <= one < 0x110000:
            yield chr(one)
    yield chr(code).swapcase()[0]


def _inner(node: Any) -> list[Any]:
    """Return the sequences of nodes within a node."""
    kind, given = node
    match kind:
        case _constants.SUBPATTERN:
            return [given[3]]
        case _constants.BRANCH:
            return list(given[1])
        case _constants.ATOMIC_GROUP:
            return [given]
        case _constants.ASSERT | _constants.ASSERT_NOT:
            return [given[1]]
        case _constants.GROUPREF_EXISTS:
            return [one for one in given[1:] if one]
        case _ if kind in _REPEATS:
            return [given[2]]
    return []


# Growth


def grows(work: Callable[[Any], object], text: Callable[[int], Any]) -> bool:
    """Return whether work takes more than so many times longer for a longer text.

    Processor time is measured, and a text that takes long is measured again.
    """
    for size in SIZES:
        if _seconds(work, text(size)) < QUICK:
            continue
        long = min(_seconds(work, text(size)) for _ in range(7))
        short = min(_seconds(work, text(size // 4)) for _ in range(7))
        if long > QUICK and long > GROWTH * short:
            return True
    return False


def _seconds(work: Callable[[Any], object], text: Any) -> float:
    begun = time.thread_time()
    work(text)
    return time.thread_time() - begun


def work_of(pattern: re.Pattern[Any], use: str) -> Callable[[Any], object]:
    """Return what a pattern is used for."""
    if use in ("match", "fullmatch", "search"):
        function: Callable[[Any], object] = getattr(pattern, use)
        return function
    return lambda text: [None for _ in pattern.finditer(text)]
