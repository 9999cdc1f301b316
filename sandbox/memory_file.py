"""Files for programs and libraries that read files only, without a file system that something could stay behind in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def memory_file(content: bytes) -> Iterator[int]:
    """A file in memory, as a descriptor at its beginning; `/dev/fd/<descriptor>` is its path. Gone with the process."""
    descriptor = os.memfd_create("hosted-mesh")
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)
