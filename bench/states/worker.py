"""One measurement of the planning bench, in a process that does nothing else.

`python -m bench.states.worker HOME build FILES [SIDE]` or `... ask FILES SIDE ROUND REPEAT QUESTION ...`; prints JSON.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.states.comparison import LIMIT, LIMIT_SECONDS, OURS, SIDES, SMALL
from bench.states.drawn_files import draw

Prepare = Callable[[Path, int], Callable[[], int]]
"""Makes what is not measured ready for the run of that number, and returns the run."""

ENOUGH_SECONDS = 4.0
SHORT_SECONDS = 1.0
MOST_RUNS = 12
"""Short runs are repeated until they add up to some time, or to so many: a moment's disturbance is long for them."""

MODULES = {
    OURS: "bench.states.ours",
    "deltalake": "bench.states.delta",
    "pyiceberg": "bench.states.iceberg",
}


class OutOfTimeError(BaseException):
    """Not an Exception, so that nobody between the signal and the measurement takes it for one of theirs."""


def side_of(name: str) -> Any:
    if name in MODULES:
        return importlib.import_module(MODULES[name])
    limits = importlib.import_module("bench.states.limits")
    return limits.limit if name == LIMIT else limits.parquet


def place(home: Path, files: int, side: str) -> Path:
    return home / f"states-{files}-{OURS if side == LIMIT else side}"


def build(home: Path, files: int, sides: list[str]) -> None:
    drawn = draw(files)
    for side in sides:
        shutil.rmtree(place(home, files, side), ignore_errors=True)
        side_of(side).build(drawn, place(home, files, side))


def ask(
    home: Path, files: int, name: str, questions: list[str], *, round_number: int, repeat: int
) -> dict[str, Any]:
    """Runs are numbered through all rounds and questions: what one of them adds must not be there already."""
    side = side_of(name)
    small, large = place(home, SMALL, name), place(home, files, name)
    found = {}
    for number, question in enumerate(questions):
        if hasattr(side, question):
            first = files // 100 + (round_number * len(questions) + number) * MOST_RUNS
            numbers = range(first, first + max(repeat, MOST_RUNS))
            prepare = getattr(side, question)
            found[question] = _asked(prepare, small, large, numbers, repeat, is_first=number == 0)
    return found


def _asked(
    prepare: Prepare, small: Path, large: Path, numbers: range, repeat: int, *, is_first: bool
) -> dict[str, Any]:
    for number in numbers[:2]:
        prepare(small, number)()
    found: dict[str, Any] = {"runs": [], "cpu": [], "peak_mb": None, "answer": None}
    signal.signal(signal.SIGALRM, _out_of_time)
    try:
        for number in numbers:
            signal.alarm(LIMIT_SECONDS * 2)  # preparing is not measured, but must end too
            action = prepare(large, number)
            gc.collect()
            is_very_first = is_first and number == numbers[0]
            before = _memory("VmRSS") if is_very_first and _forget_peak() else None
            signal.alarm(LIMIT_SECONDS)
            cpu, started = time.process_time(), time.perf_counter()
            answer = action()
            found["runs"].append(time.perf_counter() - started)
            found["cpu"].append(time.process_time() - cpu)
            signal.alarm(0)
            found["answer"] = answer
            if before is not None:
                found["peak_mb"] = (_memory("VmHWM") - before) / 1024
            if sum(found["runs"]) > (ENOUGH_SECONDS if len(found["runs"]) < repeat else SHORT_SECONDS):
                break
    except OutOfTimeError:
        pass
    return found


def _out_of_time(*_: object) -> None:
    raise OutOfTimeError


def _forget_peak() -> bool:
    """Whether the system begins to look for the highest memory use anew, as Linux can."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def _memory(name: str) -> int:
    """In KB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    raise LookupError(name)


def main() -> None:
    home, what, files, *more = sys.argv[1:]
    if what == "build":
        build(Path(home), int(files), more or [side for side in SIDES if side != LIMIT])
        print("{}")
    else:
        side, round_number, repeat, *questions = more
        found = ask(
            Path(home), int(files), side, questions, round_number=int(round_number), repeat=int(repeat)
        )
        print(json.dumps(found), flush=True)
        # Threads of a run that was given up would be waited for, until they have done it after all.
        os._exit(0)


if __name__ == "__main__":
    main()
