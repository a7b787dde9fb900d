"""Progress of a command: a bar on stderr if that is a terminal, else nothing, so that logs of scripts stay short."""

from __future__ import annotations

import sys
from argparse import Namespace
from contextlib import AbstractContextManager

from indextables.progress import Progress, shown_progress


def progress_of(args: Namespace, title: str) -> AbstractContextManager[Progress | None]:
    """Return the progress that the arguments ask for: none with `--quiet`."""
    wanted = not args.quiet and sys.stderr.isatty()
    return shown_progress(wanted, title)
