"""How things are timed, compared and shown."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

_ROUNDS: Final = 3
_MOST_RUNS: Final = 12
_SHORT_SECONDS: Final = 1.0


@dataclass(frozen=True)
class Timing:
    runs: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.runs)

    @property
    def best(self) -> float:
        return min(self.runs)


@dataclass(frozen=True)
class Comparison:
    """One question asked of both. `ratio` is the other's median time over ours: above 1 we are faster."""

    name: str
    ours: Timing
    other_name: str
    other: Timing
    note: str = ""
    at_least: float | None = None
    """The ratio to reach, where there is one."""
    by_best: bool = False
    """Compare the best runs instead of the medians: what CPU time both need without other load."""
    reason: str = ""
    """Why we need not be ahead here: what our side does that the other does not. Shown where we are not."""
    unit: str = "seconds"
    """What both figures are."""

    @property
    def ratio(self) -> float:
        if self.by_best:
            return self.other.best / self.ours.best
        return self.other.median / self.ours.median

    @property
    def met(self) -> bool | None:
        return None if self.at_least is None else self.ratio >= self.at_least

    @property
    def is_ahead(self) -> bool:
        return self.ratio >= 1 and self.met is not False


def not_met(comparisons: Sequence[Comparison]) -> list[str]:
    """Return the goals that are not met, in words. What is not judged has no goal."""
    return [
        f"{c.name}, against {c.other_name}: {c.ratio:.2f} times as fast, and {c.at_least:g} is the goal"
        for c in comparisons
        if c.met is False
    ]


Clock = Callable[[], float]


def timed(
    action: Callable[[], object], *, repeat: int, warm_up: int = 1, clock: Clock = time.perf_counter
) -> Timing:
    """Time `repeat` runs, after as many as `warm_up` that do not count; with `time.process_time`, their CPU."""
    for _ in range(warm_up):
        action()
    return Timing(tuple(_seconds(action, clock) for _ in range(repeat)))


def timed_in_turns(
    actions: Sequence[Callable[[], object]], *, repeat: int, warm_up_seconds: float
) -> list[Timing]:
    """At least `repeat` runs of each, in rounds, so that what else the machine does is not one side's burden.

    Before, each runs for `warm_up_seconds`: all have the same time to be compiled in by a JVM. Short runs are repeated
    more often, as a moment's disturbance is long for them.
    """
    for action in actions:
        enough = time.perf_counter() + warm_up_seconds
        action()
        while time.perf_counter() < enough:
            action()
    runs: list[list[float]] = [[] for _ in actions]
    in_a_round = -(-repeat // _ROUNDS)
    for _ in range(_ROUNDS):
        for action, known in zip(actions, runs, strict=True):
            new: list[float] = []
            while len(new) < in_a_round or (len(new) < _MOST_RUNS and sum(new) < _SHORT_SECONDS):
                new.append(_seconds(action))
            known.extend(new)
    return [Timing(tuple(known)) for known in runs]


def _seconds(action: Callable[[], object], clock: Clock = time.perf_counter) -> float:
    started = clock()
    action()
    return clock() - started


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this process and those that it starts on one core, where the system can."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    _move_threads({max(before)})
    try:
        yield
    finally:
        _move_threads(before)


def _move_threads(cores: set[int]) -> None:
    """Move every thread: the system's call is for one, and the pools of libraries have started theirs already."""
    threads = [int(path.name) for path in Path("/proc/self/task").iterdir()]
    for thread in threads:
        with suppress(ProcessLookupError):  # it has ended
            os.sched_setaffinity(thread, cores)


def machine() -> dict[str, str]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return {
        "cpu": f"{_cpu()}, {os.cpu_count()} cores",
        "memory": f"{memory:.0f} GiB",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "java": _java(),
        "python": platform.python_version(),
        **{
            name: version(name)
            for name in ("indextables", "pyspark", "pyarrow", "tantivy", "deltalake", "pylance")
        },
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown CPU"


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else "java"
    printed = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    return printed.splitlines()[0] if printed else "unknown"


def show(console: Console, title: str, comparisons: list[Comparison]) -> None:
    table = Table(title=title, title_justify="left", header_style="bold")
    for name in ("measurement", "indextables s", "against", "its s", "times as fast", "to reach", ""):
        table.add_column(name, justify="left" if name in ("measurement", "against", "") else "right")
    for c in comparisons:
        table.add_row(
            _described(c),
            _figures(c.ours, c.unit),
            c.other_name,
            _figures(c.other, c.unit),
            f"{c.ratio:.2f}",
            "" if c.at_least is None else f"{c.at_least:.3g}",
            {None: "", True: "[green]met", False: "[red]not met"}[c.met],
        )
    console.print(table)
    console.print("[dim]seconds are medians; 'times as fast' is the other's median over ours")


def _described(c: Comparison) -> str:
    """Return what is compared, the note, and where we are not ahead the reason."""
    lines = [c.name, f"[dim]{c.note}[/]" if c.note else ""]
    if not c.is_ahead and c.reason:
        lines.append(f"[yellow]not ahead: {c.reason}[/]")
    return "\n".join(filter(None, lines))


def _figures(timing: Timing, unit: str) -> str:
    if unit != "seconds":
        return f"{timing.median:,.0f}\n[dim]{unit}"
    return f"{timing.median:.3f}\n[dim]min {timing.best:.3f}"


@dataclass(frozen=True)
class Goal:
    """A figure to stay below."""

    name: str
    figure: float
    below: float
    unit: str
    reason: str = ""
    """What makes the figure as large as it is. Shown where the goal is not met."""

    @property
    def met(self) -> bool:
        return self.figure < self.below

    @property
    def line(self) -> str:
        """The goal as a line of what is not met."""
        return f"{self.name}: {self.figure:,.2f} {self.unit}, and less than {self.below:,g} is the goal"


def show_goals(console: Console, title: str, goals: Sequence[Goal]) -> None:
    """Print each figure beside the one to stay below."""
    table = Table(title=f"{title}: what to reach", title_justify="left", header_style="bold")
    for name in ("", "measured", "below", ""):
        table.add_column(name, justify="right" if name else "left")
    for goal in goals:
        verdict = "[green]met" if goal.met else "[red]not met"
        name = goal.name
        if goal.reason and not goal.met:
            name += f"\n[yellow]{goal.reason}[/]"
        table.add_row(name, f"{goal.figure:,.2f} {goal.unit}", f"{goal.below:g} {goal.unit}", verdict)
    console.print(table)


def record(path: Path, facts: dict[str, Any], comparisons: list[Comparison]) -> None:
    """Keeps the run, every single time in it, as JSON."""
    entries = [asdict(c) | {"ratio": round(c.ratio, 3), "met": c.met} for c in comparisons]
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(facts | {"measurements": entries}, indent=2) + "\n")
