"""`python3 -m sandbox COMMAND`: starts here under whatever Python there is, and goes on in an environment of its own.

Only what every Python understands is used before the version is known.
"""

import sys

LOWEST = (3, 11)


def main(module: str = "sandbox.commands.cli") -> int:
    """Checks the Python version, then hands over to the bootstrap, which does not return when all is well.

    module: the command line that is to be run.
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
