"""A property that is computed once, without a lock.

`functools.cached_property` of Python 3.11 holds one lock for all instances of a class while it computes. A process that
forks at that moment leaves the lock held in the child for ever, and every other instance waits there too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class lazy_property(Generic[Value]):  # noqa: N801 - used as `property` is
    """Computes its value at the first access and stores it in the instance's `__dict__`, which later accesses read.

    Threads that arrive before the first value is stored compute their own; all get the one that was stored first,
    since `dict.setdefault` is one step of the interpreter. So the computation must have no effect but its value.

    >>> class Page:
    ...     @lazy_property
    ...     def words(self):
    ...         return ["computed", "once"]
    >>> page = Page()
    >>> page.words is page.words
    True
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> lazy_property[Value]: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Value: ...

    def __get__(self, instance: object | None, owner: type | None = None) -> lazy_property[Value] | Value:
        if instance is None:
            return self
        value: Value = instance.__dict__.setdefault(self._name, self._compute(instance))
        return value
