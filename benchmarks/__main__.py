"""The `python -m benchmarks [--toy] [NAME ...]` command: runs the named benchmarks, or all."""

import importlib
import os
import sys

from benchmarks import TOY, names

asked = [name for name in sys.argv[1:] if name != "--toy"]
if len(asked) < len(sys.argv[1:]):
    os.environ[TOY] = "1"
if unknown := set(asked) - set(names()):
    sys.exit(f"benchmarks: {', '.join(sorted(unknown))}; expected some of {', '.join(names())}")
sys.argv[1:] = []  # a benchmark's own options are for when it is run by itself
for name in asked or names():
    print(f"\n== {name}")
    importlib.import_module(f"benchmarks.{name}").main()
