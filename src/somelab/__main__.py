"""`python -m somelab` is the command `somelab`."""

import sys

from somelab.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
