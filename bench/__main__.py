"""`python3 -m bench [mesh|policies|...]`: starts under any Python 3, as `python3 -m sandbox` does."""

import sys

from sandbox.__main__ import main

if __name__ == "__main__":
    sys.exit(main("bench.cli"))
