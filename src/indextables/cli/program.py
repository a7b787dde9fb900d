"""The program: parse the arguments, run the command, turn errors into a message and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

from indextables.cli.asking import Refused
from indextables.cli.exit_codes import BROKEN_PIPE, DONE, INTERNAL, INTERRUPTED, USAGE, exit_code
from indextables.cli.output import make_output
from indextables.cli.parser import make_parser
from indextables.cli.text import printable_message
from indextables.errors import IndexTablesError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, `sys.argv` without arguments, and return the exit code.

    >>> main(["search"])
    2
    """
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except IndexTablesError as error:
        _complain("\n".join([str(error), *getattr(error, "__notes__", ())]))
        return exit_code(error)
    except BrokenPipeError:
        _silence()
        return BROKEN_PIPE
    except (KeyboardInterrupt, Refused):
        return INTERRUPTED
    except Exception:  # noqa: BLE001 - Python's own exit code 1 would mean that nothing was found
        _complain(f"internal error\n{traceback.format_exc()}")
        return INTERNAL
    return code


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
    print(printable_message(f"indextables: {message}"), file=sys.stderr)  # noqa: T201 - the command's own stderr


def _silence() -> None:
    """Send what is still buffered nowhere: the reader of our output has gone."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return  # stdout is no file of the system
