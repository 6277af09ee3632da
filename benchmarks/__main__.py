"""The `python -m benchmarks [NAME ...]` command: runs the named benchmarks, or all."""

import importlib
import pkgutil
import sys
from pathlib import Path

NOT_BENCHMARKS = {"__main__", "filled", "panel", "peer", "phase", "sampling"}
names = sorted(
    {m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)])} - NOT_BENCHMARKS
)
unknown = set(sys.argv[1:]) - set(names)
if unknown:
    sys.exit(f"benchmarks: {', '.join(sorted(unknown))}; expected some of {', '.join(names)}")
asked = sys.argv[1:] or names
sys.argv[1:] = []  # a benchmark's own options are for when it is run by itself
for name in asked:
    print(f"\n== {name}")
    importlib.import_module(f"benchmarks.{name}").main()
