"""`python -m indextables`: the command line."""

import sys

from indextables.cli import main

if __name__ == "__main__":
    sys.exit(main())
