"""Writes docs/configuration.md from the table of settings; `--check` only says whether it is up to date."""

from __future__ import annotations

import sys
from pathlib import Path

from indextables.config import UNREAD, Setting, keys

PAGE = Path(__file__).resolve().parent.parent / "docs" / "configuration.md"

HEAD = """\
# Settings

<!-- Written by tools/config_page.py from src/indextables/config/keys.py: change it there, then run `make docs`. -->

A setting is an option of a read or a write, or a Spark configuration for the whole session. In plain Python it is a key
of `settings={...}`. An option has precedence over the session. An unknown option is an error that names the nearest
key. An unknown key in the configuration of a session is ignored, with a warning in the driver's log, as the session may
be for other releases too. Case does not matter. Sizes take a unit: `4096`, `64K`, `100M`, `2G`. Retentions take a unit
too: `36 hours`, `7 days`; a number alone is in the unit that the key names.

In plain Python `spark.` may be left out: `indextables.write.compression` means `spark.indextables.write.compression`.
Both keys with different values are an error.

Keys that begin with `spark.tantivy4spark.` are read as `spark.indextables.`.
"""


def page() -> str:
    rows = [_row(setting) for setting in sorted(keys.ALL, key=lambda setting: setting.key.lower())]
    families = [f"| `{family.prefix}<name>` | {family.meaning} |" for family in keys.FAMILIES]
    return "\n".join(
        [
            HEAD,
            "| key | default | meaning |",
            "|---|---|---|",
            *rows,
            "",
            "## Keys that end in a name",
            "",
            "| key | meaning |",
            "|---|---|",
            *families,
            "",
            "## Keys without effect",
            "",
            "They are settings of the specification and of IndexTables for Scala. A session, a read or a write may",
            "have them. It gets one warning for a key.",
            "",
            "| what happens instead | keys |",
            "|---|---|",
            *(
                f"| {unread.reason} | {', '.join(f'`{_named(key)}`' for key in unread.keys)} |"
                for unread in UNREAD
            ),
            "",
        ]
    )


def _named(key: str) -> str:
    return f"{key}<name>" if key.endswith(".") else key


def _row(setting: Setting[object]) -> str:
    older = "".join(f" Older name: `{alias}`." for alias in setting.aliases)
    return f"| `{setting.key}` | {setting.default_text or '(empty)'} | {setting.meaning}{older} |"


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(
            None if PAGE.read_text() == page() else "docs/configuration.md is out of date: run `make docs`"
        )
    PAGE.write_text(page())
    print(f"wrote {PAGE}")
