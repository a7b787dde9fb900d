"""Consent to what cannot be undone: a question on a terminal, `--yes` in a script."""

from __future__ import annotations

import sys

from indextables.cli.text import printable_message
from indextables.errors import InputError


class Refused(Exception):  # noqa: N818 - an answer, not an error
    """The user said no."""


def confirm(question: str, *, yes: bool) -> None:
    """Return if the user agrees. Raises Refused if not, and InputError where there is no terminal to ask on."""
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InputError(f"{question} Add --yes to do it, or --dry-run to see what it would do.")
    print(printable_message(f"{question} [y/N] "), end="", file=sys.stderr, flush=True)  # noqa: T201 - a question
    answer = sys.stdin.readline()
    if answer.strip().lower() not in ("y", "yes"):
        said = "nothing is done" if answer else "\nno answer, so nothing is done"
        print(said, file=sys.stderr)  # noqa: T201 - the answer to an answer
        raise Refused
