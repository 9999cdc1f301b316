"""Prints the score: python -m tests.corpus.blind_corpus [--write | --full-settings | --suggested-settings] [name ...]."""

from __future__ import annotations

import sys

from .score import main

sys.exit(main(sys.argv[1:]))
