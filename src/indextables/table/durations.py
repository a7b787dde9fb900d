"""How old something must be, in a caller's words."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from indextables.errors import InputError

_AGE: Final = re.compile(r"(\d{1,9})\s*(hour|day)s?", re.IGNORECASE)


def hours(age: str | timedelta | None, argument: str) -> int | None:
    """Whole hours; None where the caller says nothing.

    >>> hours("7 days", "older_than"), hours(timedelta(hours=36), "older_than")
    (168, 36)
    >>> hours("a week", "older_than")
    Traceback (most recent call last):
        ...
    indextables.errors.InputError: older_than is 'a week'; it takes whole hours or days, as in '36 hours' or '7 days'
    """
    if age is None:
        return None
    if isinstance(age, timedelta):
        whole, rest = divmod(age, timedelta(hours=1))
        if whole >= 0 and not rest:
            return whole
    elif match := _AGE.fullmatch(age.strip()):
        return int(match[1]) * (24 if match[2].lower() == "day" else 1)
    raise InputError(f"{argument} is {age!r}; it takes whole hours or days, as in '36 hours' or '7 days'")
