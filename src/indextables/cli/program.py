"""The program: parse the arguments, run the command, turn errors into a message and an exit code."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from indextables.cli.advice import advice, message_of
from indextables.cli.asking import Refused
from indextables.cli.exit_codes import BROKEN_PIPE, DONE, INTERNAL, INTERRUPTED, STORAGE, USAGE, exit_code
from indextables.cli.output import make_output
from indextables.cli.parser import make_parser
from indextables.cli.text import printable_message
from indextables.errors import IndexTablesError, InputError

_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
"""What an output that cannot be written gives, and nothing else here: errors of tables are our own."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, `sys.argv` without arguments, and return the exit code.

    >>> main(["search"])
    2
    """
    try:
        if sys.stdout is None:  # the shell has closed it: >&-
            raise InputError("stdout is closed; the result has nowhere to go")
        code = _run(arguments)
        sys.stdout.flush()
    except IndexTablesError as error:
        _complain("\n".join([message_of(error), *getattr(error, "__notes__", ()), *advice(error)]))
        return exit_code(error)
    except BrokenPipeError:
        _silence()
        return BROKEN_PIPE
    except OSError as reason:
        if reason.errno not in _FULL:
            return _internal()
        _complain(f"the output cannot be written: {reason.strerror}")
        _silence()
        return STORAGE
    except (KeyboardInterrupt, Refused):
        return INTERRUPTED
    except Exception:  # noqa: BLE001 - Python's own exit code 1 would mean that nothing was found
        return _internal()
    return code


def _internal() -> int:
    _complain(f"internal error\n{traceback.format_exc()}")
    return INTERNAL


def _run(arguments: Sequence[str] | None) -> int:
    parser = make_parser()
    try:
        args = parser.parse_args(arguments)
    except SystemExit as done:  # argparse has printed the help or the error
        return done.code if isinstance(done.code, int) else USAGE
    if args.run is None:
        parser.print_help()
        return DONE
    if args.debug:
        import logging  # noqa: PLC0415 - not for --help

        logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
        logging.getLogger("indextables").setLevel(logging.DEBUG)
    form = "ndjson" if args.json else args.format
    output = make_output(form, lines=args.lines, no_color=args.no_color)
    module, _, name = args.run.partition(":")
    run = getattr(import_module(f"indextables.cli.{module}"), name)
    return int(run(args, output))


def _complain(message: str) -> None:
    if sys.stderr is None:
        return
    print(printable_message(f"indextables: {message}"), file=sys.stderr)  # noqa: T201 - the command's own stderr


def _silence() -> None:
    """Send what is still buffered nowhere: the reader of our output has gone."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return  # stdout is no file of the system
