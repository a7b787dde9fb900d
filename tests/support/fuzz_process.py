"""The readers of logs and splits, fuzzed by atheris until told to stop: `fuzz_process.py -max_total_time=600 dir`."""

from __future__ import annotations

import sys


def main() -> None:
    import atheris  # noqa: PLC0415 - not there on every platform, and this is the only program that needs it

    with atheris.instrument_imports(include=["indextables"]):
        from support import fuzz_targets  # noqa: PLC0415 - what is imported here is watched

    atheris.Setup(sys.argv, fuzz_targets.feed_chosen)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
