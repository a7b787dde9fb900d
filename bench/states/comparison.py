"""Planning on large tables: reading all files, those of a partition, those of a range; adding some; compacting.

The same files for all: ours, `deltalake` from a checkpoint, `pyiceberg` from manifests, a Parquet file read with
pyarrow, and the limit, which decompresses our manifests and does nothing else. What is measured runs in fresh
processes that have warmed up on a small table; caches are emptied before every run. All sides are asked one question
after the other, and again in further rounds, so that what else the machine does is not one side's burden. Memory is the
most that a first run takes above what the process had before it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from bench.measure import Comparison, Goal, Timing

SIZES: Final = (70_000, 100_000, 1_000_000)
SMALL: Final = 1_000
LIMIT_SECONDS: Final = 30
ROUNDS: Final = 3
SLOW_SECONDS: Final = 5.0
"""Who takes longer in a run is not asked again: what disturbs a machine for a moment does not matter there."""

OURS: Final = "indextables"
LIMIT: Final = "limit"
RIVALS: Final = ("deltalake", "pyiceberg")
SIDES: Final = (OURS, *RIVALS, "Parquet", LIMIT)
QUESTIONS: Final = {
    "read_all": "full read",
    "plan_partition": "1 of 1,000\npartitions",
    "plan_following": "range within\na partition",
    "plan_across": "range across\npartitions",
    "append": f"+{100} files\ncommit",
    "compact": "compaction",
}
PROCESSES: Final = (
    ["read_all"],
    ["plan_partition"],
    ["plan_following", "plan_across"],
    ["append", "compact"],
)
"""What is asked in one process. The memory of the first question counts: later ones find what it has left behind.

A run that is given up leaves threads behind too: what changes the table is asked where none of them is at work.
"""

PLANS: Final = ("read_all", "plan_partition", "plan_following", "plan_across")


class AnswersDifferError(Exception):
    """Two sides find another number of files, so their times mean nothing."""


@dataclass(frozen=True)
class Measured:
    """One question asked of one side. Without runs it took longer than anybody waits for."""

    runs: tuple[float, ...]
    cpu: tuple[float, ...] = ()
    peak_mb: float | None = None
    answer: int | None = None

    @property
    def best(self) -> float:
        return min(self.runs, default=float(LIMIT_SECONDS))

    def and_then(self, later: Measured) -> Measured:
        """With the runs of a later round; memory is that of the first."""
        return replace(self, runs=self.runs + later.runs, cpu=self.cpu + later.cpu, answer=later.answer)


@dataclass
class Results:
    """What was measured, by number of files, side and question."""

    found: dict[int, dict[str, dict[str, Measured]]] = field(default_factory=dict)

    def get(self, files: int, side: str, question: str) -> Measured | None:
        return self.found.get(files, {}).get(side, {}).get(question)

    def put(self, files: int, side: str, question: str, measured: Measured) -> None:
        """Runs of a later round come to those of earlier ones."""
        answers = self.found.setdefault(files, {}).setdefault(side, {})
        before = answers.get(question)
        answers[question] = measured if before is None else before.and_then(measured)


def measure(home: Path, say: Callable[[str], None], *, repeat: int, sizes: Iterable[int] = SIZES) -> Results:
    results = Results()
    in_a_round = -(-repeat // ROUNDS)
    _work(home, "build", SMALL)
    for files in sizes:
        say(f"planning on {files:,} files: writing them")
        for side in SIDES:
            if side != LIMIT:  # which reads what ours has written
                _work(home, "build", files, side)
        for questions in PROCESSES:
            say(f"planning on {files:,} files: {', '.join(_in_words(question) for question in questions)}")
            sides = list(SIDES)
            for round_number in range(ROUNDS):
                sides = [
                    side
                    for side in sides
                    if _asked_again(home, results, files, side, (round_number, in_a_round), questions)
                ]
        _check_answers(results, files)
    return results


def _asked_again(
    home: Path, results: Results, files: int, side: str, runs: tuple[int, int], questions: Sequence[str]
) -> bool:
    """Asks one side in a process of its own. Whether another round is worth it."""
    answers = _work(home, "ask", files, side, *runs, *questions)
    for question, found in answers.items():
        results.put(files, side, question, found)
    return all(found.runs and found.best < SLOW_SECONDS for found in answers.values())


def goals(results: Results) -> list[Goal]:
    """What a state has to do in how much time and memory, and how it has to stand beside the others."""
    found: list[Goal] = []

    def add(name: str, files: int, question: str, below: float, *, memory: bool = False) -> None:
        mine = results.get(files, OURS, question)
        if mine is None:
            return
        if not memory:
            found.append(Goal(name, mine.best * 1e3, below, "ms"))
        elif mine.peak_mb is not None:
            found.append(Goal(name, mine.peak_mb, below, "MB"))

    add("read 70,000 files", 70_000, "read_all", 500)
    add("read 100,000 files", 100_000, "read_all", 700)
    add("memory to read 100,000 files", 100_000, "read_all", 500, memory=True)
    add("compact 70,000 files", 70_000, "compact", 2_000)
    add("1 of 1,000 partitions of 1,000,000 files", 1_000_000, "plan_partition", 100)
    add("its memory", 1_000_000, "plan_partition", 50, memory=True)
    for files in results.found:
        add(f"add 100 files to {files:,}", files, "append", 100)
        mine, floor = (results.get(files, side, "read_all") for side in (OURS, LIMIT))
        if mine is not None and floor is not None:
            found.append(Goal(f"read {files:,} files, against the limit", mine.best / floor.best, 3, "times"))
        for rival in RIVALS:
            its = results.get(files, rival, "read_all")
            if mine is not None and its is not None and mine.peak_mb is not None and its.peak_mb is not None:
                name = f"memory to read {files:,} files, against {rival}"
                found.append(Goal(name, mine.peak_mb / its.peak_mb, 1, "times"))
    return found


def comparisons(results: Results) -> list[Comparison]:
    """Every question of those that do the same: to be faster than either is the goal."""
    found = []
    for files, sides in results.found.items():
        for question in QUESTIONS:
            name = f"{_in_words(question)}, {files:,} files"
            for rival in RIVALS:
                if question in sides[OURS] and question in sides[rival]:
                    mine, its = sides[OURS][question], sides[rival][question]
                    note = "" if its.runs else "its run was given up: it takes longer"
                    pair = (Timing(mine.runs or (mine.best,)), rival, Timing(its.runs or (its.best,)))
                    found.append(Comparison(name, *pair, note, at_least=1.0))
    return found


def show(console: Console, title: str, results: Results) -> None:
    table = Table(title=title, title_justify="left", header_style="bold")
    table.add_column("files", justify="right")
    table.add_column("")
    for question in QUESTIONS.values():
        table.add_column(f"{question}\nms", justify="right")
    table.add_column("peak MB\nfull read", justify="right")
    table.add_column("peak MB\n1 of 1,000", justify="right")
    for files, sides in results.found.items():
        for side, answers in sides.items():
            times = [_milliseconds(answers.get(question)) for question in QUESTIONS]
            peaks = [_megabytes(answers.get(question)) for question in ("read_all", "plan_partition")]
            name = f"[bold]{side}" if side == OURS else side
            table.add_row(f"{files:,}" if side == OURS else "", name, *times, *peaks)
        table.add_section()
    console.print(table)
    console.print(
        "[dim]the best of several runs, each with empty caches in a warm process; "
        f"'>' was given up after {LIMIT_SECONDS} s; the limit decompresses in one thread"
    )


def as_document(results: Results, found: Sequence[Goal]) -> list[dict[str, Any]]:
    """Every run, for results.json."""
    return [
        {"files": files, "side": side, "question": question, **asdict(measured)}
        for files, sides in results.found.items()
        for side, answers in sides.items()
        for question, measured in answers.items()
    ] + [asdict(goal) | {"met": goal.met} for goal in found]


def _in_words(question: str) -> str:
    return QUESTIONS[question].replace("\n", " ")


def _milliseconds(found: Measured | None) -> str:
    if found is None:
        return "-"
    return f"{found.best * 1e3:,.1f}" if found.runs else f"> {LIMIT_SECONDS},000"


def _megabytes(found: Measured | None) -> str:
    return "-" if found is None or found.peak_mb is None else f"{found.peak_mb:,.0f}"


def _check_answers(results: Results, files: int) -> None:
    for question in PLANS:
        answers = {
            side: measured[question].answer
            for side, measured in results.found[files].items()
            if question in measured and measured[question].answer is not None
        }
        if len(set(answers.values())) > 1:
            raise AnswersDifferError(f"{question} of {files:,} files: {answers}")


def _work(home: Path, *arguments: object) -> dict[str, Measured]:
    """What a fresh process finds out, by question, without those that the side has no way to answer."""
    command = [sys.executable, "-m", "bench.states.worker", str(home), *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return {
        question: Measured(tuple(found["runs"]), tuple(found["cpu"]), found["peak_mb"], found["answer"])
        for question, found in json.loads(done.stdout).items()
    }
