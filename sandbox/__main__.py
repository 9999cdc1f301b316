"""`python3 -m sandbox COMMAND`: starts under any Python 3 and continues in a virtual environment of its own.

Until the version is checked, the code uses only syntax and modules of every Python 3.
"""

import sys

LOWEST = (3, 11)


def main(module: str = "sandbox.commands.cli") -> int:
    """Checks the Python version, then hands over to the bootstrap, which returns only after an error.

    module: the command line to run.
    """
    if sys.version_info < LOWEST:
        have = ".".join(str(number) for number in sys.version_info[:3])
        sys.stderr.write(
            "hosted-mesh needs Python 3.11 or later; this is Python " + have + " (" + sys.executable + ").\n"
            "To fix it: install a newer one and name it, for example `make up PYTHON=python3.12`.\n"
        )
        return 2
    from sandbox.bootstrap import run

    return run(sys.argv[1:], module)


if __name__ == "__main__":
    sys.exit(main())
