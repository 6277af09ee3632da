"""Mutants of a module: each is its text with one small defect in it.

Left as they are: annotations, docstrings and descriptions, decorators, assertions, f-strings, what
is logged, and the words of an error. A change there is none of behaviour, or would fail as the
module is imported.
"""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import TypeVar

SHOWN = 90  # characters of a mutant's code in its name

_COMPARISONS: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}
_SKIPPED = (ast.Assert, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.JoinedStr)
_Node = TypeVar("_Node", bound=ast.AST)
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A fault in one place of a module.

    `scope` is the function or class it is in, `number` counts equal faults in it from 1. `lines`
    are those of its statement, `around` those of its scope; they are the same where the statement
    runs as the module is imported, since no test is seen to run it.
    """

    path: str
    scope: str
    before: str
    after: str
    number: int
    span: tuple[int, int]  # of bytes, that `text` replaces
    text: str
    lines: tuple[int, int]
    around: tuple[int, int]
    first: int  # line of the fault itself

    @property
    def name(self) -> str:
        """Its name, which stays the same when lines move."""
        place = f"{self.path}:{self.scope}: {self.before} → {self.after}"
        return place if self.number == 1 else f"{place} ({self.number})"

    def applied(self, source: str) -> str:
        """Return the module's text with the fault in it."""
        data = source.encode()
        start, end = self.span
        return (data[:start] + self.text.encode() + data[end:]).decode()


@dataclass(frozen=True, kw_only=True)
class _Fault:
    node: ast.expr | ast.stmt
    before: str
    after: str
    text: str


def mutants(path: str, source: str) -> list[Mutant]:
    """Return every mutant of a module, in the order of its text."""
    found = list(_Walk(path, source).module())
    seen: Counter[tuple[str, str, str]] = Counter()
    numbered = []
    for mutant in sorted(found, key=lambda one: (one.span[0], -one.span[1])):
        same = (mutant.scope, mutant.before, mutant.after)
        seen[same] += 1
        numbered.append(replace(mutant, number=seen[same]))
    return numbered


class _Walk:
    """Walks a module's statements and yields the faults of each."""

    def __init__(self, path: str, source: str) -> None:
        self._path = path
        self._tree = ast.parse(source)
        self._starts = [0]
        for line in source.encode().splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._lines = len(self._starts) - 1

    def module(self) -> Iterator[Mutant]:
        """Yield the faults of the whole module."""
        yield from self._body(self._tree.body, "", (1, self._lines), called=False)

    def _body(
        self, statements: list[ast.stmt], scope: str, around: tuple[int, int], *, called: bool
    ) -> Iterator[Mutant]:
        for statement in statements:
            if isinstance(statement, _Definition):
                yield from self._definition(statement, scope)
            elif not isinstance(statement, _SKIPPED) and not _is_text(statement):
                yield from self._statement(statement, scope, around, called=called)

    def _definition(self, node: _Definition, scope: str) -> Iterator[Mutant]:
        name = f"{scope}.{node.name}".lstrip(".")
        lines = (node.lineno, node.end_lineno or node.lineno)
        if isinstance(node, ast.ClassDef):
            yield from self._body(node.body, name, lines, called=False)
            return
        for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
            for fault in _in_expression(default):
                yield self._mutant(fault, name, lines, lines)
        yield from self._body(node.body, name, lines, called=True)

    def _statement(
        self, node: ast.stmt, scope: str, around: tuple[int, int], *, called: bool
    ) -> Iterator[Mutant]:
        own = list(_own_expressions(node))
        last = max([node.lineno, *(child.end_lineno or 0 for child in own)])
        if not hasattr(node, "body"):
            last = node.end_lineno or last
        for fault in (*_of_statement(node), *(f for child in own for f in _in_expression(child))):
            lines = (node.lineno, last) if called else around
            yield self._mutant(fault, scope or "module", lines, around)
        for below in _bodies(node):
            yield from self._body(below, scope, around, called=called)

    def _mutant(
        self, fault: _Fault, scope: str, lines: tuple[int, int], around: tuple[int, int]
    ) -> Mutant:
        node = fault.node
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self._starts[node.lineno - 1] + node.col_offset
        end = self._starts[node.end_lineno - 1] + node.end_col_offset
        return Mutant(
            path=self._path,
            scope=scope,
            before=fault.before,
            after=fault.after,
            number=0,
            span=(start, end),
            text=fault.text,
            lines=lines,
            around=around,
            first=node.lineno,
        )


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _is_log(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in ("log", "logger")
    )


def _bodies(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    for field in ("body", "orelse", "finalbody"):
        yield getattr(node, field, [])
    for handler in getattr(node, "handlers", []):
        yield handler.body
    for case in getattr(node, "cases", []):
        yield case.body


def _own_expressions(node: ast.stmt) -> Iterator[ast.expr]:
    """Yield the expressions of a statement itself, not of those below it or its annotation."""
    if isinstance(node, ast.Raise):
        return  # the words of an error
    if isinstance(node, ast.AnnAssign):
        if node.value is not None:
            yield node.value
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield child
        elif isinstance(child, ast.withitem):
            yield child.context_expr
        elif isinstance(child, ast.match_case) and child.guard is not None:
            yield child.guard


# -- faults of statements ------------------------------------------------------------------------


def _of_statement(node: ast.stmt) -> Iterator[_Fault]:
    match node:
        case ast.Expr(value=ast.Call() | ast.Await() as value) if not _is_log(value):
            yield _dropped(node)
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) | ast.Delete() | ast.Raise():
            yield _dropped(node)
        case ast.AugAssign(op=operator) if type(operator) in _ARITHMETIC:
            yield _dropped(node)
            yield _replaced(node, _with(node, op=_ARITHMETIC[type(operator)]()))
        case ast.Return(value=ast.expr() as value) if not _is_none(value):
            yield _replaced(node, ast.Return(value=ast.Constant(value=None)))
        case ast.Break():
            yield _replaced(node, ast.Continue())
        case ast.Continue():
            yield _replaced(node, ast.Break())
        case ast.If(test=test) | ast.While(test=test) if not isinstance(test, ast.Constant):
            yield from _negated(test)
        case _:
            pass


def _dropped(node: ast.stmt) -> _Fault:
    return _Fault(node=node, before=_shown(node), after="pass", text="pass")


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _negated(test: ast.expr) -> Iterator[_Fault]:
    """Yield a condition's opposite, where none of its own faults is the same."""
    match test:
        case ast.UnaryOp(op=ast.Not()):
            return
        case ast.Compare(ops=[ast.Eq() | ast.NotEq() | ast.Is() | ast.IsNot()]):
            return
        case ast.Compare(ops=[ast.In() | ast.NotIn()]):
            return
        case _:
            yield _replaced(test, ast.UnaryOp(op=ast.Not(), operand=test))


# -- faults of expressions -----------------------------------------------------------------------


def _in_expression(node: ast.expr) -> Iterator[_Fault]:
    """Yield the faults of an expression and of those in it."""
    if isinstance(node, ast.JoinedStr) or _is_log(node):
        return
    yield from _of_expression(node)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield from _in_expression(child)
        elif isinstance(child, ast.comprehension):
            yield from _in_expression(child.iter)
            for condition in child.ifs:
                yield from _negated(condition)
                yield from _in_expression(condition)
        elif isinstance(child, ast.keyword) and child.arg != "description":
            yield from _in_expression(child.value)


def _of_expression(node: ast.expr) -> Iterator[_Fault]:
    match node:
        case ast.Compare(ops=operators):
            for place, operator in enumerate(operators):
                changed = [*operators]
                changed[place] = _COMPARISONS[type(operator)]()
                yield _replaced(node, _with(node, ops=changed))
        case ast.BinOp(op=operator) if type(operator) in _ARITHMETIC:
            yield _replaced(node, _with(node, op=_ARITHMETIC[type(operator)]()))
        case ast.BoolOp(op=operator):
            other = ast.Or() if isinstance(operator, ast.And) else ast.And()
            yield _replaced(node, _with(node, op=other))
        case ast.UnaryOp(op=ast.Not() | ast.Invert() | ast.USub(), operand=operand):
            yield _replaced(node, operand)
        case ast.IfExp(test=test):
            yield from _negated(test)
        case ast.Slice():
            yield from _of_slice(node)
        case ast.Constant(value=value):
            yield from _of_constant(node, value)
        case _:
            pass


def _of_slice(node: ast.Slice) -> Iterator[_Fault]:
    """Yield the slice one longer at each bound that is no constant: those have their own faults."""
    for field in ("lower", "upper"):
        bound: ast.expr | None = getattr(node, field)
        if bound is not None and not isinstance(bound, ast.Constant):
            longer = ast.BinOp(left=bound, op=ast.Add(), right=ast.Constant(1))
            yield _replaced(bound, longer)


def _of_constant(node: ast.Constant, value: object) -> Iterator[_Fault]:
    match value:
        case bool():
            yield _replaced(node, ast.Constant(not value))
        case int() | float():
            yield _replaced(node, ast.Constant(value + 1))
        case str():
            yield _replaced(node, ast.Constant("" if value else "x"))
        case bytes():
            yield _replaced(node, ast.Constant(b"" if value else b"x"))
        case _:
            pass


def _with(node: _Node, **changes: object) -> _Node:
    changed = copy(node)
    for field, value in changes.items():
        setattr(changed, field, value)
    return changed


def _replaced(node: ast.expr | ast.stmt, by: ast.expr | ast.stmt) -> _Fault:
    after = ast.unparse(by)
    text = f"({after})" if isinstance(by, ast.expr) else after
    return _Fault(node=node, before=_shown(node), after=_short(after), text=text)


def _shown(node: ast.AST) -> str:
    return _short(ast.unparse(node))


def _short(code: str) -> str:
    line = " ".join(code.split())
    return line if len(line) <= SHOWN else f"{line[: SHOWN - 1]}…"
