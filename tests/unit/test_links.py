"""Every relative link of the documentation leads somewhere."""

from __future__ import annotations

import re
import subprocess

import pytest

from sandbox.bootstrap import CHECKOUT

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
TRACKED = subprocess.run(["git", "ls-files", "*.md"], cwd=CHECKOUT, capture_output=True, text=True, check=True)


@pytest.mark.parametrize("page", TRACKED.stdout.split())
def test_links_lead_somewhere(page):
    text = (CHECKOUT / page).read_text()
    links = [link for link in LINK.findall(text) if "://" not in link]
    assert [link for link in links if not ((CHECKOUT / page).parent / link).exists()] == []
