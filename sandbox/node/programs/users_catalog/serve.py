#!/usr/bin/env python3
"""The image ``users-catalog``: a user's file-based catalog in /configs, served by opm.

A real image has opm as its entrypoint and `serve /configs` as its arguments; an image here has no arguments of its own.
"""

import os

os.execv(  # noqa: S606 (no shell)
    "/usr/local/bin/opm",
    [
        *("opm", "serve", "/configs", "--port=50051", "--cache-dir=/tmp/cache", "--cache-enforce-integrity=false"),
        "--termination-log=/tmp/termination.log",
    ],
)
