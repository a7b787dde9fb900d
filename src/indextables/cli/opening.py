"""The table and the settings that the arguments of a command name."""

from __future__ import annotations

from argparse import Namespace
from typing import Final

from indextables.config import Settings
from indextables.errors import ConfigError
from indextables.table import Table, open_table

_OURS: Final = ("spark.indextables.", "spark.tantivy4spark.", "indextables.")


def to_settings(args: Namespace) -> Settings:
    """Return the settings of `--set key=value`. A key may be given without `indextables.`."""
    options = {}
    for text in args.set:
        key, separator, value = text.partition("=")
        if not separator:
            raise ConfigError(f"--set takes key=value, not {text!r}")
        if key.lower().startswith("spark.") and not key.lower().startswith(_OURS):
            raise ConfigError(f"{key!r} is not a setting of indextables")
        options[key if key.lower().startswith(_OURS) else f"indextables.{key}"] = value
    return Settings(options)


def open_at(args: Namespace) -> Table:
    """Open the table at the version or time that the arguments give, or at its newest version."""
    return open_table(args.path, version=args.version, as_of=args.as_of, settings=to_settings(args))


def split_names(text: str | None) -> list[str] | None:
    """Return the names of a list with commas; None for None."""
    return None if text is None else [name.strip() for name in text.split(",")]
