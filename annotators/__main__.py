"""`python -m annotators` is the same as the `annotators` command."""

import sys

from annotators.cli import main

sys.exit(main())
