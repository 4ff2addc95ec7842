"""`python -m pippin`: the same as `pippin`."""

import sys

from pippin.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
