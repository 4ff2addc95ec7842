"""`python -m pippin`: the same as `pippin`, which does not look for modules in the current folder either."""

import os
import sys

if sys.path[0] == os.getcwd():  # noqa: PTH109 - nothing is imported before the folder is gone from the path
    del sys.path[0]

from pippin.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
