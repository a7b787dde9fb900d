"""Fuzzes one group of readers with atheris: `fuzz_process.py <group> [libFuzzer option ...] <corpus directory>`."""

from __future__ import annotations

import functools
import sys


def main() -> None:
    """Run until libFuzzer has found an input that fails, or its time is up."""
    import atheris  # noqa: PLC0415 - missing on some platforms, and only this program needs it

    with atheris.instrument_imports(include=["indextables"]):
        from support import fuzz_targets  # noqa: PLC0415 - atheris instruments what is imported here

    program, group, *options = sys.argv
    targets = fuzz_targets.GROUPS[group]
    atheris.Setup([program, *options], functools.partial(fuzz_targets.feed_one_of, targets))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
