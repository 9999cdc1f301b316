"""A registry for one run of a Pulumi program."""

from __future__ import annotations

from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from pulumi.runtime.settings import get_root_resource

Key = TypeVar("Key")
Value = TypeVar("Value")


class PerStackRegistry(Generic[Key, Value]):
    """A dictionary for each program, by its root stack. Without a root stack it is always empty: a component host,
    which serves programs in other languages, has none."""

    def __init__(self) -> None:
        self._of_programs: WeakKeyDictionary[Any, dict[Key, Value]] = WeakKeyDictionary()

    def current(self) -> dict[Key, Value]:
        """The running program's dictionary, to read and to write."""
        program = get_root_resource()
        return {} if program is None else self._of_programs.setdefault(program, {})
