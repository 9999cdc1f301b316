"""What is noted while a program runs, and forgotten with it."""

from __future__ import annotations

from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from pulumi.runtime.settings import get_root_resource

Key = TypeVar("Key")
Value = TypeVar("Value")


class ProgramMemory(Generic[Key, Value]):
    """A dictionary for each program, known by its stack. Where there is none (another language's program, whose
    components are made in a host) nothing stays."""

    def __init__(self) -> None:
        self._of_programs: WeakKeyDictionary[Any, dict[Key, Value]] = WeakKeyDictionary()

    def noted(self) -> dict[Key, Value]:
        """The running program's, to read and to write in."""
        program = get_root_resource()
        return {} if program is None else self._of_programs.setdefault(program, {})
