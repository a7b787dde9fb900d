"""Commands about the program: settings, completion, demo and ui."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Any

from indextables.cli.exit_codes import DONE, NOTHING_FOUND
from indextables.cli.output import Output
from indextables.config import keys
from indextables.errors import InputError


def settings(args: Namespace, output: Output) -> int:
    """Print the settings whose key contains a text."""
    rows: list[dict[str, Any]] = [
        {
            "key": setting.key.removeprefix("spark."),
            "default": setting.default if setting.default is None else str(setting.default),
            "meaning": setting.meaning,
        }
        for setting in keys.ALL
    ]
    rows += [
        {"key": f"{family.prefix.removeprefix('spark.')}<name>", "default": None, "meaning": family.meaning}
        for family in keys.FAMILIES
    ]
    text = (args.key or "").lower().removeprefix("spark.")
    rows = sorted((row for row in rows if text in row["key"].lower()), key=lambda row: row["key"].lower())
    if not output.rows(["key", "default", "meaning"], rows):
        output.note(f"no setting has {args.key!r} in its key")
    return DONE if rows else NOTHING_FOUND


def completion(args: Namespace, output: Output) -> int:  # noqa: ARG001 - a script has one form
    """Print the script that completes commands in a shell."""
    from indextables.cli.completion import script  # noqa: PLC0415 - it builds the parser again

    print(script(args.shell), end="")  # noqa: T201 - the result, whatever the format
    return DONE


def demo(args: Namespace, output: Output) -> int:
    """Write a table of sample logs in a few versions, or a raw log file."""
    from indextables.cli.sample import write_sample_log, write_sample_table  # noqa: PLC0415 - numpy and Arrow

    if args.rows < 1:
        raise InputError(f"--rows is {args.rows}; it takes a number above zero")
    if args.log:
        rows = write_sample_log(args.path, args.rows)
        output.record({"file": args.path, "rows": rows}, f"wrote {rows:,} lines to {args.path}")
        return DONE
    table = write_sample_table(args.path, args.rows)
    text = (
        f"wrote {args.rows:,} rows to {args.path}, versions 0 to {table.version}. Try:\n"
        f"  indextables search {args.path} 'message:(timeout AND connection)'\n"
        f"  indextables count {args.path} --by level\n"
        f"  indextables ui {args.path}"
    )
    output.record({"path": args.path, "rows": args.rows, "version": table.version}, text)
    return DONE


def ui(args: Namespace, output: Output) -> int:
    """Serve tables to a browser on this machine until an interrupt."""
    try:
        from indextables.ui import listen, serve  # noqa: PLC0415 - optional
    except ImportError as reason:
        if reason.name is not None and reason.name.startswith("indextables"):
            raise
        raise InputError(
            'the command ui needs a web server: pip install "CLONE[ui]", CLONE being the directory of your clone'
        ) from None
    from indextables.cli.opening import check_no_file, to_settings  # noqa: PLC0415 - Arrow
    from indextables.table import open_table  # noqa: PLC0415

    for path in args.paths:
        check_no_file(path)
    tables = [open_table(path, settings=to_settings(args)) for path in args.paths]
    address = listen(args.host, args.port, write=args.write, trusted=args.i_know)

    def ready(url: str) -> None:
        output.record({"url": url}, f"{url}\nOpen it in a browser on this machine. Ctrl-C ends the server.")
        sys.stdout.flush()

    with address.socket:
        serve(tables, address, browser=not args.no_browser, ready=ready)
    return DONE
