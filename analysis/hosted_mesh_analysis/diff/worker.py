"""The process that starts programs: reads a request, writes the difference as JSON (`supervised` starts it)."""

from __future__ import annotations

import sys

from ..runner.input_files import INTERRUPTED
from ..runner.project import UnusableProjectError
from . import saved
from .comparison import compared_stacks
from .supervised import request_of


def main() -> int:
    try:
        request = request_of(sys.stdin.read())
        sys.stdin.close()
        found = compared_stacks(request)
    except UnusableProjectError as problem:
        print(problem, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED
    sys.stdout.write(saved.as_json(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
