"""The `indextables` command. Commands are imported when they run, so that `--help` loads neither Arrow nor Tantivy."""

from indextables.cli.program import main

__all__ = ["main"]
