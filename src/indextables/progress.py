"""Progress of long operations: one function that is called with what is done, and bars that show it.

`progress=` of a write, a merge and a purge takes True for a bar on a terminal or in a notebook, or a function of the
number that is done and of the number in all, which is None where it is not known before.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final, TextIO, TypeAlias

from indextables.errors import InputError

Progress: TypeAlias = Callable[[int, int | None], object]

_EVERY: Final = 10.0
_REDRAW: Final = 0.2


@contextmanager
def shown_progress(progress: bool | Progress | None, title: str) -> Iterator[Progress | None]:
    """Yield the function to call, or None without progress. The bar of True is there until the block ends.

    >>> calls = []
    >>> with shown_progress(lambda done, total: calls.append((done, total)), "writing") as tell:
    ...     tell(1, 2)
    >>> calls
    [(1, 2)]
    """
    if progress is None or progress is False:
        yield None
    elif progress is True:
        with _bar(title) as tell:
            yield tell
    elif callable(progress):
        yield progress
    else:
        raise InputError(f"progress is {progress!r}; it takes True, or a function of two numbers")


@contextmanager
def _bar(title: str) -> Iterator[Progress]:
    """Yield a bar of rich on a terminal and in a notebook, and lines on stderr elsewhere or without rich."""
    redraws = sys.stderr.isatty() or _is_notebook()
    if not redraws or (bar := _rich_bar()) is None:
        lines = Lines(title, sys.stderr, redraws=redraws)
        yield lines
        lines.end()
        return
    with bar:
        task = bar.add_task(title, total=None, amount="")

        def tell(done: int, total: int | None) -> None:
            of = "" if total is None else f"/{total:,}"
            bar.update(task, completed=done, total=total, amount=f"{done:,}{of}")

        yield tell


class Lines:
    """A line for each 10 seconds; if it `redraws`, as a terminal and a notebook can, one line that is written over."""

    def __init__(
        self,
        title: str,
        out: TextIO,
        clock: Callable[[], float] = time.monotonic,
        *,
        redraws: bool = False,
    ) -> None:
        self._title, self._out, self._clock = title, out, clock
        self._terminal = redraws
        self._next = clock() + (_REDRAW if self._terminal else _EVERY)
        self._drawn = False

    def __call__(self, done: int, total: int | None) -> None:
        if self._clock() < self._next:
            return
        self._next = self._clock() + (_REDRAW if self._terminal else _EVERY)
        of = "" if total is None else f" of {total:,} ({100 * done // max(total, 1)} %)"
        text = f"{self._title}: {done:,}{of}"
        self._out.write(f"\r{text}\x1b[K" if self._terminal else f"{text}\n")
        self._out.flush()
        self._drawn = True

    def end(self) -> None:
        """Remove the line from a terminal."""
        if self._drawn and self._terminal:
            self._out.write("\r\x1b[K")
            self._out.flush()


def _is_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


def _has_widgets() -> bool:
    try:
        import_module("ipywidgets")
    except ImportError:
        return False
    return True


def _rich_bar() -> Any:
    """Return a bar, None without rich, or in a notebook without the widgets in which rich shows it."""
    if _is_notebook() and not _has_widgets():
        return None
    try:
        from rich.progress import (  # noqa: PLC0415 - optional, and slow to import
            BarColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
        )
    except ImportError:
        return None
    from rich.console import Console  # noqa: PLC0415

    console = Console(file=None if _is_notebook() else sys.stderr)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[amount]}"),
        TimeElapsedColumn(),
    )
    return Progress(*columns, console=console, transient=True)
