"""The report of a run: a table of the groups, and each survivor with its place."""

from collections.abc import Mapping, Sequence

from tests.mutants.judged import as_row
from tests.mutants.trial import Result

ENOUGH = 0.95
_SEEN = ("detected", "timeout")


def table(results: Sequence[Result], reasons: Mapping[str, str]) -> tuple[str, bool]:
    """Return the report, and whether enough was detected in each group."""
    lines = [f"{'group':24}{'mutants':>9}{'judged':>9}{'detected':>10}{'share':>8}"]
    good = True
    for group in dict.fromkeys(result.group for result in results):
        of_group = [result for result in results if result.group == group]
        detected = sum(result.end in _SEEN for result in of_group)
        excused = sum(result.end not in _SEEN and result.name in reasons for result in of_group)
        counted = len(of_group) - excused
        share = detected / counted if counted else 1.0
        good = good and share >= ENOUGH
        lines.append(f"{group:24}{len(of_group):>9}{excused:>9}{detected:>10}{share:>8.1%}")
    for result in results:
        if result.end not in _SEEN and result.name not in reasons:
            lines += ["", f"{result.path}:{result.line}: {result.end} ({result.tests} tests)"]
            lines.append(f"  {as_row(result.name)}")
    for result in results:
        if result.end in _SEEN and result.name in reasons:
            lines += ["", f"judged to be no fault, but detected by {result.test}:"]
            lines.append(f"  {result.name}")
    return "\n".join(lines), good
