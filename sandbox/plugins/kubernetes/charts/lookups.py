"""Charts that ask the cluster with Helm's `lookup` are refused: rendered here it finds nothing, and nobody is told.

The official plug-in renders with the cluster at hand. The helm command can do that only together with checks of its
own, which fail for objects that exist already.
"""

from __future__ import annotations

import io
import os
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sandbox.plugins.protocol.errors import NotImplementedHere

_GZIP: Final = b"\x1f\x8b"
_COMMENT: Final = re.compile(r"\{\{-?\s*/\*.*?\*/\s*-?\}\}", re.DOTALL)
_ESCAPED_SPACE: Final = re.compile(r"\\[nrt]")  # values come as JSON
_CALL: Final = re.compile(r"\{\{(?:(?!\}\}).)*?(?<![\w.$\"'-])lookup(?![\w\"'-])", re.DOTALL)


def refuse_lookups(chart: Path, values: str) -> None:
    """Raises NotImplementedHere if a file of the chart, of a chart in it, or a value (for `tpl`) calls `lookup`.

    chart: a folder or an archive.
    """
    for name, text in (("the values", values), *_files(chart)):
        if "lookup" in text and _CALL.search(_COMMENT.sub("", _ESCAPED_SPACE.sub(" ", text))):
            raise NotImplementedHere(f"charts that use Helm's lookup function ({name})")


def _files(chart: Path) -> Iterator[tuple[str, str]]:
    if not chart.is_dir():
        yield from _texts(chart.name, chart.read_bytes())
    for folder, _, names in os.walk(chart, followlinks=True):
        for name in names:
            path = Path(folder, name)
            yield from _texts(str(path.relative_to(chart.parent)), path.read_bytes())


def _texts(name: str, content: bytes) -> Iterator[tuple[str, str]]:
    """The file itself, or the files of an archive, all the way down."""
    if not content.startswith(_GZIP):
        yield name, content.decode(errors="replace")
        return
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file is not None:
                yield from _texts(f"{name}: {member.name}", file.read())
