"""Prints the score, and what each case's outcome was: python -m tests.corpus.strangers [--write | --told | --advised] [name ...]."""

from __future__ import annotations

import sys

from .score import main

sys.exit(main(sys.argv[1:]))
