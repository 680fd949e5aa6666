"""`python -m bench.fleet`."""

import sys

from .command import main

sys.exit(main(sys.argv[1:]))
