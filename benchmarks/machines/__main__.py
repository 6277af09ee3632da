"""The `python -m benchmarks.machines` command."""

from benchmarks.machines import main

main()
