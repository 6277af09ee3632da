"""`python -m scoring` is the same as the `scoring` command."""

import sys

from scoring.cli import main

sys.exit(main())
